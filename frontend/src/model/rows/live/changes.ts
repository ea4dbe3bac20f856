/**
 * A draft over a running plan: what it would change, as the operations of an edit, and the same changes carried over
 * to a newer plan. Pure; whether an edit still fits is the hub's to say.
 */
import { author, plural } from "../../words/words.ts";
import { type Fields, idOf, isFields, type Json, list, same, taskOf, tasksOf, textOf, withField } from "../document.ts";
import { before, rowsOf } from "../row.ts";

export interface Changes {
  added: string[];
  removed: string[];
  changed: string[];
  operations: Fields[];
  /** What an edit cannot do, in words. */
  impossible: string[];
}

/** What a field becomes when a draft leaves it out. */
const ABSENT: { [field: string]: Json } = {
  args: {},
  inputs: {},
  files_out: [],
  checks: [],
  ask: [],
  choices: [],
  optional: false,
  retry: {},
  timeouts: {},
};
/** The parts of a plan that an edit can change; the others stay as they were while it runs. */
const EDITABLE = new Set(["tasks", "dependencies", "policy"]);
const FIXED_WORDS: { [part: string]: string } = {
  rules: "Rules",
  result: "What is shown in the answer",
  sentence: "The sentence of the answer",
  judge: "The question that judges the answer",
  name: "The name",
};

/** Whether a draft differs from its plan at all. */
export const isChanged = (changes: Changes): boolean => changes.operations.length > 0 || changes.impossible.length > 0;

export function changesOf(base: Fields, draft: Fields): Changes {
  const found: Changes = { added: [], removed: [], changed: [], operations: [], impossible: [] };
  const gone = tasksOf(base)
    .map(idOf)
    .filter((id) => !taskOf(draft, id));
  const gates = (plan: Fields) => list(plan, "dependencies").filter(isFields);
  // Gates first go, then tasks, then tasks come, then gates: no operation names what is not there.
  for (const gate of gates(base))
    if (
      !gone.includes(String(gate.from)) &&
      !gone.includes(String(gate.to)) &&
      !gates(draft).some((one) => same(one, gate))
    )
      found.operations.push({
        remove_dependency: { from: gate.from ?? "", to: gate.to ?? "", when: gate.when ?? "success" },
      });
  for (const task of tasksOf(draft)) {
    const before = taskOf(base, idOf(task));
    if (!before || same(before, task)) continue;
    found.changed.push(idOf(task));
    found.operations.push({ update_task: patchOf(before, task) });
  }
  for (const gate of gates(base))
    if (gone.includes(String(gate.from)) && !gone.includes(String(gate.to)))
      found.operations.push({
        remove_dependency: { from: gate.from ?? "", to: gate.to ?? "", when: gate.when ?? "success" },
      });
  for (const id of gone) {
    found.removed.push(id);
    found.operations.push({ remove_task: { id } });
  }
  for (const task of tasksOf(draft)) {
    if (taskOf(base, idOf(task))) continue;
    found.added.push(idOf(task));
    found.operations.push({ add_task: task });
  }
  for (const gate of gates(draft)) {
    if (gates(base).some((one) => same(one, gate))) continue;
    const target = String(gate.to);
    if (!found.added.includes(target) && !found.changed.includes(target)) found.changed.push(target);
    found.operations.push({ add_dependency: gate });
  }
  if (!same(base.policy ?? {}, draft.policy ?? {})) found.operations.push({ set_policy: draft.policy ?? {} });
  for (const part of new Set([...Object.keys(base), ...Object.keys(draft)]))
    if (!EDITABLE.has(part) && !same(base[part] ?? [], draft[part] ?? []))
      found.impossible.push(`${FIXED_WORDS[part] ?? `"${part}" of the plan`} cannot be changed while it runs.`);
  return found;
}

function patchOf(before: Fields, after: Fields): Fields {
  const patch: Fields = { id: after.id ?? "" };
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (name === "id" || same(before[name], after[name])) continue;
    patch[name] = after[name] ?? ABSENT[name] ?? null;
  }
  return patch;
}

/** Each field that both changed, and not to the same; the draft's value stands there. Named by its path. */
type Clash = (path: string) => void;

/** The fields of a row whose names stand for themselves: two people may change one each. */
const MAPS = new Set(["args", "inputs", "retry", "timeouts"]);

/** `newer` with what `mine` changed since `base`, field by field. */
function merged(base: Fields, mine: Fields, newer: Fields, clash: Clash, above = ""): Fields {
  let made = newer;
  for (const name of new Set([...Object.keys(base), ...Object.keys(mine)])) {
    const [was, own, other] = [base[name], mine[name], newer[name]];
    if (same(own, was) || same(own, other)) continue;
    const path = above + name;
    if (!above && MAPS.has(name) && isFields(own) && isFields(other))
      made = { ...made, [name]: merged(isFields(was) ? was : {}, own, other, clash, `${path}.`) };
    else {
      if (!same(other, was)) clash(path);
      made = withField(made, name, own);
    }
  }
  return made;
}

/** What both a draft and a newer plan changed, in words; taking the newer one in keeps the draft's change. */
export function clashes(base: Fields, draft: Fields, newer: Fields): string[] {
  const found: string[] = [];
  for (const before of tasksOf(base)) {
    const id = idOf(before);
    const [own, other] = [taskOf(draft, id), taskOf(newer, id)];
    if (own && other) merged(before, own, other, (path) => found.push(`${path} of ${id}`));
    else if (own && !same(own, before)) found.push(`${id}, which is not there any more, so your change of it goes`);
    else if (other && !own && !same(other, before)) found.push(`${id}, which you remove`);
  }
  const [was, own, other] = [base, draft, newer].map(policyOf) as [Fields, Fields, Fields];
  merged(was, own, other, (path) => found.push(`${path} of the policy`));
  return found;
}

const policyOf = (plan: Fields): Fields => (isFields(plan.policy) ? plan.policy : {});

/** The newer plan with what the draft changed since `base`; where both changed one field, the draft's stands. */
export function rebased(base: Fields, draft: Fields, newer: Fields): Fields {
  const mine = changesOf(base, draft);
  const told = () => undefined;
  const kept = tasksOf(newer)
    .filter((task) => !mine.removed.includes(idOf(task)))
    .map((task) => {
      const [before, own] = [taskOf(base, idOf(task)), taskOf(draft, idOf(task))];
      return own ? merged(before ?? {}, own, task, told) : task;
    });
  const ids = new Set(kept.map(idOf));
  const added = tasksOf(draft).filter((task) => mine.added.includes(idOf(task)) && !ids.has(idOf(task)));
  const all = new Set([...ids, ...added.map(idOf)]);
  const dropped = list(base, "dependencies").filter(
    (gate) => !list(draft, "dependencies").some((one) => same(one, gate)),
  );
  const gates = [
    ...list(newer, "dependencies").filter((gate) => !dropped.some((one) => same(one, gate))),
    ...list(draft, "dependencies").filter(
      (gate) =>
        !list(base, "dependencies").some((one) => same(one, gate)) &&
        !list(newer, "dependencies").some((one) => same(one, gate)),
    ),
  ].filter((gate) => isFields(gate) && all.has(String(gate.from)) && all.has(String(gate.to)));
  const { dependencies: _gates, ...rest } = newer;
  if (!same(base.policy ?? {}, draft.policy ?? {}))
    rest.policy = merged(policyOf(base), policyOf(draft), policyOf(newer), told);
  return { ...rest, tasks: [...kept, ...added], ...(gates.length ? { dependencies: gates } : {}) };
}

/** The draft without its changes of some rows: they and the gates into them are as in `base`. */
export function restored(base: Fields, draft: Fields, rows: ReadonlySet<string>): Fields {
  const missing = tasksOf(base).filter((task) => rows.has(idOf(task)) && !taskOf(draft, idOf(task)));
  const tasks = tasksOf(draft).map((task) => (rows.has(idOf(task)) && taskOf(base, idOf(task))) || task);
  const leads = (plan: Fields, into: boolean) =>
    list(plan, "dependencies").filter((gate) => isFields(gate) && rows.has(String(gate.to)) === into);
  const gates = [...leads(draft, false), ...leads(base, true)];
  const { dependencies: _gates, ...rest } = draft;
  return { ...rest, tasks: [...tasks, ...missing], ...(gates.length ? { dependencies: gates } : {}) };
}

/** The rows that stand after a change and that it is about; one whose gate goes is not changed itself. */
const begunBy = ({ added, changed, operations }: Changes): string[] => [
  ...added,
  ...changed,
  ...operations.flatMap((one) => (isFields(one.remove_dependency) ? [textOf(one.remove_dependency.to)] : [])),
];

/**
 * Whether a newer plan leaves a draft's rows alone: neither those that it changes nor those that they name, and no row
 * of it needs one that the draft removes.
 */
export function isApart(base: Fields, draft: Fields, newer: Fields): boolean {
  const [mine, theirs] = [changesOf(base, draft), changesOf(base, newer)];
  const rows = (changes: Changes) => [...begunBy(changes), ...changes.removed];
  const named = (plan: Fields, ids: readonly string[]) =>
    rowsOf(plan).flatMap((row) => (ids.includes(row.id) ? before(row) : []));
  const own = new Set([...rows(mine), ...named(draft, rows(mine))]);
  const gone = new Set(mine.removed);
  const ofPolicy = (changes: Changes) => changes.operations.some((one) => "set_policy" in one);
  return (
    !rows(theirs).some((id) => own.has(id)) &&
    !named(newer, rows(theirs)).some((id) => gone.has(id)) &&
    !(ofPolicy(mine) && ofPolicy(theirs))
  );
}

const ENDED = new Set(["succeeded", "failed", "cancelled", "skipped"]);
const UNBEGUN = new Set(["waiting", "ready"]);
const MET_BY: { [when: string]: (state: string | undefined) => boolean } = {
  success: (state) => state === "succeeded",
  failure: (state) => state === "failed",
  finish: () => true,
};
/** So many rows are named in a sentence; the bar of a draft is a line on a phone. */
const NAMED = 3;

/**
 * The effect of applying a draft, in one sentence; empty where no row changes. `states` are those of the running rows,
 * and work that is not `active` begins nothing before it goes on.
 */
export function effectWords(
  changes: Changes,
  draft: Fields,
  states: ReadonlyMap<string, string>,
  active: boolean,
): string {
  const touched = new Set(begunBy(changes));
  const [starting, waiting, decided]: [string[], string[], string[]] = [[], [], []];
  for (const row of rowsOf(draft)) {
    if (!touched.has(row.id) || !UNBEGUN.has(states.get(row.id) ?? "waiting")) continue;
    const gated = new Map(row.gates.map(({ from, when }) => [from, when]));
    const isMet = (from: string) => MET_BY[String(gated.get(from) ?? "success")]?.(states.get(from)) ?? false;
    const from = before(row);
    if (from.some((one) => !ENDED.has(states.get(one) ?? ""))) waiting.push(row.id);
    else (from.every(isMet) ? starting : decided).push(row.id);
  }
  const parts = [
    said(starting, "starts", "start", active ? " at once" : " when the work goes on"),
    said(waiting, "waits", "wait", " for earlier rows"),
    said(decided, "is", "are", " decided at once by rows that have ended"),
    said(changes.removed, "does", "do", " not run"),
  ].filter(Boolean);
  return parts.length ? `When applied, ${parts.join("; ")}.` : "";
}

function said(rows: readonly string[], one: string, many: string, what: string): string {
  if (rows.length === 0) return "";
  const named = rows.length > NAMED ? "" : ` (${rows.join(", ")})`;
  return `${plural(rows.length, "row")}${named} ${rows.length === 1 ? one : many}${what}`;
}

/** The faults of a refused edit at the rows that its operations are about, as those of the draft's plan. */
export function faultsInRows<T extends { place?: string }>(draft: Fields, changes: Changes, faults: readonly T[]): T[] {
  return faults.flatMap((fault) => {
    const named = /^tasks\.([\w-]+)$/.exec(fault.place ?? "")?.[1];
    const [, at, field] = /^operations\[(\d+)\](?:\.\w+)?(?:\.([\w.]+))?/.exec(fault.place ?? "") ?? [];
    const body = Object.values(changes.operations[Number(at)] ?? {})[0];
    const about = named ?? (isFields(body) ? (body.id ?? body.to) : undefined);
    const row = tasksOf(draft).findIndex((task) => idOf(task) === about);
    return row < 0 ? [] : [{ ...fault, place: `tasks[${row}]${field ? `.${field}` : ""}` }];
  });
}

/** A draft over the same plan that some browser has open, as the hub tells it. */
export interface OpenDraft {
  by: string;
  expires_ms: number;
  tasks?: readonly string[];
}

/** What is edited elsewhere now, in sentences: by others, which holds their rows, and by oneself in another browser. */
export function openElsewhere(drafts: Iterable<OpenDraft>, me: string, token: string, now: number): string[] {
  const own = `${me}#${token}`;
  return [...drafts]
    .filter((one) => one.by !== own && one.expires_ms > now && one.tasks?.length)
    .map((one) => {
      const rows = (one.tasks ?? []).join(", ");
      return one.by.split("#", 1)[0] === me
        ? `You have a draft of ${rows} open in another browser too: the first that is applied counts.`
        : `${author(one.by)} is editing ${rows}: others edit that when the draft is applied or closed.`;
    });
}

/** `+2 -1 ~1` */
export const delta = (changes: Changes): string =>
  [
    changes.added.length ? `+${changes.added.length}` : "",
    changes.removed.length ? `\u2212${changes.removed.length}` : "",
    changes.changed.length ? `~${changes.changed.length}` : "",
  ]
    .filter(Boolean)
    .join(" ");
