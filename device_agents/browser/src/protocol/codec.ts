/**
 * Text <-> messages of AIP, with limits; total: any text gives a message or a `ProtocolFault`.
 * The twin of `starloom_protocol.wire.codec`; the frames' shapes are generated from the same types. Everywhere `side` is
 * the side that sends the message.
 */
import {
  type AgentFrame,
  type HubFrame,
  MESSAGE_BYTES_MAX,
  PROTOCOL_VERSIONS,
  type Side,
  UNAUTHENTICATED_BYTES_MAX,
} from "../generated/protocol.ts";
import {
  AGENT_SHAPES,
  type Field,
  HUB_SHAPES,
  INLINE_VALUE_BYTES_MAX,
  type Kind,
  MESSAGE_NUMBER_MAX,
  PARTS,
  VALUE_DEPTH_MAX,
  WORDS,
} from "../generated/shapes.ts";
import { ProtocolFault } from "./faults.ts";
import { isWellFormed, nestsTooDeep, utf8Length } from "./values.ts";

export type Frame = AgentFrame | HubFrame;

export interface Message {
  f: Frame[];
  n: number;
}

const SHAPES: Record<Side, Record<string, readonly Field[]>> = { agent: AGENT_SHAPES, hub: HUB_SHAPES };
export const NEWEST: number = PROTOCOL_VERSIONS[PROTOCOL_VERSIONS.length - 1] ?? 1;

interface Terms {
  authenticated?: boolean;
  version?: number;
}

/**
 * The text of message `n`; fields that a peer of `version` cannot know are left out, and so are defaults.
 * @throws ProtocolFault `protocol_error` for no frame or one that `side` never sends; `frame_too_large`.
 */
export function encode(n: number, frames: readonly Frame[], side: Side, terms: Terms = {}): string {
  const { authenticated = true, version = NEWEST } = terms;
  if (frames.length === 0) throw new ProtocolFault("protocol_error", `message ${n} of the ${side} carries no frame`);
  const texts = frames.map((frame) => {
    const shape = shapeOf(side, frame.t);
    if (shape === undefined) throw new ProtocolFault("protocol_error", `the ${side} never sends \`${frame.t}\``);
    return writeStruct(shape, frame as unknown as Record<string, unknown>, `"t":${JSON.stringify(frame.t)}`, version);
  });
  const text = `{"f":[${texts.join(",")}],"n":${n}}`;
  refuseTooLarge(text, authenticated);
  return text;
}

/**
 * The message that `side` sent, with every default filled in.
 * @throws ProtocolFault `frame_too_large` above the limit; `protocol_error` for everything else that is no message.
 */
export function decode(text: string, side: Side, terms: { authenticated: boolean }): Message {
  refuseTooLarge(text, terms.authenticated);
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    throw notAMessage(side, String(error));
  }
  const message = readMap(raw, side, "the message");
  for (const name of Object.keys(message)) {
    if (name !== "f" && name !== "n") throw notAMessage(side, `unknown field ${name}`);
  }
  const n = read("int", message.n, side, "n") as number;
  if (n < 1 || n > MESSAGE_NUMBER_MAX) {
    throw new ProtocolFault("protocol_error", `a message has a number from 1 to ${MESSAGE_NUMBER_MAX}, not ${n}`);
  }
  if (!Array.isArray(message.f)) throw notAMessage(side, "f is not a list");
  if (message.f.length === 0) throw new ProtocolFault("protocol_error", `message ${n} of the ${side} carries no frame`);
  const f = message.f.map((item: unknown) => {
    const fields = readMap(item, side, "a frame");
    const shape = typeof fields.t === "string" ? shapeOf(side, fields.t) : undefined;
    if (shape === undefined) throw notAMessage(side, `unknown frame ${String(fields.t).slice(0, 40)}`);
    const { t, ...rest } = fields;
    const frame = { t, ...readStruct(shape, rest, side, String(t)) } as unknown as Frame;
    if (frame.t === "result" && frame.value != null) limitValue(frame.value);
    for (const [place, value] of textsOf(frame)) checkText(frame, place, value);
    return frame;
  });
  return { f, n };
}

function shapeOf(side: Side, tag: string): readonly Field[] | undefined {
  return Object.hasOwn(SHAPES[side], tag) ? SHAPES[side][tag] : undefined;
}

function writeStruct(shape: readonly Field[], value: Record<string, unknown>, first: string, version: number): string {
  const parts = first ? [first] : [];
  for (const field of shape) {
    const part = value[field.name];
    if (part === undefined || (field.since ?? 1) > version) {
      if (part === undefined && !("default" in field)) {
        throw new ProtocolFault("protocol_error", `the field ${field.name} is missing`);
      }
      continue;
    }
    if ("default" in field && isDefault(part, field.default)) continue;
    parts.push(`${JSON.stringify(field.name)}:${write(field.kind, part, version)}`);
  }
  return `{${parts.join(",")}}`;
}

function isDefault(value: unknown, other: unknown): boolean {
  if (Array.isArray(other)) return Array.isArray(value) && value.length === 0;
  if (other !== null && typeof other === "object") return Object.keys(value as object).length === 0;
  return value === other;
}

function write(kind: Kind, value: unknown, version: number): string {
  if (kind === "float") {
    const text = JSON.stringify(value);
    return /^-?[0-9]+$/.test(text) ? `${text}.0` : text;
  }
  if (typeof kind === "string" || "words" in kind) return JSON.stringify(value);
  if ("list" in kind) return `[${(value as unknown[]).map((item) => write(kind.list, item, version)).join(",")}]`;
  if ("map" in kind) {
    const entries = Object.entries(value as Record<string, unknown>).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${write(kind.map, item, version)}`).join(",")}}`;
  }
  if ("any" in kind) {
    const fits = value === null ? "null" : kind.any.find((part) => part !== "null");
    return write(fits ?? "null", value, version);
  }
  return writeStruct(PARTS[kind.struct] ?? [], value as Record<string, unknown>, "", version);
}

function readMap(value: unknown, side: Side, place: string): Record<string, unknown> {
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw notAMessage(side, `${place} is not a map`);
  }
  return value as Record<string, unknown>;
}

function readStruct(shape: readonly Field[], raw: Record<string, unknown>, side: Side, place: string) {
  const fields: Record<string, unknown> = {};
  for (const field of shape) {
    if (Object.hasOwn(raw, field.name)) {
      fields[field.name] = read(field.kind, raw[field.name], side, `${place}.${field.name}`);
    } else if ("default" in field) {
      fields[field.name] = structuredClone(field.default);
    } else {
      throw notAMessage(side, `${place} lacks ${field.name}`);
    }
  }
  const unknown = Object.keys(raw).find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined) throw notAMessage(side, `${place} has an unknown field ${unknown.slice(0, 40)}`);
  return fields;
}

function read(kind: Kind, value: unknown, side: Side, place: string): unknown {
  if (typeof kind === "string") {
    if (!isScalar(kind, value)) throw notAMessage(side, `${place} is not a ${kind}`);
    return value;
  }
  if ("list" in kind) {
    if (!Array.isArray(value)) throw notAMessage(side, `${place} is not a list`);
    return value.map((item, index) => read(kind.list, item, side, `${place}[${index}]`));
  }
  if ("map" in kind) {
    const entries = Object.entries(readMap(value, side, place));
    if (entries.some(([key]) => !isWellFormed(key))) throw notAMessage(side, `${place} has half a character in a key`);
    return Object.fromEntries(entries.map(([key, item]) => [key, read(kind.map, item, side, `${place}.${key}`)]));
  }
  if ("words" in kind) {
    if (!(WORDS[kind.words] ?? []).includes(value as string)) throw notAMessage(side, `${place}: no ${kind.words}`);
    return value;
  }
  if ("any" in kind) {
    if (value === null && kind.any.includes("null")) return null;
    const part = kind.any.find((item) => item !== "null");
    return read(part ?? "null", value, side, place);
  }
  return readStruct(PARTS[kind.struct] ?? [], readMap(value, side, place), side, place);
}

function isScalar(kind: string, value: unknown): boolean {
  switch (kind) {
    case "bool":
      return typeof value === "boolean";
    case "int":
      return Number.isSafeInteger(value);
    case "float":
      return typeof value === "number" && Number.isFinite(value);
    case "str":
      return typeof value === "string" && isWellFormed(value);
    default:
      return value === null;
  }
}

function notAMessage(side: Side, why: string): ProtocolFault {
  return new ProtocolFault("protocol_error", `not a message of the ${side}: ${why}`);
}

function refuseTooLarge(text: string, authenticated: boolean): void {
  const limit = authenticated ? MESSAGE_BYTES_MAX : UNAUTHENTICATED_BYTES_MAX;
  // A text has at least as many bytes as units, so only those that might fit are encoded to be measured.
  const size = text.length > limit ? text.length : utf8Length(text);
  if (size > limit) {
    const when = authenticated ? "after" : "before";
    throw new ProtocolFault(
      "frame_too_large",
      `a message has at most ${limit} bytes ${when} authentication, this one ${size}`,
    );
  }
}

function* textsOf(frame: Frame): Generator<[string, string]> {
  switch (frame.t) {
    case "result":
      if (frame.value != null) yield ["value", frame.value];
      yield* factsOf(frame.facts);
      return;
    case "facts":
      yield* factsOf(frame.facts);
      return;
    case "dispatch":
      yield ["args", frame.args];
      for (const item of frame.inputs ?? []) {
        for (const part of item.parts ?? []) if (part.value != null) yield [`inputs[${item.name}]`, part.value];
      }
      return;
    case "offer":
      for (const tool of frame.offer.tools ?? []) yield [`offer.tools[${tool.name}].args`, tool.args ?? "{}"];
  }
}

function limitValue(text: string): void {
  const size = new TextEncoder().encode(text).length;
  if (size > INLINE_VALUE_BYTES_MAX) {
    throw new ProtocolFault(
      "frame_too_large",
      `\`result.value\` has at most ${INLINE_VALUE_BYTES_MAX} bytes, this one ${size}; a longer value is an artifact`,
    );
  }
}

function* factsOf(facts: Record<string, string> | undefined): Generator<[string, string]> {
  for (const [pointer, text] of Object.entries(facts ?? {})) yield [`facts[${pointer}]`, text];
}

function checkText(frame: Frame, place: string, text: string): void {
  try {
    JSON.parse(text);
  } catch (error) {
    throw new ProtocolFault("protocol_error", `\`${frame.t}.${place}\` is not JSON text: ${String(error)}`);
  }
  if (nestsTooDeep(text)) {
    throw new ProtocolFault("protocol_error", `\`${frame.t}.${place}\` nests deeper than ${VALUE_DEPTH_MAX} levels`);
  }
}
