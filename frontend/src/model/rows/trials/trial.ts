/**
 * *Try this row*: the plan of one task that runs the row now, once, on one device. What it uses is taken from outputs
 * that are at hand, so that nothing else runs. Only rows that cannot change anything are tried.
 */
import { type Fields, isFields, type Json, mapped, nodeOf, taskOf, textOf } from "../document.ts";
import { rowsOf, usesOf } from "../row.ts";
import { at, type Sample } from "../sample.ts";

export const TRY_LABEL = "try";
const HARMLESS = new Set(["read"]);

export interface Trial {
  /** The plan to submit; null when the row cannot be tried. */
  plan: Fields | null;
  /** Why not, in words. */
  why: string;
}

export interface TrialKnown {
  /** Effects of the row's tool as offered; null if no device offers it. */
  effects: readonly string[] | null;
  samples: ReadonlyMap<string, Sample>;
  params: Fields;
  /** One device for a row that runs on every one. */
  anyDevice: { id: string; name: string } | null;
}

const no = (why: string): Trial => ({ plan: null, why });

export function trialOf(plan: Fields, id: string, known: TrialKnown): Trial {
  const task = taskOf(plan, id);
  const row = rowsOf(plan).find((one) => one.id === id);
  if (!task || !row) return no("There is no such row.");
  if (row.kind !== "tool" || !row.what) return no("Only a row with a tool can be tried.");
  if (known.effects === null) return no(`No device offers ${row.what} now.`);
  const harm = known.effects.filter((effect) => !HARMLESS.has(effect));
  if (harm.length) return no(`It may ${harm.join(" and ")}; only rows that just read are tried.`);

  if (row.byTopic.length) return no("It takes a finding, which there is only while the plan runs.");
  const args: Fields = isFields(task.args) ? { ...task.args } : {};
  for (const use of usesOf(task)) {
    const sample = known.samples.get(use.from);
    if (!sample) return no(`It uses ${use.from}: try that row first.`);
    const value = at(sample.value, use.output);
    if (value === undefined) return no(`The output of ${use.from} has nothing at ${use.output}.`);
    args[use.name] = value;
  }
  let item: Json = null;
  if (row.each) {
    const sample = known.samples.get(row.each.from);
    const items = sample ? at(sample.value, row.each.output) : undefined;
    if (!row.each.from || !Array.isArray(items))
      return no(`It runs for each item of ${row.each.from || row.each.same}: try that row first.`);
    if (items.length === 0) return no(`${row.each.from} gave an empty list.`);
    item = items[0] ?? null;
  }
  let device = task.device;
  const each = isFields(task.for_each) ? task.for_each : null;
  if ((each && "times" in each) || "repeat" in task) item = { number: 1 };
  if (each && "devices" in each) {
    if (!known.anyDevice) return no("No device that fits is online.");
    item = { id: known.anyDevice.id, name: known.anyDevice.name };
    device = { name: known.anyDevice.name };
  }
  const missing = new Set<string>();
  const filled = (value: Json): Json =>
    mapped(value, (one) => {
      const param = nodeOf(one, "param");
      if (param !== null) {
        const given = known.params[param] ?? null;
        if (given === null) missing.add(param);
        return given;
      }
      const pointer = nodeOf(one, "each");
      if (pointer !== null) return at(item, pointer) ?? null;
      return one;
    });
  const made: Fields = { id: "try", tool: row.what, args: filled(args) };
  if (device !== undefined) {
    const selector = filled(device);
    made.device = typeof selector === "string" ? { name: selector } : selector;
  }
  if (missing.size) return no(`The parameter ${[...missing].join(" and ")} has no value to try with.`);
  return { plan: { starloom: 1, name: `Try ${id}: ${textOf(task.tool)}`, tasks: [made] }, why: "" };
}
