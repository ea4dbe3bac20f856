/**
 * The page's one object that holds the link and the streams. Streams are counted: the first to look subscribes,
 * the last to leave lets go a little later, so that going back and forth costs no snapshot.
 */
import { Hub, type SessionDocument } from "../link/endpoints.ts";
import { LiveLink, type Sink, type Socket } from "../link/live.ts";
import { Rest } from "../link/rest.ts";
import { StreamModel } from "../model/stream.ts";
import { setProgram } from "../ui/typed.ts";

export const FLEET = "fleet";
const LINGER_MS = 30_000;

interface Held {
  model: StreamModel;
  users: number;
  linger: ReturnType<typeof setTimeout> | null;
}

export class Workspace {
  readonly hub: Hub;
  readonly live: LiveLink;
  readonly fleet: StreamModel;
  session: SessionDocument | null = null;
  private readonly held = new Map<string, Held>();

  constructor(onSignedOut: () => void) {
    const rest = new Rest({ onSignedOut });
    this.hub = new Hub(rest);
    this.live = new LiveLink({ ticket: this.hub.ticket, open: () => openSocket() });
    this.fleet = this.acquire(FLEET);
  }

  begin(session: SessionDocument): void {
    this.session = session;
    setProgram(session.program);
    this.hub.rest.csrf = session.csrf;
    this.live.start();
    addEventListener("online", () => this.live.retryNow());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.live.retryNow();
    });
  }

  /** Hub time now. */
  now(): number {
    return Date.now() + this.live.offsetMs;
  }

  acquire(stream: string): StreamModel {
    let held = this.held.get(stream);
    if (!held) {
      const model = new StreamModel(stream);
      held = { model, users: 0, linger: null };
      this.held.set(stream, held);
      // A stream is taken while a page is being drawn, and asking for it changes what another part shows.
      const taken = held;
      queueMicrotask(() => {
        if (this.held.get(stream) === taken) this.live.subscribe(stream, sinkOf(model));
      });
    }
    if (held.linger) clearTimeout(held.linger);
    held.linger = null;
    held.users += 1;
    return held.model;
  }

  release(stream: string): void {
    const held = this.held.get(stream);
    if (!held) return;
    held.users -= 1;
    if (held.users > 0) return;
    held.linger = setTimeout(() => {
      this.held.delete(stream);
      this.live.unsubscribe(stream);
    }, LINGER_MS);
  }
}

function sinkOf(model: StreamModel): Sink {
  return {
    afterSeq: () => (model.ready ? model.seq : -1),
    snapshot: (frame) => model.readSnapshot(frame),
    events: (events) => model.readEvents(events),
    beside: (items) => model.readBeside(items),
    missing: (reason) => model.readMissing(reason),
  };
}

function openSocket(): Socket {
  const url = new URL("/api/v1/live", location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  // The browser declares `this` of handlers narrower than anyone here needs.
  return new WebSocket(url) as unknown as Socket;
}
