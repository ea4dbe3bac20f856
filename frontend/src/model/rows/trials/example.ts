/**
 * An example of what a tool gives, made from the schema of its result. Its values exist nowhere; it says which fields
 * there are and of which kind. The schema comes from a device: its depth and size are bounded, and its texts are not used.
 */
import type { Json } from "../document.ts";

type Schema = { [name: string]: unknown };

const DEPTH_MOST = 8;
const PARTS_MOST = 400;
const HASH = "9c41e07a".repeat(8);

const isSchema = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An example that the schema allows; null where it allows no more than that, or is no schema. */
export function exampleOf(schema: unknown): Json {
  if (!isSchema(schema)) return null;
  return new Maker(isSchema(schema.$defs) ? schema.$defs : {}).of(schema, 0);
}

class Maker {
  private parts = 0;
  private readonly defs: Schema;

  constructor(defs: Schema) {
    this.defs = defs;
  }

  of(schema: unknown, depth: number): Json {
    this.parts += 1;
    if (!isSchema(schema) || depth > DEPTH_MOST || this.parts > PARTS_MOST) return null;
    if (typeof schema.$ref === "string") return this.of(this.named(schema.$ref), depth + 1);
    if ("const" in schema) return schema.const as Json;
    if (Array.isArray(schema.enum)) return (schema.enum[0] ?? null) as Json;
    const choices = [schema.anyOf, schema.oneOf].find(Array.isArray) as unknown[] | undefined;
    if (choices) return this.richest(choices, depth);
    return this.ofType(schema, depth);
  }

  /** A map or a list has more to point at than a plain value, and anything more than nothing. */
  private richest(choices: unknown[], depth: number): Json {
    const made = choices.slice(0, PARTS_MOST).map((one) => this.of(one, depth + 1));
    return made.find((one) => typeof one === "object" && one !== null) ?? made.find((one) => one !== null) ?? null;
  }

  private named(ref: string): unknown {
    const name = ref.replace(/^#\/\$defs\//, "");
    return Object.hasOwn(this.defs, name) ? this.defs[name] : null;
  }

  private ofType(schema: Schema, depth: number): Json {
    const types = Array.isArray(schema.type) ? schema.type : [schema.type];
    switch (types.find((one) => one !== "null")) {
      case "object":
        return this.map(schema, depth);
      case "array":
        return [this.of(schema.items, depth + 1)];
      case "string":
        return this.text(schema);
      case "integer":
      case "number":
        return typeof schema.minimum === "number" ? Math.max(1, schema.minimum) : 1;
      case "boolean":
        return true;
      default:
        return null;
    }
  }

  /** A name such as `__proto__` is a field like any other. */
  private map(schema: Schema, depth: number): Json {
    const fields = isSchema(schema.properties) ? Object.entries(schema.properties) : [];
    return Object.fromEntries(fields.slice(0, PARTS_MOST).map(([name, one]) => [name, this.of(one, depth + 1)]));
  }

  private text(schema: Schema): string {
    if (typeof schema.pattern === "string" && schema.pattern.includes("{64}")) return HASH;
    return "…";
  }
}
