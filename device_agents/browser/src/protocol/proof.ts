/**
 * What both sides derive from keys: the id of a device, the bytes by which it leaves, the six words of a pairing.
 * SHA-256 is the library's, because the browser's own is missing outside a secure context.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { SHORT_WORDS } from "../generated/protocol.ts";
import { canonical } from "./values.ts";

const encoder = new TextEncoder();
const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

/** The bytes that a device signs so that its hub lets it go. */
export function leaveRequest(fields: { device: string; hub: string; nonce: string }): Uint8Array<ArrayBuffer> {
  const { device, hub, nonce } = fields;
  return encoder.encode(`starloom/aip/leave/request\n${canonical({ device, hub, nonce })}`);
}

/** The bytes that the hub signs of its answer to that request. */
export function leaveAnswer(fields: { answer: unknown; device: string; hub: string; nonce: string }): Uint8Array {
  const { answer, device, hub, nonce } = fields;
  return encoder.encode(`starloom/aip/leave/answer\n${canonical({ answer, device, hub, nonce })}`);
}

/** The id of the device with this Ed25519 public key (32 raw bytes): 130 bits of its SHA-256. */
export function deviceId(publicKey: Uint8Array): string {
  const digest = sha256(joined(encoder.encode("starloom/device\n"), publicKey));
  let text = "";
  for (let place = 0; place < 26; place += 1) {
    const at = place * 5;
    const two = ((digest[at >> 3] ?? 0) << 8) | (digest[(at >> 3) + 1] ?? 0);
    text += BASE32[(two >> (11 - (at & 7))) & 31];
  }
  return `d-${text}`;
}

/** The header in which a device that joins names its rule of the words; without it the hub takes an older one. */
export const WORDS_HEADER = "X-Starloom-Words";
export const WORDS_ONCE = "once";

/**
 * The six words that both screens show at pairing; different keys show different words. No word comes twice: six of 256
 * in order are 47.9 bits.
 */
export function shortWords(hubKey: Uint8Array, deviceKey: Uint8Array, codeHash: Uint8Array): string {
  const parts: Uint8Array[] = [encoder.encode("starloom/pairing\n")];
  for (const part of [hubKey, deviceKey, codeHash]) {
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, part.length);
    parts.push(length, part);
  }
  const drawn = [...new Set(sha256(joined(...parts)))].slice(0, 6);
  return drawn.map((byte) => SHORT_WORDS[byte]).join(" ");
}

/** The hash of a join code; case, spaces and dashes do not count, and 0 and 1 are read as O and I. */
export function codeHash(code: string): Uint8Array {
  const plain = code
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]/gu, "")
    .replaceAll("0", "O")
    .replaceAll("1", "I");
  return sha256(encoder.encode(plain));
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

function joined(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
