/** An example fits the schema that it was made from, for every tool that both ends know, and no schema breaks it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Json } from "../document.ts";
import { branches } from "../sample.ts";
import { exampleOf } from "./example.ts";

type Schema = { [name: string]: unknown };

const RESULTS = join(process.cwd(), "..", "protocol", "starloom_protocol", "tools", "results.json");
const SCHEMAS = JSON.parse(readFileSync(RESULTS, "utf8")) as { [tool: string]: Schema };

const KINDS: { [type: string]: (value: Json) => boolean } = {
  array: Array.isArray,
  boolean: (value) => typeof value === "boolean",
  integer: Number.isInteger,
  null: (value) => value === null,
  number: (value) => typeof value === "number",
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  string: (value) => typeof value === "string",
};
const KNOWN = new Set(
  "$defs $ref additionalProperties anyOf description enum items maxLength minimum pattern properties required title type".split(
    " ",
  ),
);

/** The places where a value does not fit; a keyword that is not looked at here is one, too. */
function misfits(schema: Schema, value: Json, defs: Schema, place = ""): string[] {
  const strange = Object.keys(schema).filter((name) => !KNOWN.has(name));
  if (strange.length) return [`${place}: ${strange.join()}`];
  if (typeof schema.$ref === "string")
    return misfits(defs[schema.$ref.replace("#/$defs/", "")] as Schema, value, defs, place);
  const choices = schema.anyOf as Schema[] | undefined;
  if (choices) return choices.some((one) => !misfits(one, value, defs).length) ? [] : [`${place}: none of anyOf`];
  if (Array.isArray(schema.enum)) return schema.enum.includes(value) ? [] : [`${place}: not in enum`];
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length && !types.some((one) => KINDS[String(one)]?.(value))) return [`${place}: no ${types.join()}`];
  if (typeof schema.pattern === "string" && !new RegExp(schema.pattern).test(String(value)))
    return [`${place}: pattern`];
  if (Array.isArray(value))
    return value.flatMap((one) => misfits((schema.items ?? {}) as Schema, one, defs, `${place}/0`));
  if (!KINDS.object?.(value)) return [];
  const fields = value as { [name: string]: Json };
  const known = (schema.properties ?? {}) as { [name: string]: Schema };
  const absent = ((schema.required ?? []) as string[]).filter((name) => !(name in fields));
  const inside = Object.entries(fields).flatMap(([name, one]) =>
    misfits(known[name] ?? {}, one, defs, `${place}/${name}`),
  );
  return [...absent.map((name) => `${place}/${name}: absent`), ...inside];
}

describe.each(Object.keys(SCHEMAS))("%s", (tool) => {
  it("has an example that fits its schema", () => {
    const schema = SCHEMAS[tool] as Schema;
    const example = exampleOf(schema);
    expect(misfits(schema, example, (schema.$defs ?? {}) as Schema)).toEqual([]);
    expect(branches(example).length).toBeGreaterThan(1);
  });
});

describe("a schema from a device", () => {
  const text = { type: "string" };

  it("that never ends is cut", () => {
    const node = { type: "object", properties: { next: { $ref: "#/$defs/Node" }, name: text } };
    const made = JSON.stringify(exampleOf({ $defs: { Node: node }, $ref: "#/$defs/Node" }));
    expect(made.length).toBeLessThan(1000);
    expect(exampleOf({ $defs: { A: { $ref: "#/$defs/A" } }, $ref: "#/$defs/A" })).toBeNull();
  });

  it("that is wide is cut", () => {
    const wide = (depth: number): Schema =>
      depth === 0
        ? text
        : {
            type: "object",
            properties: Object.fromEntries([...Array(30).keys()].map((n) => [`f${n}`, wide(depth - 1)])),
          };
    expect(JSON.stringify(exampleOf(wide(3))).length).toBeLessThan(20_000);
  });

  it("has fields of any name", () => {
    const properties = JSON.parse('{"__proto__": {"type": "string"}, "constructor": {"type": "integer"}}') as Schema;
    const made = exampleOf({ type: "object", properties }) as { [name: string]: Json };
    expect(Object.keys(made).sort()).toEqual(["__proto__", "constructor"]);
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
    expect(exampleOf({ $defs: {}, $ref: "#/$defs/constructor" })).toBeNull();
  });

  it("prefers what can be pointed into, and anything to nothing", () => {
    expect(exampleOf({ anyOf: [{ type: "null" }, text] })).toBe("…");
    expect(exampleOf({ anyOf: [text, { type: "array", items: { type: "integer" } }] })).toEqual([1]);
    expect(exampleOf({ type: ["null", "boolean"] })).toBe(true);
    expect(exampleOf({ type: "integer", minimum: 7 })).toBe(7);
    expect(exampleOf({ enum: ["fast", "safe"] })).toBe("fast");
  });

  it("that is none gives nothing", () => {
    for (const none of [null, true, [], "x", 1, { type: "file" }, { type: "object", properties: 3 }])
      expect([null, {}]).toContainEqual(exampleOf(none));
  });
});
