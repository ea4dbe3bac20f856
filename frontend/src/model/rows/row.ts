/**
 * A document seen as rows, one a task. A row is a view: it is read from the document and never stored, so that rows,
 * graph and text cannot drift apart. `edit` has what changes the document.
 */
import { known } from "../words/known.ts";
import { type Fields, idOf, isFields, type Json, list, nodeOf, tasksOf, textOf } from "./document.ts";
import { type Where, whereKey, whereOf } from "./where.ts";

/** One value that comes from an earlier row. */
export interface Use {
  name: string;
  from: string;
  output: string;
}

/** A value that comes as a finding: whichever task has published its topic last gives it. */
interface ByTopic {
  name: string;
  topic: string;
}

/** One gate that is not a use: `from` must end so before this row starts. */
export interface Gate {
  /** Its place in the document's list of dependencies. */
  at: number;
  from: string;
  when: Json;
}

/** The list over which a row runs once an item; null for a row that runs once or on devices. */
interface Each {
  from: string;
  output: string;
  /** The family whose list it shares; empty for a list of its own. */
  same: string;
  mostAtOnce: number | null;
}

export interface Row {
  at: number;
  id: string;
  kind: "tool" | "person" | "goal" | "plan" | "none";
  /** The tool, or the words for a person or a goal. */
  what: string;
  where: Where;
  each: Each | null;
  args: Fields;
  uses: Use[];
  byTopic: ByTopic[];
  gates: Gate[];
  repeatability: string | null;
  optional: boolean;
  onlyIf: string | null;
  /** Names of fields that only the text shows. */
  more: string[];
}

const SHOWN = new Set([
  "id",
  "tool",
  "person",
  "goal",
  "plan",
  "device",
  "for_each",
  "args",
  "inputs",
  "repeatability",
  "optional",
  "only_if",
  "judge",
]);

export function rowsOf(plan: Fields): Row[] {
  const gates = new Map<string, Gate[]>();
  list(plan, "dependencies").forEach((one, at) => {
    if (!isFields(one)) return;
    const held = gates.get(textOf(one.to)) ?? [];
    held.push({ at, from: textOf(one.from), when: one.when ?? "success" });
    gates.set(textOf(one.to), held);
  });
  return tasksOf(plan).map((task, at) => rowOf(task, at, gates.get(idOf(task)) ?? []));
}

function rowOf(task: Fields, at: number, gates: Gate[]): Row {
  const kind = (["tool", "person", "goal", "plan"] as const).find((name) => name in task) ?? "none";
  return {
    at,
    id: idOf(task),
    kind,
    what: kind === "none" || kind === "plan" ? "" : textOf(task[kind]),
    where: whereOf(task),
    each: eachOf(task),
    args: isFields(task.args) ? task.args : {},
    uses: usesOf(task),
    byTopic: byTopicOf(task),
    gates,
    repeatability: textOf(task.repeatability) || null,
    optional: task.optional === true,
    onlyIf: nodeOf(task.only_if, "param"),
    more: [
      ...Object.keys(task).filter((name) => !SHOWN.has(name) && !(name === "finds" && kind === "tool")),
      ...(isFields(task.for_each) && "times" in task.for_each ? ["times"] : []),
      ...(byTopicOf(task).length && kind !== "tool" ? ["finding"] : []),
    ],
  };
}

function eachOf(task: Fields): Each | null {
  const each = task.for_each;
  if (!isFields(each) || "devices" in each || "times" in each) return null;
  return {
    from: textOf(each.from),
    output: textOf(each.output),
    same: textOf(each.same),
    mostAtOnce: typeof each.max_parallel === "number" ? each.max_parallel : null,
  };
}

export function usesOf(task: Fields): Use[] {
  if (!isFields(task.inputs)) return [];
  return Object.entries(task.inputs)
    .filter(([, input]) => !(isFields(input) && "finding" in input))
    .map(([name, input]) => ({
      name,
      from: isFields(input) ? textOf(input.from) : "",
      output: isFields(input) ? textOf(input.output) : "",
    }));
}

/** The topics that a plan's rows publish, goals included. */
export function topicsOf(plan: Fields): string[] {
  const found = tasksOf(plan).flatMap((task) => {
    const finds = isFields(task.finds) ? task.finds : {};
    return [textOf(finds.topic), ...list(finds, "topics").map((one) => textOf(isFields(one) ? one.topic : one))];
  });
  return [...new Set(found.filter(Boolean))];
}

function byTopicOf(task: Fields): ByTopic[] {
  if (!isFields(task.inputs)) return [];
  return Object.entries(task.inputs).flatMap(([name, input]) =>
    isFields(input) && "finding" in input ? [{ name, topic: textOf(input.finding) }] : [],
  );
}

/** The row on whose devices this one runs, as it runs with each of them; null where it names its own or any. */
export function onDevicesOf(row: Row, rows: readonly Row[]): Row | null {
  if (row.where.kind !== "auto") return null;
  const seen = new Set<string>();
  for (let one: Row | undefined = row; one?.each?.same && !seen.has(one.id); ) {
    seen.add(one.id);
    const same: string = one.each.same;
    one = rows.find((other) => other.id === same);
    if (one?.where.kind === "every" || (one?.where.kind === "param" && one.where.every)) return one;
  }
  return null;
}

/** Ids of all rows that must have ended before this one, directly. */
export function before(row: Row): string[] {
  const ids = [...row.uses.map((use) => use.from), ...row.gates.map((gate) => gate.from)];
  if (row.each) ids.push(row.each.from || row.each.same);
  if (row.where.kind === "other" && isFields(row.where.selector)) ids.push(textOf(row.where.selector.from));
  return [...new Set(ids.filter(Boolean))];
}

/** All rows that come, in any number of steps, after `id`; it may not use these without a circle. */
export function after(rows: readonly Row[], id: string): Set<string> {
  const next = new Map<string, string[]>();
  for (const row of rows) for (const from of before(row)) next.set(from, [...(next.get(from) ?? []), row.id]);
  const found = new Set<string>();
  const open = [id];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    for (const to of next.get(one) ?? []) {
      if (found.has(to)) continue;
      found.add(to);
      open.push(to);
    }
  }
  return found;
}

/** The rows after `id` that stay at a place which it has left: they look at its files there, or go on with them. */
export function leftAt(rows: readonly Row[], id: string, place: Where): Row[] {
  const own = rows.find((row) => row.id === id);
  if (!own || !isOnePlace(place) || !isOnePlace(own.where) || whereKey(own.where) === whereKey(place)) return [];
  const later = after(rows, id);
  return rows.filter((row) => later.has(row.id) && whereKey(row.where) === whereKey(place));
}

/** The fields of tools that name what lies on the device of the call. */
const PATHS = new Set(["path", "paths", "file", "folder", "folders", "root"]);

/** The row with one device whose paths this one takes, whole or item by item: they mean something there alone. */
export function originOf(row: Row, rows: readonly Row[]): Row | null {
  const items = Object.entries(row.args).filter(([, value]) => JSON.stringify(value).includes('"each"'));
  const takes = [...row.uses, ...items.map(([name]) => ({ name, from: row.each?.from ?? "" }))];
  for (const { name, from } of takes) {
    const source = rows.find((one) => one.id === from);
    // What a search gives as files are paths there; other files lie in the hub's store.
    const isPath = PATHS.has(name) || (name === "files" && source?.what === "fs.find");
    if (source?.kind === "tool" && isPath && isOnePlace(source.where)) return source;
  }
  return null;
}

const isOnePlace = (where: Where): boolean => where.kind === "device" || (where.kind === "param" && !where.every);

const GATE_WORDS: { [when: string]: string } = {
  success: "is done",
  failure: "has failed",
  finish: "has ended, however",
  unless_failed: "is done or was not chosen",
};

export const OPERATORS: { [op: string]: string } = {
  eq: "is",
  ne: "is not",
  lt: "is below",
  le: "is at most",
  gt: "is above",
  ge: "is at least",
  in: "is one of",
  not_in: "is none of",
  contains: "contains",
  empty: "is empty",
  not_empty: "is not empty",
  exists: "is there",
};

export const GATES = Object.entries(GATE_WORDS).map(([value, label]) => ({ value, label }));

/** A gate as a sentence after the row's number: `is done`, `gave enough is no`. */
export function gateWords(when: Json): string {
  if (typeof when === "string") return known(GATE_WORDS, when) ?? when;
  if (!isFields(when)) return "";
  const value = when.value === undefined ? "" : ` ${valueWords(when.value)}`;
  return `gave ${pointerWords(textOf(when.output))} that ${known(OPERATORS, textOf(when.op)) ?? textOf(when.op)}${value}`;
}

export function valueWords(value: Json | undefined): string {
  if (value === true) return "yes";
  if (value === false) return "no";
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

/** `/files/0/path` as people read it: `files, 1, path`. */
export function pointerWords(pointer: string): string {
  if (!pointer) return "everything";
  return pointer
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((step) => (/^\d+$/.test(step) ? `${Number(step) + 1}.` : step.replaceAll("_", " ")))
    .join(", ");
}
