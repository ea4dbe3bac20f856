/**
 * From inputs to arguments, from a value to what a result carries: the value rules of the contract, pure.
 * The twin of `starloom_agent.work.execution.outcomes`.
 */
import type { z } from "zod";
import type { DispatchInput } from "../generated/protocol.ts";
import {
  FACT_LIST_BYTES_MAX,
  FACT_LIST_ITEMS_MAX,
  FACT_SCALAR_BYTES_MAX,
  VALUE_DEPTH_MAX,
} from "../generated/shapes.ts";
import { canonical, type Json, MISSING, nestsTooDeep, point, utf8Length } from "../protocol/values.ts";
import { ToolFailed } from "../tools/interface.ts";

const FACTS_BYTES_MAX = 700 * 1024;

/**
 * The value of each input by name; `load` gives the JSON value of an artifact.
 * @throws ToolFailed `no_value` for a pointer that finds nothing, `not_a_list` where lists are to be joined.
 */
export async function resolveInputs(
  inputs: readonly DispatchInput[],
  load: (sha256: string) => Promise<Json>,
): Promise<Record<string, Json>> {
  const resolved: Record<string, Json> = {};
  for (const item of inputs) {
    const values: Json[] = [];
    for (const part of item.parts ?? []) {
      const whole = part.value == null && part.artifact != null ? await load(part.artifact) : parsed(part.value);
      const value = point(whole, part.output ?? "");
      if (value === MISSING) throw new ToolFailed("no_value", `input ${item.name}: ${part.output} finds nothing`);
      values.push(value);
    }
    if (item.flatten) {
      const wrong = values.find((value) => !Array.isArray(value));
      if (wrong !== undefined) throw new ToolFailed("not_a_list", `input ${item.name} holds what is no list to join`);
      resolved[item.name] = (values as Json[][]).flat();
    } else {
      resolved[item.name] = item.many ? values : (values[0] ?? null);
    }
  }
  return resolved;
}

function parsed(text: string | null | undefined): Json {
  return JSON.parse(text ?? "null") as Json;
}

/**
 * The tool's arguments: `args` with the inputs laid over them by name.
 * @throws ToolFailed `bad_arguments` with the fields at fault.
 */
export function argumentsOf<T extends z.ZodType>(kind: T, args: Json, inputs: Record<string, Json>): z.output<T> {
  const parsed = kind.safeParse({ ...(args as Record<string, Json>), ...inputs });
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join(".") || "the arguments"}: ${issue.message}`);
  throw new ToolFailed("bad_arguments", faults.join("; "));
}

/** The canonical text of what a tool returned. @throws ToolFailed if it is no JSON value or nests too deeply. */
export function canonicalValue(value: unknown): string {
  let text: string;
  try {
    text = canonical(value);
  } catch (error) {
    throw new ToolFailed("tool_failed", `the tool's value is not JSON: ${String(error)}`);
  }
  if (nestsTooDeep(text)) {
    throw new ToolFailed("tool_failed", `the tool's value nests deeper than ${VALUE_DEPTH_MAX} levels`);
  }
  return text;
}

export interface Facts {
  facts: Record<string, string>;
  facts_too_big: Record<string, number>;
}

/** The facts that the pointers find, and for those too big to carry their size in bytes: the biggest go first. */
export function factsOf(value: Json, wants: readonly string[]): Facts {
  const facts: Record<string, string> = {};
  const facts_too_big: Record<string, number> = {};
  for (const pointer of wants) {
    const part = point(value, pointer);
    if (part === MISSING) continue;
    const text = canonical(part);
    const size = utf8Length(text);
    const fits = Array.isArray(part)
      ? part.length <= FACT_LIST_ITEMS_MAX && size <= FACT_LIST_BYTES_MAX
      : size <= FACT_SCALAR_BYTES_MAX;
    if (fits) facts[pointer] = text;
    else facts_too_big[pointer] = size;
  }
  // Inside a frame the text is a JSON string: quotes and backslashes double.
  const sizes = Object.entries(facts).map(([pointer, text]) => [pointer, utf8Length(JSON.stringify(text))] as const);
  sizes.sort(([, a], [, b]) => b - a);
  let sum = sizes.reduce((total, [, size]) => total + size, 0);
  for (const [pointer, size] of sizes) {
    if (sum <= FACTS_BYTES_MAX) break;
    facts_too_big[pointer] = utf8Length(facts[pointer] ?? "");
    delete facts[pointer];
    sum -= size;
  }
  return { facts, facts_too_big };
}

/** Replace every secret value, longest first; also as it stands inside JSON text. */
export function scrub(text: string, secrets: Iterable<string>): string {
  let clean = text;
  for (const secret of [...secrets].filter(Boolean).sort((a, b) => b.length - a.length)) {
    clean = clean.replaceAll(secret, "***").replaceAll(JSON.stringify(secret).slice(1, -1), "***");
  }
  return clean;
}
