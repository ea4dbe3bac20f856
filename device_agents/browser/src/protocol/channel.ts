/**
 * What the two sides of a connection sign and derive, so that each knows the other and nobody speaks between them.
 *
 * The twin of `starloom_protocol.wire.channel`, held to it by the same golden example. The seal of a message is the HMAC of
 * its text under the key of its direction, in hexadecimal digits behind the text.
 */
import { ed25519, x25519 } from "@noble/curves/ed25519.js";
import { hkdf } from "@noble/hashes/hkdf.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import type { Challenge, Hello } from "../generated/protocol.ts";
import { fromBase64, hex, toBase64 } from "./proof.ts";
import { canonical } from "./values.ts";

const SEAL_CHARS = 32;
export const ANSWER_PROOF = "starloom-proof";
const encoder = new TextEncoder();

/** `agent` seals what the agent says, `hub` what the hub says, `http` proves requests. */
export interface ChannelKeys {
  agent: Uint8Array;
  http: Uint8Array;
  hub: Uint8Array;
}

/** The hash of what both sides have said; the signature of the challenge does not count. */
export function transcript(hello: Hello, challenge: Challenge): Uint8Array {
  const { signature: _, ...unsigned } = challenge;
  return sha256(encoder.encode(`starloom/aip/handshake\n${canonical({ challenge: unsigned, hello })}`));
}

/** The bytes that the hub signs. */
export function hubProof(script: Uint8Array): Uint8Array<ArrayBuffer> {
  return joined("starloom/aip/hub\n", script);
}

/** The bytes that an agent signs: bound to the transcript and to the hub's signature of it. */
export function deviceProof(script: Uint8Array, hubSignature: string): Uint8Array<ArrayBuffer> {
  return joined("starloom/aip/device\n", script, encoder.encode(hubSignature));
}

export function channelKeys(secret: Uint8Array, script: Uint8Array): ChannelKeys {
  const key = (label: string) => hkdf(sha256, secret, script, encoder.encode(`starloom/aip/${label}`), 32);
  return { agent: key("agent"), http: key("http"), hub: key("hub") };
}

export function seal(key: Uint8Array, text: string): string {
  return text + hex(hmac(sha256, key, encoder.encode(text))).slice(0, SEAL_CHARS);
}

/** The text of a sealed message, or null if the seal is not that of the key. */
export function unseal(key: Uint8Array, message: string): string | null {
  const text = message.slice(0, -SEAL_CHARS);
  return seal(key, text) === message ? text : null;
}

interface Asked {
  offset?: string;
  length?: string;
  /** The Range. */
  span?: string;
}

/** What proves one request for an artifact; all are the headers' own text. */
export function requestProof(key: Uint8Array, method: string, hash: string, bytes: Asked = {}): string {
  const { offset = "", length = "", span = "" } = bytes;
  return mac(key, ["starloom/aip/request", method, hash, offset, length, span]);
}

/** What proves the hub's answer to the request of this proof; `offset` is its Upload-Offset or "". */
export function answerProof(key: Uint8Array, request: string, status: number, offset: string): string {
  return mac(key, ["starloom/aip/answer", request, String(status), offset]);
}

/** One side's half of a connection's key agreement; made for one connection and used once. */
export class KeyShare {
  readonly #secret = x25519.utils.randomSecretKey();
  readonly text = toBase64(x25519.getPublicKey(this.#secret));

  /** The secret shared with the peer's key share (base64), or null if that is none. */
  secretWith(other: string): Uint8Array | null {
    try {
      return x25519.getSharedSecret(this.#secret, fromBase64(other));
    } catch {
      return null;
    }
  }
}

/** Whether the signature (base64) of `data` was made by the Ed25519 key (base64). */
export function signedBy(key: string, signature: string, data: Uint8Array): boolean {
  try {
    return ed25519.verify(fromBase64(signature), data, fromBase64(key));
  } catch {
    return false;
  }
}

function mac(key: Uint8Array, parts: string[]): string {
  return hex(hmac(sha256, key, encoder.encode(parts.join("\n"))));
}

function joined(label: string, ...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = [encoder.encode(label), ...parts];
  const whole = new Uint8Array(all.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of all) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
