/**
 * The document that rows, graph and text show: a plan, or a recipe that holds one. It is kept as it was written; a
 * field that no row shows is carried along untouched. Values only: no React, no text, no fleet.
 */
import { parseKept } from "../words/exact.ts";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Fields = { [name: string]: Json };

/** A plan, with the head of a recipe around it as soon as it has parameters or a name to be found by. */
export interface Draft {
  head: Fields | null;
  plan: Fields;
}

export const EMPTY: Draft = { head: null, plan: { starloom: 1, name: "New plan", tasks: [] } };
const HEAD = "starloom_recipe";

export const isFields = (value: unknown): value is Fields =>
  value !== null && typeof value === "object" && !Array.isArray(value);

/** Equal as JSON, whatever the order of names. */
export function same(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((one, at) => same(one, b[at]));
  if (!isFields(a) || !isFields(b)) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => name in b && same(a[name], b[name]));
}

/** Reads a document: a recipe is told by its first field. */
export function draftOf(document: Fields): Draft {
  if (!(HEAD in document)) return { head: null, plan: document };
  const { plan, ...head } = document;
  return { head, plan: isFields(plan) ? plan : {} };
}

/** Writes the document again; the fields of a recipe's plan stand after its head. */
export function documentOf(draft: Draft): Fields {
  if (!draft.head) return draft.plan;
  const { test, ...head } = draft.head;
  return { ...head, plan: draft.plan, ...(test === undefined ? {} : { test }) };
}

export function list(fields: Fields, name: string): Json[] {
  const found = fields[name];
  return Array.isArray(found) ? found : [];
}

export function tasksOf(plan: Fields): Fields[] {
  return list(plan, "tasks").filter(isFields);
}

export const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "");

export const idOf = (task: Fields): string => textOf(task.id);

export function taskOf(plan: Fields, id: string): Fields | undefined {
  return tasksOf(plan).find((task) => idOf(task) === id);
}

/** The same fields without those that are undefined, empty lists or empty maps. */
export function trimmed(fields: { [name: string]: Json | undefined }): Fields {
  const kept: Fields = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (Array.isArray(value) && value.length === 0) continue;
    if (isFields(value) && Object.keys(value).length === 0) continue;
    kept[name] = value;
  }
  return kept;
}

export function withField(fields: Fields, name: string, value: Json | undefined): Fields {
  if (value !== undefined) return { ...fields, [name]: value };
  const { [name]: _gone, ...kept } = fields;
  return kept;
}

/** The parameters of a recipe by name. */
export function paramsOf(draft: Draft): { [name: string]: Fields } {
  const found = draft.head?.params;
  return isFields(found) ? (found as { [name: string]: Fields }) : {};
}

/** The values under which the plan is shown: each parameter's default. */
export function defaultsOf(draft: Draft): Fields {
  const values: Fields = {};
  for (const [name, param] of Object.entries(paramsOf(draft))) values[name] = param.default ?? null;
  return values;
}

/** Replaces values from the inside out; `change` sees each value after its parts. */
export function mapped(value: Json, change: (value: Json) => Json): Json {
  if (Array.isArray(value)) return change(value.map((one) => mapped(one, change)));
  if (!isFields(value)) return change(value);
  return change(Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mapped(one, change)])));
}

/** The name in a value node such as `{param: name}`; null for any other value. */
export function nodeOf(value: Json | undefined, kind: "param" | "each" | "secret"): string | null {
  if (!isFields(value)) return null;
  const name = value[kind];
  return typeof name === "string" && Object.keys(value).length === 1 ? name : null;
}

/** Words as a name: small letters without their accents and digits, joined by hyphens. `Große Kiste` keeps its letters. */
export const slug = (words: string): string =>
  words
    .toLowerCase()
    .replaceAll("ß", "ss")
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");

/** The address of a recipe's page whose form has these values. */
export const recipeWith = (name: string, values: Fields): string =>
  `/recipes/${name}?${new URLSearchParams({ values: JSON.stringify(values) })}`;

/** The values in a text of the address; none where somebody wrote another one there. */
export function valuesIn(text: string | null): Fields {
  try {
    const read = parseKept(text ?? "{}");
    return isFields(read) ? read : {};
  } catch {
    return {};
  }
}
