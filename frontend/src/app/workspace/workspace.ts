/**
 * The page's one object that holds the link and the streams. Streams are counted: the first to look subscribes,
 * the last to leave lets go a little later, so that going back and forth costs no snapshot.
 */

import { Hub } from "../../link/endpoints.ts";
import { LiveLink, type Sink, type Socket } from "../../link/live.ts";
import { Rest } from "../../link/rest.ts";
import { inSlices } from "../../link/slices.ts";
import { type Steps, whole } from "../../model/stream/steps.ts";
import { StreamModel } from "../../model/stream/stream.ts";
import { groupsOf } from "../../model/tasks/groups.ts";
import type { SessionRow } from "../../model/types.ts";
import { setProgram } from "../../model/words/commands.ts";
import { Changes } from "./changes.ts";
import { KeptText } from "./keptText.ts";
import { forget, type KeptStream, keepOnlyOf, type LastKnown, remove, save, store } from "./lastKnown.ts";
import { keepPersonal } from "./personal.ts";

const FLEET = "fleet";
const LINGER_MS = 30_000;

/** So long after a change its text is written, if the page is still there: the changes of that time in one go. */
const WRITE_AFTER_MS = 1_000;

interface Held {
  model: StreamModel;
  text: KeptText;
  users: number;
  linger: ReturnType<typeof setTimeout> | null;
}

export class Workspace {
  readonly hub: Hub;
  readonly live: LiveLink;
  readonly changes = new Changes();
  readonly fleet: StreamModel;
  session: SessionRow | null = null;
  private linked = false;
  /** Nothing is kept any more, also not of what still comes: the storage may be another person's by now. */
  private ended = false;
  private readonly held = new Map<string, Held>();
  /** From before a reload without the hub, as long as nobody has looked at them again. */
  private readonly known = new Map<string, KeptStream>();
  /** Stops what is to be written, or is being written; null while all of it is. */
  private stopWriting: (() => void) | null = null;

  constructor(onSignedOut: (ended: boolean) => void) {
    const rest = new Rest({ onSignedOut, onUnreachable: this.doubt });
    this.hub = new Hub(rest);
    this.live = new LiveLink({ ticket: this.ticket, open: () => openSocket(), onOtherHistory: this.startOver });
    this.live.onStatus(this.followLink);
    this.fleet = this.acquire(FLEET);
  }

  /** Lists that changed while the link was away are read again once it is back. */
  private readonly followLink = (): void => {
    const { state } = this.live.status;
    const linked = state === "live" || state === "catching_up";
    if (linked && !this.linked) this.changes.sayAll();
    this.linked = linked;
  };

  begin(session: SessionRow): void {
    this.take(session);
    this.live.start();
    addEventListener("pagehide", this.save);
    addEventListener("online", this.networkBack);
    addEventListener("offline", this.doubt);
    document.addEventListener("visibilitychange", this.pageSeen);
  }

  /** What is held is of a history that the hub no longer has, or of another person: all of the page is read again. */
  private readonly startOver = (): void => {
    this.end();
    forget();
    location.reload();
  };

  private readonly doubt = (): void => this.live.doubt();

  private readonly networkBack = (): void => this.live.retryNow();

  private readonly pageSeen = (): void => {
    // A phone may end a hidden page without another word.
    if (document.hidden) this.save();
    else this.live.retryNow();
  };

  /** Begins with what this tab last knew, while the hub is away. Its session is asked for again when the hub is back. */
  beginFrom(known: LastKnown): void {
    for (const stream of known.streams) this.known.set(stream.stream, stream);
    this.restore(this.fleet);
    this.live.beginOffline(known.savedMs, known.offsetMs, known.history);
    this.begin(known.session);
  }

  /** Lets go of everything: another workspace follows, or nobody is signed in. */
  end(): void {
    this.live.stop();
    this.ended = true;
    this.stopWriting?.();
    removeEventListener("pagehide", this.save);
    removeEventListener("online", this.networkBack);
    removeEventListener("offline", this.doubt);
    document.removeEventListener("visibilitychange", this.pageSeen);
  }

  private take(session: SessionRow): void {
    this.session = session;
    keepPersonal(session.principal.id);
    keepOnlyOf(session.principal.id);
    setProgram(session.program);
    this.hub.rest.csrf = session.csrf ?? "";
  }

  private readonly ticket = async (signal: AbortSignal): Promise<string> => {
    if (!this.hub.rest.csrf) {
      const session = await this.hub.session(signal);
      if (session.principal.id !== this.session?.principal.id) {
        this.startOver();
        throw new Error("another person is signed in");
      }
      this.take(session);
    }
    return this.hub.ticket(signal);
  };

  private readonly save = (): void => {
    if (!this.session) return;
    whole(this.writing(true));
    save(this.session, this.live, this.texts(), [...this.known.values()]);
  };

  /** The streams that are looked at come first: the fleet, then the page's own. */
  private texts(): KeptText[] {
    const held = [...this.held.values()].filter(({ model }) => model.ready);
    const weight = ({ model, users }: Held) => (model === this.fleet ? Number.POSITIVE_INFINITY : users);
    return held.sort((a, b) => weight(b) - weight(a)).map(({ text }) => text);
  }

  /** Of what has changed, keeps the text while a person looks at the page, so that leaving it is quick. */
  private readonly writeLater = (): void => {
    if (this.stopWriting || this.ended || document.hidden) return;
    const timer = setTimeout(() => {
      this.stopWriting = inSlices(this.writing(), () => {
        this.stopWriting = null;
      });
    }, WRITE_AFTER_MS);
    this.stopWriting = () => clearTimeout(timer);
  };

  private *writing(leaving = false): Steps {
    const texts = this.texts();
    for (const text of texts) yield* text.steps(leaving);
    yield* store(texts);
  }

  private restore(model: StreamModel): void {
    const kept = this.known.get(model.stream);
    this.known.delete(model.stream);
    if (!kept || model.ready) return;
    model.readSnapshot(kept);
    model.readPast(kept.events);
  }

  /** Hub time now. */
  now(): number {
    return Date.now() + this.live.offsetMs;
  }

  acquire(stream: string): StreamModel {
    let held = this.held.get(stream);
    if (!held) {
      const model = new StreamModel(stream);
      // It is there before the snapshot, so that the tasks of a large one are worked out while that is read, in slices.
      if (stream !== FLEET) groupsOf(model, this.fleet);
      this.restore(model);
      held = { model, text: new KeptText(model), users: 0, linger: null };
      this.held.set(stream, held);
      model.subscribe(this.writeLater);
      // A stream is taken while a page is being drawn, and asking for it changes what another part shows.
      const taken = held;
      queueMicrotask(() => {
        if (this.held.get(stream) === taken)
          this.live.subscribe(stream, sinkOf(model, stream === FLEET ? this.changes : null));
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
      remove(stream);
      this.live.unsubscribe(stream);
    }, LINGER_MS);
  }
}

function sinkOf(model: StreamModel, changes: Changes | null): Sink {
  return {
    afterSeq: () => (model.ready ? model.seq : -1),
    snapshot: (frame) => model.snapshotSteps(frame),
    events: (events) => model.readEvents(events),
    beside: (items) => {
      model.readBeside(items);
      changes?.take(items);
    },
    missing: (reason, unknown) => model.readMissing(reason, unknown),
  };
}

function openSocket(): Socket {
  const url = new URL("/api/v1/live", location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  // The browser declares `this` of handlers narrower than anyone here needs.
  return new WebSocket(url) as unknown as Socket;
}
