/**
 * A tool's JSON schema as fields of a form, and what is wrong with arguments. Reads the part of JSON schema that
 * tools offer; what it does not understand it takes as any JSON, so that it never refuses more than the device would.
 */
import { numberIn, outOf } from "../words/exact.ts";
import { type Fields, isFields, type Json, list, textOf } from "./document.ts";

type FieldKind = "text" | "number" | "yes_no" | "choice" | "words" | "choices" | "json";

export interface Field {
  name: string;
  /** What the form calls it, where its name alone is a word of programmers. */
  title?: string;
  kind: FieldKind;
  required: boolean;
  /** What it is when it is left out. */
  absent?: Json;
  choices: string[];
  least?: number;
  most?: number;
  whole: boolean;
}

export interface Form {
  about: string;
  fields: Field[];
  /** Whether other names are refused. */
  closed: boolean;
}

const cache = new Map<string, Form>();
const CACHE_MOST = 400;

/** The form of a schema's text as a device offers it. */
export function formOf(schema: string): Form {
  const held = cache.get(schema);
  if (held) return held;
  if (cache.size > CACHE_MOST) cache.clear();
  const form = read(schema);
  cache.set(schema, form);
  return form;
}

function read(text: string): Form {
  let root: Json;
  try {
    root = JSON.parse(text) as Json;
  } catch {
    return { about: "", fields: [], closed: false };
  }
  if (!isFields(root)) return { about: "", fields: [], closed: false };
  const object = resolved(root, root);
  const properties = isFields(object.properties) ? object.properties : {};
  const required = new Set(list(object, "required"));
  const fields = Object.entries(properties).map(([name, schema]) => {
    const field = fieldOf(name, isFields(schema) ? resolved(schema, root) : {}, required.has(name), root);
    const title = titles(properties)[name];
    return title ? { ...field, title: `${title} (${name})` } : field;
  });
  // Schemas travel in canonical form, so their order says nothing: what people set most stands first.
  fields.sort((a, b) => place(a) - place(b));
  return { about: textOf(object.description), fields, closed: object.additionalProperties === false };
}

const FIRST =
  "what root path paths folder under to url host argv code text words pattern kinds contains rows by where".split(" ");
const LAST = "hidden limit timeout_s accept any_exit missing device_name".split(" ");

/** A setting beside the matter of a tool: no value of an earlier row is meant for it unless a person says so. */
export const isAside = (field: Field): boolean => LAST.includes(field.name);

function place(field: Field): number {
  const first = FIRST.indexOf(field.name);
  const last = LAST.indexOf(field.name);
  return (field.required ? 0 : 100) + (first >= 0 ? first : last >= 0 ? 60 + last : 50);
}

function resolved(schema: Fields, root: Fields): Fields {
  const ref = textOf(schema.$ref);
  if (!ref.startsWith("#/$defs/") || !isFields(root.$defs)) return schema;
  const found = root.$defs[ref.slice(8)];
  return isFields(found) ? { ...found, ...withoutRef(schema) } : schema;
}

const withoutRef = ({ $ref: _ref, ...rest }: Fields): Fields => rest;

function fieldOf(name: string, given: Fields, required: boolean, root: Fields): Field {
  // `a text or nothing` is a text; of several real alternatives any JSON is taken.
  const real = list(given, "anyOf")
    .filter(isFields)
    .filter((one) => one.type !== "null");
  const schema = real.length === 1 && real[0] ? { ...resolved(real[0], root), default: given.default ?? null } : given;
  const field: Field = { name, kind: "json", required, choices: [], whole: schema.type === "integer" };
  if (given.default !== undefined) field.absent = given.default;
  if (typeof schema.minimum === "number") field.least = schema.minimum;
  if (typeof schema.maximum === "number") field.most = schema.maximum;
  if (Array.isArray(schema.enum)) {
    field.kind = "choice";
    field.choices = schema.enum.map(String);
  } else if (schema.type === "string" || (real.length > 1 && real.some((one) => one.type === "string"))) {
    field.kind = "text";
  } else if (schema.type === "boolean") field.kind = "yes_no";
  else if (schema.type === "integer" || schema.type === "number") field.kind = "number";
  else if (schema.type === "array" && isFields(schema.items)) {
    const items = resolved(schema.items, root);
    if (Array.isArray(items.enum)) {
      field.kind = "choices";
      field.choices = items.enum.map(String);
    } else if (items.type === "string") field.kind = "words";
  }
  return field;
}

/** Why a value does not fit its field; null when it does, or when it is decided only at run time. */
export function wrongWith(field: Field, value: Json): string | null {
  if (isFields(value) && Object.keys(value).length === 1 && ["param", "each", "secret"].some((node) => node in value))
    return null;
  switch (field.kind) {
    case "number":
      if (typeof value === "number") return outOf(value, field);
      return (typeof value === "string" && numberIn(value).fault) || "needs a number";
    case "yes_no":
      return typeof value === "boolean" ? null : "is yes or no";
    case "choice":
      return field.choices.includes(String(value)) ? null : `is one of ${field.choices.filter(Boolean).join(", ")}`;
    case "words":
    case "choices":
      return Array.isArray(value) ? null : "is a list";
    default:
      return null;
  }
}

/** The label of a name: `newer_than` is `newer than`. */
export const labelOf = (name: string): string => name.replaceAll("_", " ");

/** The label of a field in a form: `variables (env)`, so that plans and the docs are read with the same word. */
export const titleOf = (field: Field): string => field.title ?? labelOf(field.name);

/** Words for names that only programmers know. A tool that is given `code` starts that, so `argv` is no command. */
function titles(properties: Fields): Record<string, string> {
  const argv = "code" in properties ? "arguments" : "command";
  return { any_exit: "take any exit code", argv, cwd: "folder", env: "variables", stdin: "input text" };
}

/** What fields of many tools are for; the words of a tool about its own field come first. */
const ABOUT: Record<string, string> = {
  argv: "The program and its arguments.",
  cwd: "The folder in which it runs.",
  any_exit: "Any exit code counts as success; without it another one than 0 fails the task.",
  env: "Variables of its environment, by name; for a password or a key choose a secret.",
  device_name: "A name that stands in each row of the result.",
  hidden: "Also files whose name begins with a dot.",
  host: "The computer, by its name or address.",
  limit: "At most so many results.",
  max_bytes: "Nothing larger, in bytes.",
  min_bytes: "Nothing smaller, in bytes.",
  missing: "Whether a folder that is not there is a fault.",
  path: "The file or folder on the device.",
  pattern: "The form of the name, such as *.csv.",
  port: "The number of the port.",
  root: "The folder to look in.",
  stdin: "The text that the program reads.",
  timeout_s: "It is ended after so many seconds.",
  to: "Where the result is put on the device.",
  url: "The address of the page.",
  within_s: "It waits at most so many seconds.",
};

/** A field in a sentence: from its tool's own description where that begins with its name, else from what is usual. */
export function aboutOf(form: Form, name: string): string {
  const fields = new Set(form.fields.map((field) => field.name));
  const clauses = form.about.replaceAll(/\s+/g, " ").split(/(?<=[.;]) (?=[`A-Z])/);
  const own = clauses.find((clause) => leading(clause, fields).includes(name));
  if (name === "argv" && fields.has("code"))
    return "Words that the program is given, one a line: sys.argv[1:] in Python.";
  const said = own
    ?.replaceAll(/`([^`]+)`/g, (_, word: string) => (fields.has(word) ? labelOf(word) : word))
    .replace(/[.;]$/, "");
  if (said) return `${said.charAt(0).toUpperCase()}${said.slice(1)}.`;
  return ABOUT[name] ?? "";
}

/** The fields that a clause begins with: `newer_than` and `older_than` are an age. */
function leading(clause: string, fields: ReadonlySet<string>): string[] {
  const start = /^(?:Without |With )?((?:`[a-z_]+`(?:, | and | or )?)+)/.exec(clause)?.[1] ?? "";
  return [...start.matchAll(/`([a-z_]+)`/g)].map((found) => found[1] ?? "").filter((one) => fields.has(one));
}
