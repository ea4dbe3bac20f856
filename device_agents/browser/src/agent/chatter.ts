/**
 * What calls say while they run: log lines and progress, gathered for a moment, bounded and lossy by design.
 * Offsets count the bytes of text before them, so that what was dropped is visible.
 */
import type { LeaseRef, LogChunk, Progress } from "../generated/protocol.ts";
import type { Frame } from "../protocol/codec.ts";
import { utf8Length } from "../protocol/values.ts";
import type { Told } from "../tools/interface.ts";
import { leaseKey } from "./core.ts";

const GATHER_S = 0.1;
const LOG_BYTES_MOST = 10 * 1024 * 1024;
const CHUNK_CHARS = 16 * 1024;
const TAIL_CHARS = 4 * 1024;

export type Stream = "log" | "stdout" | "stderr";

interface Voice {
  at: LeaseRef;
  waiting: { stream: Stream; text: string }[];
  progress: Progress | null;
  bytes: number;
  tail: string;
}

interface Terms {
  push: (frames: Frame[]) => boolean;
  after: (s: number, act: () => void) => () => void;
}

export class Chatter {
  readonly #terms: Terms;
  readonly #voices = new Map<string, Voice>();
  #scheduled = false;

  constructor(terms: Terms) {
    this.#terms = terms;
  }

  begin(at: LeaseRef): void {
    this.#voices.set(leaseKey(at), { at, waiting: [], progress: null, bytes: 0, tail: "" });
  }

  said(at: LeaseRef, stream: Stream, text: string): void {
    const voice = this.#voices.get(leaseKey(at));
    if (voice === undefined || text === "") return;
    voice.tail = (voice.tail + text).slice(-TAIL_CHARS);
    const last = voice.waiting[voice.waiting.length - 1];
    if (last?.stream === stream && last.text.length + text.length <= CHUNK_CHARS) last.text += text;
    else for (const part of chunks(text)) voice.waiting.push({ stream, text: part });
    this.#soon();
  }

  progress(at: LeaseRef, { doneBytes = 0, fraction, note = "" }: Told): void {
    const voice = this.#voices.get(leaseKey(at));
    if (voice === undefined) return;
    const fraction_1000 = fraction === undefined ? -1 : Math.max(0, Math.min(1000, Math.round(fraction * 1000)));
    voice.progress = { t: "progress", at, done_bytes: doneBytes, fraction_1000, note: note.slice(0, 200) };
    this.#soon();
  }

  /** Say what is left and return the last of the output. */
  end(at: LeaseRef): string {
    this.#flush();
    const tail = this.#voices.get(leaseKey(at))?.tail ?? "";
    this.#voices.delete(leaseKey(at));
    return tail;
  }

  #soon(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#terms.after(GATHER_S, () => this.#flush());
  }

  #flush(): void {
    this.#scheduled = false;
    for (const voice of this.#voices.values()) {
      const frames: Frame[] = [];
      for (const { stream, text } of voice.waiting) {
        const chunk: LogChunk = { t: "log", at: voice.at, offset: voice.bytes, stream, text };
        voice.bytes += utf8Length(text);
        if (voice.bytes <= LOG_BYTES_MOST) frames.push(chunk);
      }
      voice.waiting = [];
      if (voice.progress !== null) frames.push(voice.progress);
      voice.progress = null;
      if (frames.length > 0) this.#terms.push(frames);
    }
  }
}

/** Cut a text into pieces that fit a frame, never through a character. */
function* chunks(text: string): Generator<string> {
  let at = 0;
  while (at < text.length) {
    let end = Math.min(text.length, at + CHUNK_CHARS);
    const unit = text.charCodeAt(end - 1);
    if (end < text.length && unit >= 0xd800 && unit <= 0xdbff) end -= 1;
    yield text.slice(at, end);
    at = end;
  }
}
