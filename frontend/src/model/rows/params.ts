/**
 * Constants that become parameters: one by one in the editor, or all that look like it when a plan is saved as a
 * recipe. What looks like a secret is never kept: its value goes, its name stays.
 */
import {
  type Draft,
  type Fields,
  idOf,
  isFields,
  type Json,
  nodeOf,
  paramsOf,
  same,
  slug,
  tasksOf,
  textOf,
  withField,
} from "./document.ts";
import { setAt } from "./faults.ts";

type ParamType = "device" | "path" | "url" | "integer" | "number" | "boolean" | "text" | "argv" | "hosts";

type Path = (string | number)[];

interface Proposal {
  name: string;
  type: ParamType;
  title: string;
  value: Json;
  /** Where in the plan this constant stands; all become the one parameter. */
  places: Path[];
}

const PATH_NAMES = /^(root|path|paths|to|under|folder|from|cwd|target|file|dir|directory|strip)$/;
const HOST_NAMES = /^(host|hosts|domain)$/;
const SECRET_NAMES = /pass(word|phrase)?|secret|token|api_?key|private_?key|authorization|credential|cookie/i;
const SECRET_VALUES = /^(Bearer |Basic |ghp_|github_pat_|sk-|xox[abp]-|AKIA|-----BEGIN)|^[A-Za-z0-9+/_-]{40,}={0,2}$/;
const HASH = /^[0-9a-f]{64}$/;

/** The type a constant would have as a parameter; null for what makes no sense as one (a map, a list of maps). */
export function typeOf(name: string, value: Json): ParamType | null {
  if (typeof value === "boolean") return "boolean";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  if (typeof value === "string") {
    if (/^https?:\/\//.test(value)) return "url";
    if (HOST_NAMES.test(name)) return "text";
    if (PATH_NAMES.test(name) || /^(~|\.{0,2}\/)/.test(value)) return "path";
    return "text";
  }
  if (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string"))
    return name === "argv" ? "argv" : name === "hosts" ? "hosts" : null;
  return null;
}

function freeName(taken: Iterable<string>, wish: string): string {
  const stem = slug(wish).replaceAll("-", "_") || "value";
  const used = new Set(taken);
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? stem : `${stem}_${number}`;
    if (!used.has(name)) return name;
  }
}

const isNumber = (type: ParamType): boolean => type === "integer" || type === "number";

/** All constants worth offering: devices by name, paths, addresses, numbers and commands; equal ones are one. */
export function proposals(draft: Draft): Proposal[] {
  const found: Proposal[] = [];
  const names = new Set(Object.keys(paramsOf(draft)));
  const add = (wish: string, type: ParamType, value: Json, place: Path) => {
    const held = found.find(
      // Two numbers may be equal by chance: only those of one name are one.
      (one) => one.type === type && same(one.value, value) && (!isNumber(type) || one.title === titleOf(wish)),
    );
    if (held) {
      held.places.push(place);
      return;
    }
    const name = freeName(names, wish);
    names.add(name);
    found.push({ name, type, title: titleOf(wish), value, places: [place] });
  };
  tasksOf(draft.plan).forEach((task, at) => {
    const named = (selector: Json | undefined, place: Path) => {
      if (!isFields(selector)) return;
      if (typeof selector.name === "string" && Object.keys(selector).length === 1)
        add(selector.name, "device", { name: selector.name }, place);
      const any = selector.any;
      if (Array.isArray(any)) for (const [index, one] of any.entries()) named(one, [...place, "any", index]);
    };
    named(task.device, ["tasks", at, "device"]);
    if (isFields(task.for_each)) named(task.for_each.devices, ["tasks", at, "for_each", "devices"]);
    if (!isFields(task.args)) return;
    for (const [name, value] of Object.entries(task.args)) {
      if (looksSecret(name, value)) continue;
      const type = typeOf(name, value);
      if (type && type !== "boolean" && type !== "text") add(name, type, value, ["tasks", at, "args", name]);
    }
  });
  return toldApart(found, draft);
}

/** Those of one title have the names of their rows, too: *Path of scan*, *Path of copy*. */
function toldApart(found: Proposal[], draft: Draft): Proposal[] {
  const rows = tasksOf(draft.plan);
  return found.map((one) => {
    const alone = found.filter((other) => other.title === one.title).length === 1;
    const row = rows[one.places[0]?.[1] as number];
    return alone || !row ? one : { ...one, title: `${one.title} of ${idOf(row)}` };
  });
}

const titleOf = (name: string): string => {
  const words = name.replaceAll(/[_-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** Makes a proposal a parameter: every place names it, and its constant becomes the default. */
export function withParam(draft: Draft, proposal: Proposal): Draft {
  let plan: Json = draft.plan;
  for (const place of proposal.places) plan = setAt(plan, place, { param: proposal.name });
  const param: Fields = { type: proposal.type, title: proposal.title, default: proposal.value };
  return { head: { ...headOf(draft), params: { ...paramsOf(draft), [proposal.name]: param } }, plan: plan as Fields };
}

/** The form of a parameter's name. */
export const PARAM_NAME = /[a-z0-9][a-z0-9_-]{0,63}/;

/** Why parameters cannot have these names, by their present ones: each must have the form, and be the only one. */
export function wrongNames(draft: Draft, names: Readonly<Record<string, string>>): Record<string, string> {
  const all = Object.keys(paramsOf(draft)).map((name) => names[name] ?? name);
  const found: Record<string, string> = {};
  for (const name of Object.keys(paramsOf(draft))) {
    const next = names[name] ?? name;
    if (PARAM_NAME.exec(next)?.[0] !== next) found[name] = "A name has small letters, digits, - and _.";
    else if (all.filter((one) => one === next).length > 1) found[name] = "Another parameter has this name.";
  }
  return found;
}

/** Gives parameters other names, in the head and wherever the plan names them. */
export function withNames(draft: Draft, names: Readonly<Record<string, string>>): Draft {
  const put = (value: Json): Json => {
    const param = nodeOf(value, "param");
    if (param !== null) return { param: names[param] ?? param };
    if (Array.isArray(value)) return value.map(put);
    return isFields(value) ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, put(one)])) : value;
  };
  const params = Object.fromEntries(Object.entries(paramsOf(draft)).map(([name, one]) => [names[name] ?? name, one]));
  return { head: { ...headOf(draft), params }, plan: put(draft.plan) as Fields };
}

/** Makes one argument of one row a parameter. */
export function argAsParam(draft: Draft, id: string, name: string): Draft {
  const at = tasksOf(draft.plan).findIndex((task) => idOf(task) === id);
  const task = tasksOf(draft.plan)[at];
  const value = task && isFields(task.args) ? task.args[name] : undefined;
  const type = value === undefined ? null : typeOf(name, value);
  if (value === undefined || !type) return draft;
  const free = freeName(Object.keys(paramsOf(draft)), name);
  return withParam(draft, { name: free, type, title: titleOf(name), value, places: [["tasks", at, "args", name]] });
}

/** Puts a parameter's default back wherever it is named, and forgets it. */
export function withoutParam(draft: Draft, name: string): Draft {
  const { [name]: gone, ...rest } = paramsOf(draft);
  if (!gone) return draft;
  const put = (value: Json): Json => {
    if (nodeOf(value, "param") === name) return gone.default ?? null;
    if (Array.isArray(value)) return value.map(put);
    if (!isFields(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, put(one)]));
  };
  const plan = put(draft.plan) as Fields;
  const head = withField(headOf(draft), "params", Object.keys(rest).length ? rest : undefined);
  const bare = !textOf(head.name) && !("params" in head);
  return { head: bare ? null : head, plan };
}

export function headOf(draft: Draft): Fields {
  return draft.head ?? { starloom_recipe: 1, name: "", title: textOf(draft.plan.name), version: 1 };
}

function looksSecret(name: string, value: Json): boolean {
  if (typeof value !== "string" || !value || HASH.test(value)) return false;
  return SECRET_NAMES.test(name) || SECRET_VALUES.test(value);
}

/** Takes out every constant that looks like a secret; says the names under which their values must be set. */
export function withoutSecrets(draft: Draft): { draft: Draft; secrets: string[] } {
  const secrets: string[] = [];
  const walk = (value: Json, name: string): Json => {
    const node = nodeOf(value, "secret");
    if (node !== null) {
      if (!secrets.includes(node)) secrets.push(node);
      return value;
    }
    if (looksSecret(name, value)) {
      const free = freeName(secrets, name);
      secrets.push(free);
      return { secret: free };
    }
    if (Array.isArray(value)) return value.map((one) => walk(one, name));
    if (!isFields(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, walk(one, key)]));
  };
  const tasks = tasksOf(draft.plan).map((task) =>
    isFields(task.args) ? { ...task, args: walk(task.args, "") } : task,
  );
  return { draft: secrets.length ? { ...draft, plan: { ...draft.plan, tasks } } : draft, secrets };
}
