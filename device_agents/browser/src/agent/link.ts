/**
 * Keeps this tab connected: dials for ever with full jitter, at once when the person comes back to the tab.
 * Knows when to dial again, not what is said: that is the connection's and its peer's.
 */
import type { Frame } from "../protocol/codec.ts";
import type { Connection, Ended } from "./connection.ts";

const RECONNECT_LEAST_S = 0.2;
const RECONNECT_MOST_S = 20;

export type LinkState =
  | { state: "connecting" }
  | { state: "online" }
  | { state: "waiting"; why: Ended; againAtMs: number }
  | { state: "stopped"; why: Ended };

interface Terms {
  dial: () => Connection;
  jitter?: () => number;
  nowMs?: () => number;
  /** Wait so many seconds, or until the signal aborts. */
  pause: (s: number, signal: AbortSignal) => Promise<void>;
  status: (state: LinkState) => void;
}

export class Link {
  readonly #terms: Terms;
  #dialling: Connection | null = null;
  #open: Connection | null = null;
  #hurry = new AbortController();
  #leaving = "";

  constructor(terms: Terms) {
    this.#terms = terms;
  }

  get isOpen(): boolean {
    return this.#open !== null;
  }

  /** The connection that is being dialled has its session. */
  opened(): void {
    this.#open = this.#dialling;
    this.#terms.status({ state: "online" });
  }

  push(frames: Frame[]): boolean {
    return this.#open?.push(frames) ?? false;
  }

  wake(): void {
    this.#open?.wake();
  }

  /** Somebody looks at the tab, or the network is back: do not wait out the pause. */
  hurry(): void {
    this.#hurry.abort();
  }

  /** Say goodbye and dial no more. */
  leave(reason: string): void {
    this.#leaving = reason;
    this.#dialling?.close(reason);
    this.hurry();
  }

  /** Dial until `leave`, or until the hub says that trying again will not help; returns that end. */
  async run(): Promise<Ended | null> {
    const { dial, status, pause, jitter = Math.random, nowMs = Date.now } = this.#terms;
    let failures = 0;
    while (!this.#leaving) {
      status({ state: "connecting" });
      this.#dialling = dial();
      const ended = await this.#dialling.ended;
      failures = this.#open === null ? failures + 1 : 0;
      this.#open = null;
      this.#dialling = null;
      if (this.#leaving) break;
      if (ended.final) {
        status({ state: "stopped", why: ended });
        return ended;
      }
      const window = Math.min(RECONNECT_MOST_S, RECONNECT_LEAST_S * 2 ** Math.min(failures, 16));
      const waitS = ended.retryAfterS + Math.max(RECONNECT_LEAST_S / 4, jitter() * window);
      status({ state: "waiting", why: ended, againAtMs: nowMs() + waitS * 1000 });
      this.#hurry = new AbortController();
      await pause(waitS, this.#hurry.signal);
    }
    return null;
  }
}
