/**
 * One call of a tool, from its inputs to its end; the end is always one `CallEnd`, whatever the tool does.
 *
 * Holds the call's fence and its time. A tool that was stopped may go on in the background of the page, but every door
 * it could use - steps, effects, people, artifacts - is shut by then.
 */
import type { Code, Dispatch, EffectSeen, Outcome } from "../generated/protocol.ts";
import { INLINE_VALUE_BYTES_MAX } from "../generated/shapes.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { isWellFormed, type Json, utf8Length } from "../protocol/values.ts";
import {
  type Call,
  type FileRef,
  type LocalFile,
  type Question,
  type Share,
  type Told,
  type Tool,
  ToolFailed,
} from "../tools/interface.ts";
import type { HttpSession } from "./artifacts.ts";
import * as artifacts from "./artifacts.ts";
import type { Stream } from "./chatter.ts";
import { argumentsOf, canonicalValue, factsOf, resolveInputs, scrub } from "./outcomes.ts";

const DETAIL_CHARS_MAX = 2_000;
const UPLOAD_MARGIN_S = 1;

/** How a call ended. `stopped` (cancel, gone, fence, ...) means that it was ended from outside: no result. */
export interface CallEnd {
  outcome: Outcome;
  code: Code | null;
  detail: string;
  effect: EffectSeen;
  stopped: string;
  value: string | null;
  artifact: string | null;
  bytes: number;
  facts: Record<string, string>;
  facts_too_big: Record<string, number>;
}

export function ended(outcome: Outcome, more: Partial<CallEnd> = {}): CallEnd {
  const nothing = { code: null, detail: "", effect: "none", stopped: "", value: null, artifact: null } as const;
  return { ...nothing, bytes: 0, facts: {}, facts_too_big: {}, outcome, ...more };
}

/** What a call uses of its agent. Times are seconds of a clock that runs during sleep. */
export interface CallParts {
  ledger: Ledger;
  clock: () => number;
  after: (s: number, act: () => void) => () => void;
  pause: (s: number, signal: AbortSignal) => Promise<void>;
  http: () => HttpSession | null;
  request: typeof fetch;
  ask: (question: Question, signal: AbortSignal) => Promise<unknown>;
  say: (stream: Stream, text: string) => void;
  show: (title: string, text: string) => void;
  progress: (report: Told) => void;
}

class Stopped extends Error {}

export class RunningCall implements Call {
  readonly dispatch: Dispatch;
  readonly tool: Tool;
  readonly #parts: CallParts;
  readonly #abort = new AbortController();
  readonly #durable: boolean;
  readonly #closeAt: number;
  #fenceAt: number | null;
  #touched: boolean;
  #stopTimer: () => void = () => {};

  constructor(
    tool: Tool,
    dispatch: Dispatch,
    terms: { fenceAt: number | null; begunAt: number; durable: boolean; touched: boolean },
    parts: CallParts,
  ) {
    this.tool = tool;
    this.dispatch = dispatch;
    this.#parts = parts;
    this.#durable = terms.durable;
    this.#fenceAt = terms.fenceAt;
    this.#closeAt = terms.begunAt + dispatch.start_to_close_s;
    this.#touched = terms.touched;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  stop(why: string): void {
    this.#abort.abort(new Stopped(why));
  }

  /** The person at the device wants it no longer: it ends as a question does that is declined. */
  decline(): void {
    this.#abort.abort(new ToolFailed("declined", `the person at the device stopped ${this.dispatch.tool}`));
  }

  moveFence(fenceAt: number): void {
    this.#fenceAt = fenceAt;
    this.#arm();
  }

  /** Run to the end; never throws. */
  async run(): Promise<CallEnd> {
    this.#arm();
    const outside = new Promise<never>((_, reject) => {
      this.signal.addEventListener("abort", () => reject(this.signal.reason), { once: true });
    });
    try {
      return await Promise.race([this.#carryOut(), outside]);
    } catch (error) {
      return this.#failure(error);
    } finally {
      this.#stopTimer();
      if (!this.signal.aborted) this.#abort.abort(new Stopped("over"));
    }
  }

  async #carryOut(): Promise<CallEnd> {
    const { dispatch, tool } = this;
    this.#judgeTime();
    const inputs = await resolveInputs(dispatch.inputs ?? [], async (hash) => {
      return JSON.parse(await (await this.fetch(hash)).text()) as Json;
    });
    const args = argumentsOf(tool.args, JSON.parse(dispatch.args) as Json, inputs);
    const value = await tool.run(this, args);
    let text = canonicalValue(value);
    const secrets = Object.values(dispatch.secrets ?? {});
    if (secrets.length > 0) text = canonicalValue(JSON.parse(scrub(text, secrets)));
    const facts = factsOf(JSON.parse(text) as Json, dispatch.wants ?? []);
    const bytes = utf8Length(text);
    if (bytes <= INLINE_VALUE_BYTES_MAX) return ended("ok", { value: text, bytes, ...facts });
    const media = "application/json";
    const stored = await this.put({ name: "value.json", media, blob: new Blob([text], { type: media }) });
    return ended("ok", { artifact: stored.artifact, bytes, ...facts });
  }

  #failure(error: unknown): CallEnd {
    const effect: EffectSeen = this.#touched ? "maybe" : "none";
    const reason = this.signal.aborted && this.signal.reason instanceof Stopped ? this.signal.reason : error;
    if (reason instanceof Stopped) {
      const why = reason.message;
      if (why === "timeout") {
        const detail = `it did not end within ${this.dispatch.start_to_close_s} s`;
        return ended("timeout", { code: "timed_out", detail, effect });
      }
      const code = why === "fence" ? "fenced" : "interrupted";
      return ended("interrupted", { code, detail: STOPPED[why] ?? why, effect, stopped: why });
    }
    const secrets = Object.values(this.dispatch.secrets ?? {});
    if (error instanceof ToolFailed) {
      return ended("error", { code: error.code, detail: scrubbed(error.detail, secrets), effect });
    }
    // Whatever a tool throws is an end of this call, never of the agent.
    return ended("error", { code: "tool_failed", detail: scrubbed(String(error), secrets), effect });
  }

  #arm(): void {
    this.#stopTimer();
    const end = Math.min(this.#closeAt, this.#fenceAt ?? Number.POSITIVE_INFINITY);
    this.#stopTimer = this.#parts.after(Math.max(0, end - this.#parts.clock()), () => {
      // A page that slept is woken late, and the fence may have moved meanwhile: judged by the clock, not the timer.
      try {
        this.#judgeTime();
        this.#arm();
      } catch (stopped) {
        this.#abort.abort(stopped);
      }
    });
  }

  #judgeTime(): void {
    this.signal.throwIfAborted();
    const now = this.#parts.clock();
    if (this.#fenceAt !== null && now >= this.#fenceAt) throw new Stopped("fence");
    if (now >= this.#closeAt) throw new Stopped("timeout");
  }

  async step<T>(name: string, take: () => Promise<T>): Promise<T> {
    this.#judgeTime();
    const { at } = this.dispatch;
    const earlier = this.#parts.ledger.step(at, name);
    if (earlier !== undefined) return earlier.value as T;
    const value = await take();
    this.#judgeTime();
    if (this.#durable) {
      this.#parts.ledger.stepTaken(at, name, value);
      await this.#parts.ledger.flush();
    }
    return value;
  }

  async touch(): Promise<void> {
    this.#judgeTime();
    this.#touched = true;
    if (!this.#durable) return;
    this.#parts.ledger.touched(this.dispatch.at);
    await this.#parts.ledger.flush();
    this.#judgeTime();
  }

  ask(question: Question): Promise<unknown> {
    this.#judgeTime();
    return this.#parts.ask(question, this.signal);
  }

  put(file: LocalFile, share?: Share): Promise<FileRef> {
    this.#judgeTime();
    return artifacts.put(file, this.#artifactTerms(), share);
  }

  fetch(sha256: string): Promise<Blob> {
    this.#judgeTime();
    return artifacts.fetchArtifact(sha256, this.#artifactTerms());
  }

  show(title: string, text: string): void {
    this.#judgeTime();
    this.#parts.show(title, text);
  }

  log(text: string, stream: Stream = "log"): void {
    if (this.signal.aborted) return;
    const line = stream === "log" && !text.endsWith("\n") ? `${text}\n` : text;
    this.#parts.say(stream, scrubbed(line, Object.values(this.dispatch.secrets ?? {}), Number.POSITIVE_INFINITY));
  }

  progress(report: Told): void {
    if (!this.signal.aborted) this.#parts.progress(report);
  }

  #artifactTerms(): artifacts.Terms {
    const { http, clock, pause, request } = this.#parts;
    return {
      http,
      clock,
      pause,
      request,
      deadline: Math.min(this.#closeAt, this.#fenceAt ?? Number.POSITIVE_INFINITY) - UPLOAD_MARGIN_S,
      signal: this.signal,
      progress: (report) => this.progress(report),
      log: (text) => this.log(text),
    };
  }
}

const STOPPED: Record<string, string> = {
  agent_stopped: "the tab was told to leave the hub",
  cancel: "it was cancelled",
  fence: "the hub was out of reach for longer than this work may go on unseen",
  gone: "the hub has taken it back",
  replaced: "a newer attempt of the same task took its place",
};

function scrubbed(text: string, secrets: readonly string[], most: number = DETAIL_CHARS_MAX): string {
  const clean = scrub(text, secrets).slice(0, most);
  return isWellFormed(clean) ? clean : clean.replace(/[\ud800-\udfff]/g, "?");
}
