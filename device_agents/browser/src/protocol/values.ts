/**
 * Plan values: canonical JSON text (RFC 8785), JSON pointers (RFC 6901), how deeply they nest.
 * The twin of `starloom_protocol.values`. Nothing here evaluates anything.
 */
import { VALUE_DEPTH_MAX } from "../generated/shapes.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** What a pointer gives that finds nothing; `null` is a value, this is none. */
export const MISSING = Symbol("missing");

const encoder = new TextEncoder();

export function utf8Length(text: string): number {
  return encoder.encode(text).length;
}

/**
 * The RFC 8785 text of a value: JavaScript's own numbers and strings, keys in order of UTF-16 units.
 * @throws TypeError for anything that is no JSON value, NaN and infinities among it, and for lone surrogates.
 */
export function canonical(value: unknown): string {
  switch (typeof value) {
    case "boolean":
      return String(value);
    case "number":
      if (!Number.isFinite(value)) throw new TypeError("NaN and infinities are not JSON values");
      return JSON.stringify(value);
    case "string":
      if (!isWellFormed(value)) throw new TypeError("a text holds half a character");
      return JSON.stringify(value);
    case "object": {
      if (value === null) return "null";
      if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
      const fields = value as Record<string, unknown>;
      const keys = Object.keys(fields).filter((key) => fields[key] !== undefined);
      return `{${keys
        .sort()
        .map((key) => `${canonical(key)}:${canonical(fields[key])}`)
        .join(",")}}`;
    }
    default:
      throw new TypeError(`a ${typeof value} is not a JSON value`);
  }
}

/** Whether every surrogate has its other half; `String.isWellFormed` is too young to count on. */
export function isWellFormed(text: string): boolean {
  return !/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text);
}

/** Follow a JSON pointer; `""` is the whole value. */
export function point(value: Json, pointer: string): Json | typeof MISSING {
  if (pointer === "") return value;
  let part: Json = value;
  for (const step of pointer.slice(1).split("/")) {
    const token = step.replaceAll("~1", "/").replaceAll("~0", "~");
    let next: Json | undefined;
    if (Array.isArray(part)) {
      if (!/^(0|[1-9][0-9]*)$/.test(token)) return MISSING;
      next = part[Number(token)];
    } else if (part !== null && typeof part === "object") {
      if (!Object.hasOwn(part, token)) return MISSING;
      next = part[token];
    } else {
      return MISSING;
    }
    if (next === undefined) return MISSING;
    part = next;
  }
  return part;
}

/** Whether valid JSON text nests lists and maps deeper than `limit`; linear, without recursion. */
export function nestsTooDeep(text: string, limit: number = VALUE_DEPTH_MAX): boolean {
  let depth = 0;
  for (const [sign] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (sign === "[" || sign === "{") {
      depth += 1;
      if (depth > limit) return true;
    } else if (sign === "]" || sign === "}") {
      depth -= 1;
    }
  }
  return false;
}
