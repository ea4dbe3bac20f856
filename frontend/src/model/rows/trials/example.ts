/**
 * A value as a tool would give it, made from the JSON schema of its result. It shows which fields there are; its values
 * exist nowhere and are never handed to a device. A device may write the schema: only its form is read, never its words,
 * and every part of the reading is bounded.
 */
import { type Fields, isFields, type Json, textOf } from "../document.ts";

const DEPTH_MOST = 8;
const PARTS_MOST = 600;
const FIELDS_MOST = 60;
const ITEMS_MOST = 3;
const TEXT_MOST = 200;
const TEXT = "text";
const HASH = "9c41e07a".repeat(8);
const HASH_PATTERN = /^\^\(?\[0-9a-f\]\{64\}\)?\??\$$/;
const FORMATS: { [format: string]: string } = {
  date: "2026-01-31",
  "date-time": "2026-01-31T12:00:00Z",
  email: "name@example.org",
  time: "12:00:00Z",
  uri: "https://example.org/",
  uuid: "123e4567-e89b-42d3-a456-426614174000",
};

/** An example of what a schema describes; undefined where none can be made. */
export function exampleOf(schema: Json): Json | undefined {
  return isFields(schema) ? new Making(schema).value(schema, 0, []) : undefined;
}

/** The example of a schema's text; undefined where the text is none. */
export function exampleOfText(text: string): Json | undefined {
  try {
    return exampleOf(JSON.parse(text) as Json);
  } catch {
    return undefined;
  }
}

class Making {
  private parts = 0;

  constructor(private readonly root: Fields) {}

  /** `seen` holds the references that lead here: a schema that contains itself ends there. */
  value(given: Json | undefined, depth: number, seen: readonly string[]): Json | undefined {
    this.parts += 1;
    if (this.parts > PARTS_MOST || depth > DEPTH_MOST) return undefined;
    if (given === true) return null;
    if (!isFields(given)) return undefined;
    if (typeof given.$ref === "string") {
      const inside = seen.includes(given.$ref) ? undefined : this.referred(given.$ref);
      return inside && this.value(inside, depth, [...seen, given.$ref]);
    }
    if ("const" in given) return given.const;
    if (Array.isArray(given.enum)) return given.enum[0];
    const forms = [given.anyOf, given.oneOf, given.allOf].find((one) => Array.isArray(one));
    return Array.isArray(forms) ? this.oneOf(forms, depth, seen) : this.plain(given, depth, seen);
  }

  private referred(name: string): Fields | undefined {
    if (!name.startsWith("#")) return undefined;
    let found: Json = this.root;
    for (const raw of name.slice(1).split("/").slice(1)) {
      const step = raw.replaceAll("~1", "/").replaceAll("~0", "~");
      if (!isFields(found) || !Object.hasOwn(found, step)) return undefined;
      found = found[step] ?? null;
    }
    return isFields(found) ? found : undefined;
  }

  /** The alternative that shows the most: nothing is chosen last. */
  private oneOf(forms: readonly Json[], depth: number, seen: readonly string[]): Json | undefined {
    let nothing: Json | undefined;
    for (const form of forms.slice(0, FIELDS_MOST)) {
      const made = this.value(form, depth, seen);
      if (made !== undefined && made !== null) return made;
      if (made === null) nothing = null;
    }
    return nothing;
  }

  private plain(schema: Fields, depth: number, seen: readonly string[]): Json | undefined {
    const types = Array.isArray(schema.type) ? schema.type : [schema.type];
    const type = types.find((one) => one !== "null") ?? types[0] ?? (isFields(schema.properties) ? "object" : "");
    switch (type) {
      case "object":
        return this.map(schema, depth, seen);
      case "array":
        return this.list(schema, depth, seen);
      case "string":
        return text(schema);
      case "boolean":
        return true;
      case "integer":
      case "number":
        return number(schema);
      default:
        return null;
    }
  }

  private map(schema: Fields, depth: number, seen: readonly string[]): Json | undefined {
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const properties = isFields(schema.properties) ? Object.entries(schema.properties) : [];
    // A required field comes first, so that the bound leaves out only what a result may lack.
    properties.sort(([a], [b]) => Number(required.has(b)) - Number(required.has(a)));
    const made: [string, Json][] = [];
    for (const [name, property] of properties.slice(0, FIELDS_MOST)) {
      const value = name.length > TEXT_MOST ? undefined : this.value(property, depth + 1, seen);
      if (value !== undefined) made.push([name, value]);
      else if (required.has(name)) return undefined;
    }
    return Object.fromEntries(made);
  }

  private list(schema: Fields, depth: number, seen: readonly string[]): Json | undefined {
    const least = whole(schema.minItems) ?? 0;
    const most = whole(schema.maxItems) ?? ITEMS_MOST;
    const item = most === 0 ? undefined : this.value(schema.items ?? true, depth + 1, seen);
    if (item === undefined) return least > 0 ? undefined : [];
    return Array.from({ length: Math.min(Math.max(1, least), ITEMS_MOST) }, () => item);
  }
}

const whole = (value: Json | undefined): number | null => (typeof value === "number" && value >= 0 ? value : null);

/** A pattern is never run, as one that a device wrote could run without end. */
function text(schema: Fields): string {
  if (typeof schema.pattern === "string") return HASH_PATTERN.test(schema.pattern) ? HASH : "";
  const format = textOf(schema.format);
  const made = Object.hasOwn(FORMATS, format) ? (FORMATS[format] ?? TEXT) : TEXT;
  const least = Math.min(whole(schema.minLength) ?? 0, TEXT_MOST);
  return made.padEnd(least, ".").slice(0, whole(schema.maxLength) ?? TEXT_MOST);
}

function number(schema: Fields): number {
  const over = typeof schema.exclusiveMinimum === "number" ? schema.exclusiveMinimum + 1 : 1;
  const least = typeof schema.minimum === "number" ? schema.minimum : over;
  const made = Math.max(1, over, least);
  return typeof schema.maximum === "number" && made > schema.maximum ? schema.maximum : made;
}
