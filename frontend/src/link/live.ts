/**
 * The live socket: ticket, subscriptions, resume by number, resync, reconnect for ever.
 * Nothing shown is ever cleared by a lost link. No React; the socket, the clock and chance come from outside.
 */
import type { Steps } from "../model/stream/steps.ts";
import type { BesideItem, LiveFrame, SnapshotFrame, StreamEvent } from "../model/types.ts";
import { paced } from "./pace.ts";
import { inSlices } from "./slices.ts";

/**
 * What takes a stream's frames. `afterSeq` -1 asks for a snapshot, which is read in steps: it may be large;
 * `events` says false at a gap.
 */
export interface Sink {
  afterSeq(): number;
  snapshot(frame: SnapshotFrame): Steps;
  events(events: StreamEvent[]): boolean;
  beside(items: BesideItem[]): void;
  /** The hub has no such stream now, or cannot read it; the link asks for it again. */
  missing(reason: string, unknown: boolean): void;
}

export interface LinkState {
  state: "connecting" | "live" | "catching_up" | "offline";
  sinceMs: number;
  /** Why it is not live, in the hub's words if it said one. */
  reason: string;
}

/** As much of a WebSocket as the link uses; handlers are fields, as a browser has them. */
export interface Socket {
  send(data: string): void;
  close(): void;
  onopen: ((event: Event) => void) | null;
  onmessage: ((event: MessageEvent) => void) | null;
  onclose: ((event: CloseEvent) => void) | null;
}

interface LiveOptions {
  /** Ends early when the signal says that its answer is not waited for any more. */
  ticket: (signal: AbortSignal) => Promise<string>;
  open: () => Socket;
  now?: () => number;
  random?: () => number;
  setTimer?: (run: () => void, ms: number) => unknown;
  clearTimer?: (timer: unknown) => void;
  /** The hub was restored from a backup: what is held belongs to a history that it no longer has. The link has stopped. */
  onOtherHistory?: () => void;
  /** Runs the queue at most once a frame, so that a burst of messages draws once. */
  nextFrame?: (run: () => void) => void;
  /** Runs steps with pauses in which the page draws, then calls `then`. */
  slices?: (steps: Steps, then: () => void) => void;
}

/** A hub that was only restarted is found at once; one that stays away is asked every few seconds. */
const BACKOFF_MS = [200, 500, 1000, 2000, 4000];
const PING_MS = 10_000;
/** A ping without an answer, and nothing else for so long: the line is cut, and no close will come. */
const SILENCE_MS = 25_000;
/** A request for a ticket that hangs on a cut line; the next one has a line of its own. */
const TICKET_MS = 10_000;
/** After a request that did not reach the hub: so long may the answer to a ping take. */
const DOUBT_MS = 2000;
/** The hub had no such stream, or this page was too slow for it: another wish at once would end the same way. */
const MISSING_MS = 3000;

export class LiveLink {
  /** Hub time minus this page's time. */
  offsetMs = 0;
  /** The hub's name for its history; empty until it was said. */
  history = "";
  status: LinkState;
  private readonly sinks = new Map<string, Sink>();
  private readonly awaited = new Set<string>();
  /** Streams of which the hub had no snapshot when it was asked; they are asked for again. */
  private readonly lacking = new Set<string>();
  private readonly listeners = new Set<() => void>();
  private readonly options: Required<LiveOptions>;
  private socket: Socket | null = null;
  private queue: LiveFrame[] = [];
  private queued = false;
  private wanted = false;
  /** The try whose ticket is waited for. */
  private opening: AbortController | null = null;
  private failures = 0;
  private timer: unknown = null;
  private pulse: unknown = null;
  private heardMs = 0;
  /** When the hub was asked for a word that has not come; null once it has said anything. */
  private askedMs: number | null = null;
  /** The socket that was asked after a failed request and may still answer. */
  private doubted: Socket | null = null;

  constructor(options: LiveOptions) {
    this.options = {
      now: () => Date.now(),
      random: () => Math.random(),
      setTimer: (run, ms) => setTimeout(run, ms),
      clearTimer: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
      onOtherHistory: () => {},
      nextFrame: paced(),
      slices: inSlices,
      ...options,
    };
    this.status = { state: "connecting", sinceMs: this.options.now(), reason: "" };
  }

  /** Begins as a link that was lost at that time, with what is known from then. */
  beginOffline(sinceMs: number, offsetMs: number, history: string): void {
    this.offsetMs = offsetMs;
    this.history = history;
    this.status = { state: "offline", sinceMs, reason: "" };
  }

  start(): void {
    this.wanted = true;
    void this.connect();
  }

  stop(): void {
    this.wanted = false;
    this.options.clearTimer(this.timer);
    this.giveUp();
    this.drop();
  }

  /** Tries at once instead of waiting: the network or the window came back, or the person asked. */
  retryNow(): void {
    if (!this.wanted || this.status.state === "live" || this.status.state === "catching_up") return;
    this.failures = 0;
    this.options.clearTimer(this.timer);
    // What hangs may hang on the line of before.
    this.giveUp();
    this.drop();
    void this.connect();
  }

  subscribe(stream: string, sink: Sink): void {
    this.sinks.set(stream, sink);
    if (this.status.state === "live" || this.status.state === "catching_up") this.ask(stream);
  }

  unsubscribe(stream: string): void {
    this.sinks.delete(stream);
    this.awaited.delete(stream);
    this.lacking.delete(stream);
    this.send({ t: "unsubscribe", stream });
  }

  onStatus = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readStatus = (): LinkState => this.status;

  private async connect(): Promise<void> {
    if (this.opening || this.socket) return;
    const opening = new AbortController();
    this.opening = opening;
    const failed = (reason: string) => {
      if (this.opening !== opening) return;
      this.giveUp();
      this.again(reason);
    };
    const late = this.options.setTimer(() => failed("the hub does not answer"), TICKET_MS);
    try {
      const ticket = await this.options.ticket(opening.signal);
      if (this.opening !== opening) return;
      this.opening = null;
      this.listen(this.options.open(), ticket);
    } catch (error) {
      failed(error instanceof Error ? error.message : "the hub does not answer");
    } finally {
      this.options.clearTimer(late);
    }
  }

  /** Waits for no ticket any more. */
  private giveUp(): void {
    this.opening?.abort();
    this.opening = null;
  }

  private listen(socket: Socket, ticket: string): void {
    this.socket = socket;
    socket.onopen = () => socket.send(JSON.stringify({ t: "ticket", ticket }));
    socket.onmessage = (event) => this.hear(socket, String(event.data));
    socket.onclose = (event) => this.lost(socket, event.reason);
    this.heardMs = this.options.now();
    this.askedMs = this.heardMs;
    this.beat(socket);
  }

  private hear(socket: Socket, text: string): void {
    if (socket !== this.socket) return;
    this.heardMs = this.options.now();
    this.askedMs = null;
    this.queue.push(JSON.parse(text) as LiveFrame);
    if (this.queued) return;
    this.queued = true;
    this.options.nextFrame(() => this.work());
  }

  /**
   * Takes what has come, in its order: what came after a snapshot waits until that is read. Events that came one after
   * the other are one change of their streams, so that a burst is drawn and thought about once.
   */
  private work(): void {
    const heard = new Heard();
    for (let frame = this.queue.shift(); frame; frame = this.queue.shift()) {
      if (frame.t === "events") for (const event of frame.events) heard.events.push(event);
      else if (frame.t === "beside") heard.beside.push(...frame.items);
      else if (frame.t !== "snapshot") {
        const other = frame;
        this.tell(heard);
        safely(() => this.take(other));
      } else if (this.sinks.has(frame.stream)) {
        this.tell(heard);
        this.read(frame);
        return;
      }
    }
    this.tell(heard);
    this.queued = false;
  }

  private read(frame: SnapshotFrame): void {
    const { stream, part = 0, parts = 1 } = frame;
    const sink = this.sinks.get(stream);
    if (!sink) return;
    this.options.slices(reported(sink.snapshot(frame)), () => {
      if (part === parts - 1) {
        this.lacking.delete(stream);
        this.caughtUp(stream);
      }
      this.work();
    });
  }

  private tell(heard: Heard): void {
    const { events, beside } = heard.take();
    for (const [stream, own] of byStream(events)) safely(() => this.deliver(stream, own));
    for (const [stream, own] of byStream(beside)) safely(() => this.sinks.get(stream)?.beside(own));
  }

  private take(frame: Exclude<LiveFrame, { t: "snapshot" | "events" | "beside" }>): void {
    switch (frame.t) {
      case "ready":
        if (this.history && frame.history && frame.history !== this.history) {
          this.stop();
          this.options.onOtherHistory();
          break;
        }
        this.history = frame.history ?? "";
        this.offsetMs = frame.now_ms - this.options.now();
        this.failures = 0;
        this.set("live", "");
        for (const stream of this.sinks.keys()) this.ask(stream);
        break;
      case "resync":
        this.resync(frame.stream, frame.reason, frame.unknown ?? false);
        break;
      case "refuse":
        this.drop();
        this.again(frame.reason);
        break;
      case "pong":
        this.offsetMs = frame.now_ms - this.options.now();
        break;
    }
  }

  private deliver(stream: string, events: StreamEvent[]): void {
    const sink = this.sinks.get(stream);
    if (!sink) return;
    if (sink.events(events)) this.caughtUp(stream);
    else if (!this.awaited.has(stream)) this.ask(stream);
  }

  private ask(stream: string, afterSeq?: number): void {
    const after = afterSeq ?? this.sinks.get(stream)?.afterSeq() ?? -1;
    // A resume with nothing new brings no frame, so only a snapshot is waited for.
    if (after < 0) {
      this.awaited.add(stream);
      this.set("catching_up", "");
    }
    this.send({ t: "subscribe", stream, after_seq: after, parts: true });
  }

  /**
   * A resync in answer to the wish for a snapshot means that there is none, or that this page takes it too slowly: asking
   * at once again would never end. It is asked for later, also by a page that has an older state of the stream.
   */
  private resync(stream: string, reason: string, unknown: boolean): void {
    if (!this.awaited.has(stream)) {
      this.ask(stream, -1);
      return;
    }
    this.sinks.get(stream)?.missing(reason, unknown);
    this.caughtUp(stream);
    this.lacking.add(stream);
    this.options.setTimer(() => {
      if (this.lacking.has(stream)) this.ask(stream, -1);
    }, MISSING_MS);
  }

  private caughtUp(stream: string): void {
    this.awaited.delete(stream);
    if (this.awaited.size === 0 && this.status.state === "catching_up") this.set("live", "");
  }

  /** Silence counts once the hub was asked: a hidden page looks once a minute, and a hub without work says nothing. */
  private beat(socket: Socket): void {
    this.pulse = this.options.setTimer(() => {
      if (socket !== this.socket) return;
      const nowMs = this.options.now();
      if (this.askedMs === null) {
        this.askedMs = nowMs;
        this.send({ t: "ping", at_ms: nowMs });
      } else if (nowMs - this.heardMs > SILENCE_MS) {
        this.drop();
        this.again(`the hub has been silent for ${SILENCE_MS / 1000} s`);
        return;
      }
      this.beat(socket);
    }, PING_MS);
  }

  /**
   * A request did not reach the hub: the link asks at once, where its pulse would notice a cut line only after
   * `SILENCE_MS`. A hub that answers keeps it.
   */
  doubt(): void {
    const socket = this.socket;
    if (!socket || this.doubted === socket) return;
    this.doubted = socket;
    const askedMs = this.options.now();
    this.send({ t: "ping", at_ms: askedMs });
    this.options.setTimer(() => {
      if (this.doubted === socket) this.doubted = null;
      if (socket !== this.socket || this.heardMs >= askedMs) return;
      this.drop();
      this.again("the hub does not answer");
    }, DOUBT_MS);
  }

  private send(frame: unknown): void {
    if (this.socket && this.status.state !== "offline" && this.status.state !== "connecting") {
      this.socket.send(JSON.stringify(frame));
    }
  }

  private lost(socket: Socket, reason: string): void {
    if (socket !== this.socket) return;
    this.drop();
    this.again(reason);
  }

  private drop(): void {
    const socket = this.socket;
    this.socket = null;
    this.awaited.clear();
    this.options.clearTimer(this.pulse);
    if (socket) {
      socket.onmessage = null;
      socket.onclose = null;
      socket.close();
    }
  }

  private again(reason: string): void {
    if (!this.wanted) return;
    if (this.status.state !== "offline" || this.status.reason !== reason) this.set("offline", reason);
    const wait = BACKOFF_MS[Math.min(this.failures, BACKOFF_MS.length - 1)] ?? 4000;
    this.failures += 1;
    this.timer = this.options.setTimer(() => void this.connect(), wait * (0.75 + this.options.random() / 2));
  }

  private set(state: LinkState["state"], reason: string): void {
    const sinceMs = state === this.status.state ? this.status.sinceMs : this.options.now();
    this.status = { state, sinceMs, reason };
    for (const listener of this.listeners) listener();
  }
}

/** Events and what travels beside them since the streams were told last. */
class Heard {
  events: StreamEvent[] = [];
  beside: BesideItem[] = [];

  take(): Pick<Heard, "events" | "beside"> {
    const { events, beside } = this;
    this.events = [];
    this.beside = [];
    return { events, beside };
  }
}

/** A message that cannot be read must not hold up all that comes behind it. */
function safely(run: () => void): void {
  try {
    run();
  } catch (error) {
    reportError(error);
  }
}

/** As `safely`, of a snapshot. */
function* reported(steps: Steps): Steps {
  try {
    yield* steps;
  } catch (error) {
    reportError(error);
  }
}

function byStream<T extends { stream: string }>(items: readonly T[]): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const item of items) {
    const own = found.get(item.stream);
    if (own) own.push(item);
    else found.set(item.stream, [item]);
  }
  return found;
}
