/**
 * One connection to the hub: have it prove its key, prove one's own, pump frames both ways until it ends. Decides
 * nothing about work; a hub that does not sign with the key pinned at joining is left before it is obeyed.
 *
 * Everything goes through one queue, so numbers and order hold although signing is asynchronous. What frames mean is
 * the agent's; when to dial again is the link's.
 */
import {
  type Alive,
  type Challenge,
  type Code,
  type ErrorFrame,
  type Hello,
  PROTOCOL_VERSIONS,
  type Refuse,
  type ReportFrame,
  type Welcome,
} from "../generated/protocol.ts";
import { channelKeys, deviceProof, hubProof, KeyShare, signedBy, transcript } from "../protocol/channel.ts";
import type { Frame } from "../protocol/codec.ts";
import { ProtocolFault } from "../protocol/faults.ts";
import { Session } from "../protocol/session.ts";
import type { Identity } from "./identity.ts";

const VERSION = "0.1.0";
const OPEN_TIMEOUT_S = 15;
const FRAMES_WAITING_MAX = 2_000;
const MESSAGE_BYTES = 900 * 1024;
const SILENT_INTERVALS = 4;
const SILENT_LEAST_S = 10;
const REFUSED_AGAIN_S = 60;
/** A hub that has not proved its key may ask for no longer pause than that. */
const REFUSED_MOST_S = 60;
// What only a person can change, and then by joining or reloading: dialling again would be noise for ever.
const FOR_GOOD: ReadonlySet<Code> = new Set(["bad_signature", "device_revoked", "unknown_key"]);
const PASSES_SLOWLY: ReadonlySet<Code> = new Set(["agent_too_old", "hub_too_old"]);

/** How a connection ended. `retryAfterS` is what the hub asked for; `final` that trying again will not help. */
export interface Ended {
  reason: string;
  fix: string;
  code: Code | null;
  retryAfterS: number;
  final: boolean;
}

/** Whether the hub lets this key in no more, so that only another one can join. */
export const isRemoved = (why: Ended): boolean => why.code === "device_revoked" || why.code === "unknown_key";

/** What a socket is to a connection: that of the browser, or a pair in a test. */
export interface Socket {
  send(text: string): void;
  close(): void;
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code?: number; reason?: string }) => void) | null;
}

/** The agent as a connection sees it. */
export interface Peer {
  nextReport(): number;
  /** A session is open; returns what is to be said first. */
  welcomed(welcome: Welcome, terms: { provedAt: number; httpKey: Uint8Array }): Frame[];
  received(frames: Frame[]): void;
  /** The next batch of reports; it counts as sent. */
  reports(): ReportFrame[];
  alive(): Alive;
}

export interface Parts {
  dial: () => Socket;
  identity: Identity;
  hubKey: string;
  ledger: string;
  peer: Peer;
  /** Seconds, of a clock that runs during sleep. */
  clock: () => number;
  every: (s: number, act: () => void) => () => void;
}

export class Connection {
  readonly #parts: Parts;
  readonly #session = new Session("agent");
  readonly #share = new KeyShare();
  #sentHello: Hello | null = null;
  #httpKey: Uint8Array = new Uint8Array();
  readonly #socket: Socket;
  #waiting: Frame[] = [];
  #heardAt: number;
  #idleS = 0;
  #provedAt = 0;
  #stopTimers: (() => void)[] = [];
  #order: Promise<void> = Promise.resolve();
  #resolve: (ended: Ended) => void = () => {};
  readonly ended: Promise<Ended>;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#heardAt = parts.clock();
    this.#socket = parts.dial();
    this.#socket.onopen = () => this.#in(() => this.#hello());
    this.#socket.onmessage = ({ data }) => this.#in(() => this.#message(String(data)));
    this.#socket.onclose = () => this.#in(() => this.#end({ reason: "the connection to the hub was cut" }));
    this.#stopTimers.push(
      parts.every(OPEN_TIMEOUT_S, () => {
        if (!this.#session.authenticated) this.#end({ reason: `the hub did not answer within ${OPEN_TIMEOUT_S} s` });
      }),
    );
  }

  /** Queue frames that are not reports; false if too many wait: the caller may keep or drop them. */
  push(frames: Frame[]): boolean {
    if (this.#waiting.length + frames.length > FRAMES_WAITING_MAX) return false;
    this.#waiting.push(...frames);
    this.wake();
    return true;
  }

  /** There may be reports to send. */
  wake(): void {
    this.#in(() => this.#write());
  }

  /** Say what waits, then goodbye. */
  close(reason: string): void {
    this.#in(() => {
      if (this.#session.authenticated) {
        this.#write();
        this.#socket.send(this.#session.send([{ t: "bye", reason }]));
      }
      this.#end({ reason });
    });
  }

  #in(act: () => void | Promise<void>): void {
    this.#order = this.#order.then(act).catch((error: unknown) => this.#broken(error));
  }

  #broken(error: unknown): void {
    if (!(error instanceof ProtocolFault)) {
      this.#end({ reason: `the tab could not follow the connection: ${String(error)}` });
      return;
    }
    try {
      this.#socket.send(this.#session.farewell(error));
    } catch (other) {
      if (!(other instanceof ProtocolFault)) throw other;
    }
    this.#end({ reason: `the hub broke the protocol: ${error.reason}`, code: error.code });
  }

  #end(end: Partial<Ended> & { reason: string }): void {
    this.#session.close(end.reason);
    for (const stop of this.#stopTimers) stop();
    this.#stopTimers = [];
    this.#socket.onmessage = null;
    this.#socket.close();
    this.#resolve({ fix: "", code: null, retryAfterS: 0, final: false, ...end });
  }

  #hello(): void {
    const { identity, ledger, peer } = this.#parts;
    const { device, instance, key } = identity;
    const next_report = peer.nextReport();
    const mine = { device, instance, key, key_share: this.#share.text, ledger, next_report };
    this.#sentHello = { t: "hello", ...mine, version: VERSION, versions: [...PROTOCOL_VERSIONS] };
    this.#socket.send(this.#session.send([this.#sentHello]));
  }

  async #message(text: string): Promise<void> {
    const frames = this.#session.receive(text);
    if (frames.length > 0) this.#heardAt = this.#parts.clock();
    const work: Frame[] = [];
    for (const frame of frames) {
      if (frame.t === "renew") this.#idleS = frame.idle_s ?? 0;
      switch (frame.t) {
        case "challenge":
          await this.#prove(frame);
          break;
        case "welcome":
          this.#open(frame);
          break;
        case "refuse":
        case "error":
          this.#deliver(work);
          this.#refused(frame);
          return;
        case "goaway":
          this.#deliver(work);
          this.#end({ reason: frame.reason, retryAfterS: frame.retry_after_s });
          return;
        default:
          work.push(frame);
      }
    }
    this.#deliver(work);
  }

  #refused(frame: Refuse | ErrorFrame): void {
    const { code, reason } = frame;
    const fix = frame.t === "refuse" ? frame.fix : "";
    const retryAfter = frame.t === "refuse" ? (frame.retry_after_s ?? 0) : 0;
    if (!this.#session.secured) {
      // Anybody who holds the port can say this, so it is reported and never ends the dialling for good.
      const retryAfterS = Math.min(retryAfter || (PASSES_SLOWLY.has(code) ? REFUSED_AGAIN_S : 0), REFUSED_MOST_S);
      this.#end({ code, fix, reason: `before the hub proved its key it refused this tab: ${reason}`, retryAfterS });
      return;
    }
    const forGood = FOR_GOOD.has(code) || (frame.t === "error" && code === "taken_over");
    this.#end({ code, final: !retryAfter && forGood, fix, reason, retryAfterS: retryAfter });
  }

  #deliver(frames: Frame[]): void {
    if (frames.length > 0) this.#parts.peer.received(frames);
  }

  async #prove(challenge: Challenge): Promise<void> {
    const { identity, hubKey, clock } = this.#parts;
    const { hub, signature } = challenge;
    if (hub !== hubKey) {
      this.#end({
        fix: "If the hub was made anew, forget this hub below and join again by a fresh code.",
        reason: "this is not the hub that this device joined: its key is another one",
      });
      return;
    }
    if (this.#sentHello === null) throw new Error("a challenge without a hello");
    const script = transcript(this.#sentHello, challenge);
    const secret = this.#share.secretWith(challenge.key_share ?? "");
    if (secret === null || !signedBy(hub, signature ?? "", hubProof(script))) {
      this.#end({
        fix: "Reload the page; if this stays, look who answers at this address.",
        reason: "the listener at this address names the hub's key but cannot prove that it has it",
      });
      return;
    }
    const keys = channelKeys(secret, script);
    this.#httpKey = keys.http;
    this.#session.secure(keys);
    const proof = await identity.sign(deviceProof(script, signature ?? ""));
    this.#provedAt = clock();
    this.#socket.send(this.#session.send([{ t: "prove", signature: proof }]));
  }

  #open(welcome: Welcome): void {
    const { peer, clock, every } = this.#parts;
    const first = peer.welcomed(welcome, { provedAt: this.#provedAt, httpKey: this.#httpKey });
    this.#waiting.unshift(...first, peer.alive());
    const intervalS = welcome.alive_interval_s;
    let saidAt = clock();
    this.#stopTimers.push(
      every(intervalS, () => {
        const alive = peer.alive();
        const idleS = alive.running.length > 0 ? intervalS : Math.max(this.#idleS, intervalS);
        // Four answers missed, or two where they are asked for seldom.
        const quietS = Math.max(SILENT_LEAST_S, SILENT_INTERVALS * intervalS, 2 * idleS + intervalS);
        if (clock() - this.#heardAt > quietS) this.#end({ reason: `nothing was heard from the hub for ${quietS} s` });
        else if (clock() - saidAt >= idleS - intervalS / 2) {
          saidAt = clock();
          this.push([alive]);
        }
      }),
    );
    this.#write();
  }

  #write(): void {
    while (this.#session.authenticated) {
      const frames = this.#someWaiting() ?? this.#parts.peer.reports();
      if (frames.length === 0) return;
      this.#socket.send(this.#session.send(frames));
    }
  }

  /** What one message can hold; a chunk of log counts as if each character were escaped. */
  #someWaiting(): Frame[] | null {
    if (this.#waiting.length === 0) return null;
    let room = MESSAGE_BYTES;
    let count = 0;
    for (const frame of this.#waiting) {
      room -= frame.t === "log" ? 6 * frame.text.length + 300 : frame.t === "offer" ? 64 * 1024 : 1_000;
      if (room < 0 && count > 0) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }
}
