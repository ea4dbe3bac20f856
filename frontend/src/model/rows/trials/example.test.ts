import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Fields, isFields, type Json } from "../document.ts";
import { branches } from "../sample.ts";
import { exampleOf, exampleOfText } from "./example.ts";

const FILE = new URL("../../../../../protocol/starloom_protocol/tools/results.json", import.meta.url);
const RESULTS = JSON.parse(readFileSync(FILE, "utf8")) as { [tool: string]: Fields };
const READ = "$defs $ref additionalProperties anyOf enum items pattern properties required type".split(" ");

/** Tells why a value does not fit a schema, for the words of JSON schema that the results of the tools use. */
function faults(value: Json | undefined, schema: Json, root: Fields, at = ""): string[] {
  if (!isFields(schema)) return [];
  const unread = Object.keys(schema).filter((word) => !READ.includes(word));
  if (unread.length) return [`${at}: this test does not read ${unread}`];
  if (typeof schema.$ref === "string") {
    const inside = (root.$defs as Fields)[schema.$ref.replace("#/$defs/", "")];
    return inside ? faults(value, inside, root, at) : [`${at}: no ${schema.$ref}`];
  }
  if (Array.isArray(schema.anyOf))
    return schema.anyOf.some((form) => !faults(value, form, root, at).length) ? [] : [`${at}: fits no form`];
  if (Array.isArray(schema.enum)) return schema.enum.includes(value as Json) ? [] : [`${at}: ${value}`];
  if (typeof schema.type === "string" && !typed(value, schema.type)) return [`${at}: is no ${schema.type}`];
  if (typeof schema.pattern === "string" && !new RegExp(schema.pattern).test(String(value))) return [`${at}: ${value}`];
  if (Array.isArray(value)) return value.flatMap((one) => faults(one, schema.items ?? {}, root, `${at}/0`));
  if (!isFields(value)) return [];
  const known = isFields(schema.properties) ? schema.properties : {};
  const lacking = ((schema.required ?? []) as string[]).filter((name) => !(name in value));
  const more = Object.keys(value).filter((name) => schema.additionalProperties === false && !(name in known));
  const inside = Object.entries(value).flatMap(([name, one]) => faults(one, known[name] ?? {}, root, `${at}/${name}`));
  return [...lacking.map((name) => `${at}: lacks ${name}`), ...more.map((name) => `${at}: ${name}`), ...inside];
}

function typed(value: Json | undefined, type: string): boolean {
  if (type === "object") return isFields(value);
  if (type === "array") return Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  return type === "null" ? value === null : typeof value === type;
}

test.each(Object.keys(RESULTS))("the example of %s fits its schema", (tool) => {
  const schema = RESULTS[tool] ?? {};
  const made = exampleOf(schema);
  expect(made).toBeDefined();
  expect(faults(made, schema, schema)).toEqual([]);
});

test("the example shows fields that a result may lack, and one item of a list", () => {
  const pointers = branches(exampleOf(RESULTS["fs.write"] ?? {}) ?? null).map((one) => one.pointer);
  expect(pointers).toContain("/files/0/sha256");
  expect(pointers).toContain("/files/0/below");
});

test("enums, bounds, formats and alternatives are kept", () => {
  const properties: Fields = {
    many: { type: "array", items: { type: "integer", minimum: 5, maximum: 9 }, minItems: 2 },
    maybe: { anyOf: [{ type: "null" }, { type: "string", minLength: 6 }] },
    either: { type: ["null", "number"], exclusiveMinimum: 3 },
    low: { type: "integer", maximum: -2 },
    short: { type: "string", maxLength: 2 },
    when: { type: "string", format: "date-time" },
    fixed: { const: 7 },
    mood: { enum: ["good", "bad"] },
    any: {},
  };
  expect(exampleOf({ type: "object", properties })).toEqual({
    many: [5, 5],
    maybe: "text..",
    either: 4,
    low: -2,
    short: "te",
    when: "2026-01-31T12:00:00Z",
    fixed: 7,
    mood: "good",
    any: null,
  });
});

test("a schema that contains itself ends", () => {
  const node: Fields = {
    type: "object",
    properties: { name: { type: "string" }, inside: { type: "array", items: { $ref: "#" } } },
  };
  expect(exampleOf(node)).toEqual({ name: "text", inside: [{ name: "text", inside: [] }] });
  expect(exampleOf({ $ref: "#" })).toBeUndefined();
  const needed: Fields = { type: "object", required: ["next"], properties: { next: { $ref: "#" } } };
  expect(exampleOf(needed)).toBeUndefined();
});

test("a hostile schema gives little, soon and none of its words", () => {
  const wide: Fields = { type: "object", properties: {} };
  for (let at = 0; at < 5000; at += 1) (wide.properties as Fields)[`f${at}`] = { type: "string" };
  expect(Object.keys(exampleOf(wide) as Fields)).toHaveLength(60);
  const $defs: Fields = {};
  for (let at = 0; at < 40; at += 1) {
    const next = { $ref: `#/$defs/d${at + 1}` };
    $defs[`d${at}`] = { type: "object", properties: { a: next, b: next, c: next } };
  }
  expect(JSON.stringify(exampleOf({ $defs, $ref: "#/$defs/d0" })).length).toBeLessThan(20_000);
  const said: Fields = {
    type: "object",
    description: "RUN THIS",
    properties: { a: { type: "string", title: "RUN", default: "RUN" } },
  };
  expect(exampleOf(said)).toEqual({ a: "text" });
  const spells = '{"type":"object","properties":{"__proto__":{"type":"object","properties":{"x":{"type":"string"}}}}}';
  expect(({} as { x?: string }).x).toBeUndefined();
  expect(Object.keys(exampleOfText(spells) as Fields)).toEqual(["__proto__"]);
  expect(exampleOf({ $ref: "#/constructor" })).toBeUndefined();
  expect(exampleOf({ type: "string", pattern: "^(a+)+$" })).toBe("");
  for (const text of ["", "null", "[1", "7"]) expect(exampleOfText(text)).toBeUndefined();
});
