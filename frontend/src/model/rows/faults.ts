/**
 * Faults, each in the row that it is about, with one change that mends it where there is one. The hub finds most; what
 * the tool's schema says of arguments is found here too, so that it shows while one types.
 */
import {
  type Draft,
  defaultsOf,
  type Fields,
  idOf,
  isFields,
  type Json,
  list,
  paramsOf,
  textOf,
  withField,
} from "./document.ts";
import { changedGate, freeId, patched, taking, withArg, withUse } from "./edit.ts";
import { type Row, rowsOf } from "./row.ts";
import { branches, type Sample, suitable } from "./sample.ts";
import { type Form, labelOf, wrongWith } from "./schema.ts";
import { type Where, whereKey, whereWords, withWhere } from "./where.ts";

/** So many places stand beside a fault; the list of the row has all of them. */
const PLACES_MOST = 3;

interface Fix {
  label: string;
  apply: (draft: Draft) => Draft;
}

export interface RowFault {
  /** The row's place among the tasks; null for a fault of the whole document. */
  row: number | null;
  /** The field it is about, empty for the whole row. */
  field: string;
  reason: string;
  hint: string;
  fixes: Fix[];
  /** It only says what is still to be filled in; nothing was done wrong. */
  open: boolean;
  /** The plan has changed since the hub found it: its place, and so its fixes, may mean another row by now. */
  outdated?: boolean;
}

interface HubFault {
  code: string;
  reason: string;
  place?: string;
  hint?: string;
}

type Step = string | number;

/** `tasks[3].inputs.rows.from` as steps. A name may hold dots only as the last step, as arguments do. */
export function stepsOf(place: string): Step[] {
  const steps: Step[] = [];
  for (const part of place.split(".")) {
    const name = part.replace(/(\[\d+\])+$/, "");
    if (name) steps.push(name);
    for (const index of part.matchAll(/\[(\d+)\]/g)) steps.push(Number(index[1]));
  }
  return steps;
}

const onPlan =
  (change: (plan: Fields) => Fields) =>
  (draft: Draft): Draft => ({ ...draft, plan: change(draft.plan) });

/** Sets or removes (undefined) a value deep inside; a path that leads nowhere changes nothing. */
export function setAt(value: Json, steps: readonly Step[], to: Json | undefined): Json {
  const [step, ...rest] = steps;
  if (step === undefined) return to ?? value;
  if (Array.isArray(value) && typeof step === "number") {
    if (step >= value.length) return value;
    if (rest.length === 0 && to === undefined) return value.filter((_, at) => at !== step);
    return value.map((one, at) => (at === step ? setAt(one, rest, to) : one));
  }
  if (!isFields(value) || typeof step !== "string") return value;
  if (rest.length === 0) return withField(value, step, to);
  const inner = value[step];
  return inner === undefined ? value : { ...value, [step]: setAt(inner, rest, to) };
}

/** The names of the devices that can do a call of a tool now. */
type AbleOn = (tool: string) => readonly string[];
const NOWHERE: AbleOn = () => [];

/** The faults of a preview that was refused, each in its row. */
export function hubFaults(draft: Draft, faults: readonly HubFault[], ableOn: AbleOn = NOWHERE): RowFault[] {
  return faults.map((fault) => {
    const steps = stepsOf((fault.place ?? "").replace(/^plan\./, ""));
    return {
      ...located(draft.plan, steps),
      reason: fault.reason,
      hint: fault.hint ?? "",
      fixes: fixesOf(draft, fault, steps, ableOn),
      open: false,
    };
  });
}

/**
 * The hub's faults and the page's own, each told once: of an argument's name the page's, which knows more ways out.
 * `current` tells whether the hub's are those of this very plan.
 */
export function joinedFaults(
  draft: Draft,
  told: readonly HubFault[],
  own: readonly RowFault[],
  current: boolean,
  ableOn?: AbleOn,
): RowFault[] {
  const held = new Set(own.map((fault) => `${fault.row} ${fault.field} ${fault.open ? MISSING : NOT_TAKEN}`));
  const hubs = told.filter((fault) => {
    const [part, row, within, name, ...deeper] = stepsOf((fault.place ?? "").replace(/^plan\./, ""));
    const named = part === "tasks" && (within === "args" || within === "inputs") && deeper.length === 0;
    return !named || !held.has(`${row} ${name} ${fault.code}`);
  });
  const found = hubFaults(draft, hubs, ableOn);
  return [...(current ? found : found.map((fault) => ({ ...fault, outdated: true }))), ...own];
}

/** The hub's codes for an argument that a tool does not take, and for one that it cannot do without. */
const NOT_TAKEN = "unknown_field";
const MISSING = "plan_invalid";

function located(plan: Fields, steps: readonly Step[]): { row: number | null; field: string } {
  const [part, at, ...rest] = steps;
  const rowOf = (id: string) => {
    const found = list(plan, "tasks").findIndex((task) => isFields(task) && idOf(task) === id);
    return found < 0 ? null : found;
  };
  if (typeof at !== "number") return { row: null, field: textOf(part) };
  if (part === "tasks") {
    const [field, name] = rest;
    return {
      row: at,
      field: (field === "args" || field === "inputs") && typeof name === "string" ? name : String(field ?? ""),
    };
  }
  const one = list(plan, String(part))[at];
  if (!isFields(one)) return { row: null, field: String(part) };
  if (part === "dependencies") return { row: rowOf(textOf(one.to)) ?? rowOf(textOf(one.from)), field: "when" };
  if (part === "result") return { row: rowOf(textOf(one.from)), field: "result" };
  return { row: null, field: String(part) };
}

/** How the hub's hint begins where a tool takes a list and has a single value. */
const AS_A_LIST = "Write it as a list";
const MEANT = /Did you mean `([^`]+)`\?/;

function fixesOf(draft: Draft, fault: HubFault, steps: readonly Step[], ableOn: AbleOn): Fix[] {
  const fixes: Fix[] = [];
  const meant = MEANT.exec(fault.hint ?? "")?.[1];
  const last = steps.at(-1);
  const [part, at] = steps;
  if (meant && fault.code === "unknown_field" && typeof last === "string") {
    fixes.push({ label: `Call it ${meant}`, apply: onPlan((plan) => renameField(plan, steps, meant)) });
  } else if (meant && fault.code === "unknown_param") {
    fixes.push({ label: `Use ${meant}`, apply: onPlan((plan) => setAt(plan, steps, { param: meant }) as Fields) });
  } else if (meant) {
    fixes.push({ label: `Use ${meant}`, apply: onPlan((plan) => setAt(plan, steps, meant) as Fields) });
  }
  const value = fault.hint?.startsWith(AS_A_LIST) ? valueAt(draft.plan, steps) : undefined;
  if (value !== undefined)
    fixes.push({ label: "Make it a list", apply: onPlan((plan) => setAt(plan, steps, [value]) as Fields) });
  switch (fault.code) {
    case "duplicate_id":
      if (part === "tasks" && typeof at === "number")
        fixes.push({ label: "Give it another name", apply: onPlan((plan) => otherName(plan, at)) });
      break;
    case "unknown_device":
      if (part === "tasks" && typeof at === "number")
        fixes.push({
          label: "Any device that can",
          apply: onPlan((plan) => setAt(plan, ["tasks", at, "device"], undefined) as Fields),
        });
      break;
    case "missing_grant":
    case "tool_unavailable":
      if (part === "tasks" && typeof at === "number") fixes.push(...elsewhere(draft.plan, at, ableOn));
      break;
    case "unknown_task":
    case "plan_cycle":
      fixes.push(...unlink(steps, fault.code === "plan_cycle" ? "Do not wait for it" : "Do not use it"));
      break;
    case "not_repeatable":
      if (part === "tasks" && typeof at === "number") {
        fixes.push(
          {
            label: "It is safe to run again",
            apply: onPlan((plan) => setAt(plan, ["tasks", at, "repeatability"], "idempotent") as Fields),
          },
          {
            label: "Wait for its device instead",
            apply: onPlan((plan) => setAt(plan, ["tasks", at, "on_absence"], "wait") as Fields),
          },
        );
      }
      break;
    case "unknown_param": {
      const name = /`([^`]+)`/g.exec(fault.reason.replace(/^this plan has no parameters, so no /, ""))?.[1];
      if (!meant && name) fixes.push({ label: `Make ${name} a parameter`, apply: (one) => declared(one, name) });
      break;
    }
    case "unknown_field":
      if (!meant) fixes.push({ label: "Remove it", apply: onPlan((plan) => setAt(plan, steps, undefined) as Fields) });
      break;
  }
  return fixes.filter((fix) => fix.apply(draft) !== draft);
}

/** The other places for a row that cannot run where it is put. */
function elsewhere(plan: Fields, at: number, ableOn: AbleOn): Fix[] {
  const row = rowsOf(plan)[at];
  const names = row ? ableOn(row.what) : [];
  if (!row || names.length === 0) return [];
  const places: Where[] = [{ kind: "auto" }, ...names.map((name): Where => ({ kind: "device", name }))];
  return places
    .filter((place) => whereKey(place) !== whereKey(row.where))
    .slice(0, PLACES_MOST)
    .map((place) => ({
      label: place.kind === "device" ? `Run it on ${place.name}` : whereWords(place),
      apply: onPlan((held) => patched(held, row.id, (task) => withWhere(task, place))),
    }));
}

function valueAt(plan: Fields, steps: readonly Step[]): Json | undefined {
  let value: Json | undefined = plan;
  for (const step of steps) {
    value = Array.isArray(value) ? value[Number(step)] : isFields(value) ? value[step] : undefined;
  }
  return value;
}

function renameField(plan: Fields, steps: readonly Step[], name: string): Fields {
  const value = valueAt(plan, steps.slice(0, -1));
  const last = steps.at(-1);
  if (!isFields(value) || typeof last !== "string") return plan;
  const changed = Object.fromEntries(Object.entries(value).map(([key, one]) => [key === last ? name : key, one]));
  return setAt(plan, steps.slice(0, -1), changed) as Fields;
}

/** Only the second of two rows is renamed, and nothing that names the first. */
function otherName(plan: Fields, at: number): Fields {
  const task = list(plan, "tasks")[at];
  if (!isFields(task)) return plan;
  return setAt(plan, ["tasks", at, "id"], freeId(plan, idOf(task))) as Fields;
}

function unlink(steps: readonly Step[], label: string): Fix[] {
  const [part, at, field, name] = steps;
  if (typeof at !== "number") return [];
  if (part === "dependencies") return [{ label, apply: onPlan((plan) => changedGate(plan, at, null)) }];
  if (part === "tasks" && field === "inputs" && name !== undefined)
    return [
      { label, apply: onPlan((plan) => patched(plan, idAt(plan, at), (task) => withUse(task, String(name), null))) },
    ];
  if (part === "tasks" && field === "for_each")
    return [
      { label: "Run it once", apply: onPlan((plan) => setAt(plan, ["tasks", at, "for_each"], undefined) as Fields) },
    ];
  if (part === "result")
    return [
      { label: "Leave this result out", apply: onPlan((plan) => setAt(plan, ["result", at], undefined) as Fields) },
    ];
  if (part === "sentence")
    return [
      { label: "Leave this sentence out", apply: onPlan((plan) => setAt(plan, ["sentence", at], undefined) as Fields) },
    ];
  return [];
}

const idAt = (plan: Fields, at: number): string => {
  const task = list(plan, "tasks")[at];
  return isFields(task) ? idOf(task) : "";
};

function declared(draft: Draft, name: string): Draft {
  const head = draft.head ?? { starloom_recipe: 1, name: "", title: textOf(draft.plan.name), version: 1 };
  return { ...draft, head: { ...head, params: { ...paramsOf(draft), [name]: { type: "text" } } } };
}

/** What the tool's own schema finds in one row, with a value of an earlier row where one fits. */
export function schemaFaults(
  row: Row,
  form: Form | null,
  earlier: readonly { id: string; at: number; sample: Sample }[],
): RowFault[] {
  if (!form) return [];
  const found: RowFault[] = [];
  const used = new Set([...row.uses, ...row.byTopic].map((one) => one.name));
  const known = new Set(form.fields.map((field) => field.name));
  const fault = (field: string, reason: string, fixes: Fix[], open = false): RowFault => ({
    row: row.at,
    field,
    reason,
    hint: "",
    fixes,
    open,
  });
  for (const field of form.fields) {
    const value = row.args[field.name];
    if (value !== undefined) {
      const wrong = wrongWith(field, value);
      if (wrong) found.push(fault(field.name, `${labelOf(field.name)} ${wrong}`, []));
    } else if (field.required && !used.has(field.name)) {
      const fixes = earlier.toReversed().flatMap(({ id, at, sample }) =>
        suitable(branches(sample.value), field)
          .slice(0, 1)
          .map((branch) => ({
            label: `Use the ${labelOf(branch.name)} of row ${at + 1}`,
            apply: onPlan((plan) =>
              taking(plan, row.id, (task) => withUse(task, field.name, { from: id, output: branch.pointer })),
            ),
          })),
      );
      found.push(fault(field.name, `${labelOf(field.name)} is missing`, fixes.slice(0, 2), true));
    }
  }
  if (form.closed) {
    for (const name of [...Object.keys(row.args), ...used]) {
      if (known.has(name)) continue;
      const near = nearest(name, [...known]);
      const fixes: Fix[] = [];
      if (near && name in row.args) {
        fixes.push({
          label: `Call it ${near}`,
          apply: onPlan((plan) =>
            patched(plan, row.id, (task) => withArg(withArg(task, name, undefined), near, row.args[name] ?? null)),
          ),
        });
      }
      fixes.push({
        label: "Remove it",
        apply: onPlan((plan) => patched(plan, row.id, (task) => withUse(withArg(task, name, undefined), name, null))),
      });
      found.push(fault(name, `${row.what} takes no ${name}`, fixes));
    }
  }
  return found;
}

/** The nearest of the known words by letters to change; none where all are far. */
export function nearest(word: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const one of known) {
    const far = distance(word, one);
    if (far < least) {
      least = far;
      best = one;
    }
  }
  return best;
}

function distance(a: string, b: string): number {
  let line = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1)
      next[j] = Math.min(
        (line[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (line[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
      );
    line = next;
  }
  return line[b.length] ?? 0;
}

/** The parameters that stop a preview because nothing says what they are. */
export function openParams(draft: Draft): string[] {
  const values = defaultsOf(draft);
  return Object.entries(paramsOf(draft))
    .filter(([name, param]) => values[name] === null && param.optional !== true)
    .map(([name]) => name);
}
