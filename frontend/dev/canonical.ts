/**
 * The bytes of a record and the hash of a state, equal to those of `starloom_protocol.stream.feed`.
 * A record's text is JSON with its keys in code point order; the hash is a sum, so its order does not matter.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import type { Entity } from "../src/model/types.ts";

const encoder = new TextEncoder();
const MODULUS = 1n << 256n;

function byCodePoint(a: string, b: string): number {
  // UTF-16 order and code point order differ only above the BMP, where surrogates sort below U+E000.
  const left = Array.from(a, (char) => char.codePointAt(0) ?? 0);
  const right = Array.from(b, (char) => char.codePointAt(0) ?? 0);
  for (let i = 0; i < Math.min(left.length, right.length); i += 1) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** The canonical text of a record. State holds no floats, so numbers need no rule of their own. */
export function recordText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(recordText).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const fields = value as Record<string, unknown>;
    const keys = Object.keys(fields).sort(byCodePoint);
    return `{${keys.map((key) => `${JSON.stringify(key)}:${recordText(fields[key])}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

/** The share of one entity in the hash of its stream. */
function entityDigest(key: string, entity: Entity): bigint {
  const digest = sha256(encoder.encode(`${key}\0${recordText(entity)}`));
  let hex = "0x";
  for (const byte of digest) hex += byte.toString(16).padStart(2, "0");
  return BigInt(hex);
}

/** The hash of a whole state as 64 hexadecimal digits. */
export function stateHash(entities: ReadonlyMap<string, Entity>): string {
  let total = 0n;
  for (const [key, entity] of entities) total += entityDigest(key, entity);
  return (total % MODULUS).toString(16).padStart(64, "0");
}
