/**
 * What a person does to rows, as functions from document to document. Each leaves every field alone that it is not
 * about, and keeps references true: a row that goes takes its uses and gates along, a row that is renamed is renamed
 * wherever it is named.
 */
import { type Fields, idOf, isFields, type Json, list, slug, taskOf, textOf, withField } from "./document.ts";
import { originOf, rowsOf } from "./row.ts";
import type { Form } from "./schema.ts";
import { withWhere } from "./where.ts";

const ID = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** Why a text cannot be the name of a row; null when it can. */
export function wrongId(plan: Fields, id: string, own: string): string | null {
  if (!ID.test(id)) return "A name has a-z, 0-9, _ or -, begins with a letter or digit and is at most 64 long.";
  return id !== own && taskOf(plan, id) ? `There is a row ${id} already.` : null;
}

/** A free name made of a tool's last word: `fs.find` becomes `find`, then `find-2`. */
export function freeId(plan: Fields, wish: string): string {
  const stem = slug(wish.split(".").at(-1) ?? "").slice(0, 56) || "row";
  for (let number = 1; ; number += 1) {
    const id = number === 1 ? stem : `${stem}-${number}`;
    if (!taskOf(plan, id)) return id;
  }
}

const tasks = (plan: Fields): Json[] => list(plan, "tasks");

export function patched(plan: Fields, id: string, change: (task: Fields) => Fields): Fields {
  return { ...plan, tasks: tasks(plan).map((task) => (isFields(task) && idOf(task) === id ? change(task) : task)) };
}

/** Lets a row take what an earlier one gives: of paths it runs where that one runs, unless it has a place already. */
export function taking(plan: Fields, id: string, change: (task: Fields) => Fields): Fields {
  const changed = patched(plan, id, change);
  const rows = rowsOf(changed);
  const row = rows.find((one) => one.id === id);
  const origin = row?.where.kind === "auto" && !row.each?.same ? originOf(row, rows) : null;
  return origin ? patched(changed, id, (task) => withWhere(task, origin.where)) : changed;
}

/** Adds a row at the end and says its name. */
export function added(plan: Fields, what: { tool: string } | { person: string }): { plan: Fields; id: string } {
  const id = freeId(plan, "tool" in what ? what.tool : "ask");
  return { plan: { ...plan, tasks: [...tasks(plan), { id, ...what }] }, id };
}

export function removed(plan: Fields, id: string): Fields {
  const kept = tasks(plan)
    .filter((task) => !(isFields(task) && idOf(task) === id))
    .map((task) => (isFields(task) ? forgetting(task, id) : task));
  let changed: Fields = { ...withReviewAt(plan, id, false), tasks: kept };
  for (const name of ["dependencies", "result"]) {
    if (!(name in plan)) continue;
    const left = list(plan, name).filter((one) => !isFields(one) || (one.from !== id && one.to !== id));
    changed =
      left.length === list(plan, name).length ? changed : withField(changed, name, left.length ? left : undefined);
  }
  if (!("sentence" in changed)) return changed;
  const said = list(changed, "sentence").filter((one) => !names(one, id));
  return withField(changed, "sentence", said.length ? said : undefined);
}

/** Whether a sentence of the answer has a value or a condition from a row. */
function names(sentence: Json, id: string): boolean {
  if (!isFields(sentence)) return false;
  const values = isFields(sentence.values) ? Object.values(sentence.values) : [];
  return [...values, sentence.when ?? null].some((one) => isFields(one) && one.from === id);
}

function forgetting(task: Fields, id: string): Fields {
  let changed = task;
  if (isFields(task.inputs)) {
    const inputs = Object.entries(task.inputs).filter(([, input]) => !isFields(input) || input.from !== id);
    if (inputs.length < Object.keys(task.inputs).length)
      changed = withField(changed, "inputs", inputs.length ? Object.fromEntries(inputs) : undefined);
  }
  const each = task.for_each;
  if (isFields(each) && (each.from === id || each.same === id)) changed = withField(changed, "for_each", undefined);
  return changed;
}

/** Moves a row up or down; the order says only how rows are read. */
export function moved(plan: Fields, id: string, by: number): Fields {
  const all = [...tasks(plan)];
  const at = all.findIndex((task) => isFields(task) && idOf(task) === id);
  const to = Math.max(0, Math.min(all.length - 1, at + by));
  const task = all[at];
  if (at < 0 || task === undefined || to === at) return plan;
  all.splice(at, 1);
  all.splice(to, 0, task);
  return { ...plan, tasks: all };
}

export function copied(plan: Fields, id: string): { plan: Fields; id: string } {
  const task = taskOf(plan, id);
  if (!task) return { plan, id };
  const made = freeId(plan, id);
  const at = tasks(plan).indexOf(task) + 1;
  return { plan: { ...plan, tasks: tasks(plan).toSpliced(at, 0, { ...task, id: made }) }, id: made };
}

const NAMING = new Set(["id", "from", "to", "same", "task", "of"]);
const CARRIED = new Set(["args", "checks", "choices", "value"]);

/** Renames a row wherever tasks, dependencies, results and rules name it; arguments are never touched. */
export function renamed(plan: Fields, id: string, name: string): Fields {
  const walk = (value: Json, key: string): Json => {
    if (Array.isArray(value)) return value.map((one) => walk(one, key));
    if (isFields(value)) {
      return Object.fromEntries(
        Object.entries(value).map(([inner, one]) => [inner, CARRIED.has(inner) ? one : walk(one, inner)]),
      );
    }
    return NAMING.has(key) && value === id ? name : value;
  };
  const changed = { ...plan };
  for (const part of ["tasks", "dependencies", "result", "rules", "sentence"])
    if (part in plan) changed[part] = walk(plan[part] ?? null, part);
  return isReviewedAt(plan, id) ? withReviewAt(withReviewAt(changed, id, false), name, true) : changed;
}

/** Another tool for a row: arguments and uses that the new one takes stay. */
export function withTool(task: Fields, tool: string, form: Form | null): Fields {
  const { person: _person, goal: _goal, choices: _choices, repeatability: _repeat, ...rest } = task;
  let changed: Fields = { ...rest, tool };
  if (!form?.closed) return changed;
  const known = new Set(form.fields.map((field) => field.name));
  for (const part of ["args", "inputs"]) {
    const held = changed[part];
    if (!isFields(held)) continue;
    const kept = Object.entries(held).filter(([name]) => known.has(name));
    changed = withField(changed, part, kept.length ? Object.fromEntries(kept) : undefined);
  }
  return changed;
}

const part = (task: Fields, name: string): Fields => (isFields(task[name]) ? (task[name] as Fields) : {});

function withPart(task: Fields, name: string, fields: Fields): Fields {
  return withField(task, name, Object.keys(fields).length ? fields : undefined);
}

/** Writes one argument; undefined leaves it out. A value that came from an earlier row no longer does. */
export function withArg(task: Fields, name: string, value: Json | undefined): Fields {
  const changed = withPart(task, "args", withField(part(task, "args"), name, value));
  return value === undefined ? changed : withPart(changed, "inputs", withField(part(task, "inputs"), name, undefined));
}

/** Takes a value from an earlier row; null stops that. Other fields of such an input stay. */
export function withUse(task: Fields, name: string, use: { from: string; output: string } | null): Fields {
  const inputs = part(task, "inputs");
  if (!use) return withPart(task, "inputs", withField(inputs, name, undefined));
  const { finding: _finding, fresh_s: _freshS, else: _else, ...held } = part(inputs, name);
  const input: Fields = { ...held, from: use.from, ...pointed(held, use.output) };
  const changed = withPart(task, "inputs", { ...inputs, [name]: input });
  return withPart(changed, "args", withField(part(task, "args"), name, undefined));
}

/** Publishes a part of a row's result under a topic; null publishes nothing. */
export function withFinds(task: Fields, finds: Fields | null): Fields {
  if (!finds) return withField(task, "finds", undefined);
  const { value, ...rest } = finds;
  return { ...task, finds: value ? finds : rest };
}

/** Takes an argument by topic; null stops that. Another source of it goes. */
export function withFinding(task: Fields, name: string, input: Fields | null): Fields {
  const changed = withPart(task, "inputs", withField(part(task, "inputs"), name, input ?? undefined));
  return input ? withPart(changed, "args", withField(part(changed, "args"), name, undefined)) : changed;
}

/** Lets a row run once for each item of an earlier row's list; null makes it run once. */
export function withEach(task: Fields, each: { from: string; output: string } | null): Fields {
  const held = part(task, "for_each");
  const { devices: _devices, same: _same, times: _times, when_off: _whenOff, after_s: _afterS, ...rest } = held;
  if (!each) return withField(task, "for_each", undefined);
  return { ...task, for_each: { ...rest, from: each.from, ...pointed(held, each.output) } };
}

/** Takes a value of each item of an earlier row's list: the row runs once for each of them; `alone` as a list of one. */
export function withItem(
  task: Fields,
  name: string,
  { from, list, inner, alone = false }: { from: string; list: string; inner: string; alone?: boolean },
): Fields {
  return withArg(withEach(task, { from, output: list }), name, alone ? [{ each: inner }] : { each: inner });
}

/** What becomes of a device that is off where a row runs on every one: null waits for it, a number is seconds. */
export function withWhenOff(task: Fields, afterS: number | null): Fields {
  const { when_off: _whenOff, after_s: _afterS, ...rest } = part(task, "for_each");
  return { ...task, for_each: afterS === null ? rest : { ...rest, when_off: "report", after_s: afterS } };
}

/** Whether a model reviews the plan when a row has ended, before what follows it. */
export const isReviewedAt = (plan: Fields, id: string): boolean => list(part(plan, "policy"), "review_at").includes(id);

export function withReviewAt(plan: Fields, id: string, reviewed: boolean): Fields {
  if (isReviewedAt(plan, id) === reviewed) return plan;
  const policy = part(plan, "policy");
  const others = list(policy, "review_at").filter((one) => one !== id);
  const points = reviewed ? [...others, id] : others;
  return withPart(plan, "policy", withField(policy, "review_at", points.length ? points : undefined));
}

/** The question to the judge of a row; empty where it has none. */
export function judgeOf(task: Fields): string {
  return isFields(task.judge) ? textOf(task.judge.question) : textOf(task.judge);
}

/** Asks a judge about a row's result; an empty question asks none. What becomes of an unclear verdict stays. */
export function withJudge(task: Fields, question: string): Fields {
  if (!question) return withField(task, "judge", undefined);
  return withField(task, "judge", isFields(task.judge) ? { ...task.judge, question } : question);
}

/** The field of a pointer: an empty one, which means everything, is written only where one stands already. */
const pointed = (held: Fields, output: string): Fields => (output || "output" in held ? { output } : {});

export function withGate(plan: Fields, from: string, to: string, when: Json): Fields {
  return { ...plan, dependencies: [...list(plan, "dependencies"), { from, to, when }] };
}

/** Changes the gate at a place of the list of dependencies; null removes it. */
export function changedGate(plan: Fields, at: number, gate: { from: string; when: Json } | null): Fields {
  const all = list(plan, "dependencies");
  if (!gate) {
    const left = all.filter((_, index) => index !== at);
    return withField(plan, "dependencies", left.length ? left : undefined);
  }
  const changed = all.map((one, index) => (index === at && isFields(one) ? { ...one, ...gate } : one));
  return { ...plan, dependencies: changed };
}

/** What is given back: titles of results by row; none named means the rows that nothing follows. */
export function withResult(plan: Fields, from: string, title: string | null): Fields {
  const others = list(plan, "result").filter((one) => !isFields(one) || textOf(one.from) !== from);
  const made = title === null ? others : [...others, { title, from, show: "value" }];
  return withField(plan, "result", made.length ? made : undefined);
}
