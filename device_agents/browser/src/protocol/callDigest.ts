/** The hash by which both sides tell two calls of one name apart. The twin of `call_digest` in `wire/frames.py`. */
import { sha256 } from "@noble/hashes/sha2.js";
import type { Dispatch } from "../generated/protocol.ts";
import { hex } from "./proof.ts";

const encoder = new TextEncoder();

function hash(text: string): string {
  return hex(sha256(encoder.encode(text)));
}

export function callDigest({ tool, args, inputs, secrets }: Pick<Dispatch, "tool" | "args" | "inputs" | "secrets">) {
  let plain = args;
  for (const handle of Object.keys(secrets ?? {})) {
    const name = handle.slice(0, Math.max(handle.lastIndexOf("#"), 0));
    plain = plain.replaceAll(JSON.stringify(handle), () => JSON.stringify(name));
  }
  const read = (inputs ?? []).map(({ name, many = false, flatten = false, parts = [] }) => [
    name,
    many,
    flatten,
    parts.map(({ artifact, output = "", value }) => [artifact || hash(value ?? ""), output]),
  ]);
  return hash(JSON.stringify([tool, plain, read]));
}
