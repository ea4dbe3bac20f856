/**
 * Moves artifacts between this tab and the hub: HTTP, in chunks, resumed by hash, retried over cuts until the deadline.
 *
 * Bytes are never believed: what is fetched is checked against its hash. The session is that of the open connection,
 * so each try asks for it again; after a cut it waits for the next connection.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { ANSWER_PROOF, answerProof, requestProof } from "../protocol/channel.ts";
import { hex } from "../protocol/proof.ts";
import { type FileRef, type LocalFile, type Share, type Told, ToolFailed } from "../tools/interface.ts";

const CHUNK_BYTES = 256 * 1024;
const BACKOFF_S = [0.1, 0.2, 0.4, 0.8, 1.6, 3];

/** The session's name in requests, and the key that proves them and their answers; the key is never sent. */
export interface HttpSession {
  token: string;
  key: Uint8Array;
}

export interface Terms {
  /** What proves requests on the open connection; null while there is none. */
  http: () => HttpSession | null;
  /** A reading of `clock`, in seconds, after which it is not tried again. */
  deadline: number;
  clock: () => number;
  pause: (s: number, signal: AbortSignal) => Promise<void>;
  signal: AbortSignal;
  progress: (terms: Told) => void;
  log: (text: string) => void;
  request?: typeof fetch;
}

/** This try failed in a way that another may not. */
class Again extends Error {}

export async function hashBlob(blob: Blob): Promise<string> {
  const digest = sha256.create();
  for (let at = 0; at < blob.size; at += 4 * CHUNK_BYTES) {
    digest.update(new Uint8Array(await blob.slice(at, at + 4 * CHUNK_BYTES).arrayBuffer()));
  }
  return hex(digest.digest());
}

/**
 * Store a file at the hub, going on where an earlier try was cut; what the hub has already is not sent again. The
 * progress is that of all bytes of `share`.
 */
export async function put(
  file: LocalFile,
  terms: Terms,
  share: Share = { before: 0, total: file.blob.size },
): Promise<FileRef> {
  // A slow line takes seconds for the first chunk: its person sees at once that the file is on its way.
  tellSent(0, file.name, terms, share);
  const hash = await hashBlob(file.blob);
  await retry(`sending ${file.name}`, terms, () => putOnce(file, hash, terms, share));
  return { artifact: hash, bytes: file.blob.size, name: file.name, media: file.media };
}

/** The bytes of an artifact; a cut fetch goes on at the byte where it stopped. */
export async function fetchArtifact(hash: string, terms: Terms): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  await retry(`fetching ${hash.slice(0, 12)}`, terms, () => fetchOnce(hash, parts, terms));
  const blob = new Blob(parts);
  if ((await hashBlob(blob)) !== hash) {
    throw new ToolFailed("artifact_corrupt", `the bytes fetched for ${hash} have another hash`);
  }
  return blob;
}

async function retry(what: string, terms: Terms, once: () => Promise<void>): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await once();
    } catch (error) {
      terms.signal.throwIfAborted();
      // `fetch` says every failure of the network as a TypeError.
      if (!(error instanceof Again || error instanceof TypeError)) throw error;
      const waitS = BACKOFF_S[Math.min(tries, BACKOFF_S.length - 1)] ?? 3;
      if (terms.clock() + waitS >= terms.deadline) {
        throw new ToolFailed("network", `${what} failed after ${tries + 1} tries; the last: ${error.message}`);
      }
      terms.log(`${what}: ${error.message}; trying again in ${waitS} s`);
      await terms.pause(waitS, terms.signal);
    }
  }
}

/** Send one request and return the answer, which is the hub's: from anybody else it counts for nothing. */
async function call(hash: string, terms: Terms, init: RequestInit & { method: string }): Promise<Response> {
  const session = terms.http();
  if (session === null) throw new Again("the tab is not connected");
  const { request = fetch, signal } = terms;
  const headers = new Headers(init.headers);
  const [offset, length, span] = ["Upload-Offset", "Upload-Length", "Range"].map((name) => headers.get(name) ?? "");
  const proof = requestProof(session.key, init.method, hash, { offset, length, span });
  headers.set("Authorization", `Starloom ${session.token} ${proof}`);
  const whole: RequestInit = { ...init, headers, signal, credentials: "omit", cache: "no-store" };
  const answer = await request(`/aip/v1/artifacts/${hash}`, whole);
  const expected = answerProof(session.key, proof, answer.status, answer.headers.get("Upload-Offset") ?? "");
  if (answer.headers.get(ANSWER_PROOF) !== expected) {
    throw new Again(`the answer ${answer.status} to ${init.method} does not prove to be the hub's`);
  }
  return answer;
}

function tellSent(bytes: number, name: string, terms: Terms, { before, total, place }: Share): void {
  const doneBytes = before + bytes;
  const note = place ? `${place}, ${name}` : name;
  terms.progress({ doneBytes, totalBytes: total, fraction: total > 0 ? doneBytes / total : 1, note });
}

async function putOnce({ blob, name }: LocalFile, hash: string, terms: Terms, share: Share): Promise<void> {
  const size = blob.size;
  const sent = (bytes: number) => tellSent(bytes, name, terms, share);
  const head = await call(hash, terms, { method: "HEAD" });
  if (head.status === 200) return sent(size);
  if (head.status !== 404) await refuse(head, `HEAD ${name}`);
  let offset = offsetOf(head) ?? 0;
  sent(offset);
  do {
    const body = blob.slice(offset, offset + CHUNK_BYTES);
    const headers = {
      "Content-Type": "application/offset+octet-stream",
      "Upload-Offset": String(offset),
      "Upload-Length": String(size),
    };
    const answer = await call(hash, terms, { method: "PATCH", body, headers });
    const after = offsetOf(answer);
    if (answer.status === 204) offset = after ?? offset + body.size;
    else if (answer.status === 409 && after !== null) offset = after;
    else await refuse(answer, `PATCH at ${offset}`);
    sent(offset);
  } while (offset < size);
}

async function fetchOnce(hash: string, parts: Uint8Array<ArrayBuffer>[], terms: Terms): Promise<void> {
  const have = parts.reduce((sum, part) => sum + part.length, 0);
  const headers: Record<string, string> = have > 0 ? { Range: `bytes=${have}-` } : {};
  const answer = await call(hash, terms, { method: "GET", headers });
  // Nothing is left to give: the last try had everything and was cut before it knew.
  if (answer.status === 416) return;
  if (answer.status !== 200 && answer.status !== 206) await refuse(answer, `GET ${hash.slice(0, 12)}`);
  if (answer.status === 200) parts.length = 0;
  const length = Number(answer.headers.get("Content-Length") ?? "0");
  const reader = answer.body?.getReader();
  let done = 0;
  for (;;) {
    const next = await reader?.read();
    if (next === undefined || next.done) break;
    parts.push(new Uint8Array(next.value));
    done += next.value.length;
    terms.progress({ doneBytes: have + done, note: hash.slice(0, 12) });
  }
  if (done < length) throw new Again(`the connection ended after ${done} of ${length} bytes`);
}

function offsetOf(answer: Response): number | null {
  const text = answer.headers.get("Upload-Offset");
  return text !== null && /^[0-9]+$/.test(text) ? Number(text) : null;
}

/** Throws what a status means: another try for what may pass, a failure for what will not. */
async function refuse(answer: Response, what: string): Promise<never> {
  const words = (await answer.text()).slice(0, 300);
  switch (answer.status) {
    case 422:
      throw new ToolFailed("artifact_corrupt", `${what}: the hub found other bytes than the hash names. ${words}`);
    case 413:
      throw new ToolFailed("output_too_big", `${what}: the hub takes no file of this size. ${words}`);
    case 507:
      throw new ToolFailed("no_space", `${what}: the hub has too little free space. ${words}`);
    case 404:
      throw new ToolFailed("file_not_found", `${what}: the hub does not have this artifact. ${words}`);
    default:
      throw new Again(`${what} was answered with ${answer.status}. ${words}`);
  }
}
