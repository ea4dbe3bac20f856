/**
 * One stream as the page holds it: its entities, its place in the log, its last events and what travels beside.
 * Keeps order: a doubled event is dropped, a gap is reported and changes nothing. No React, no socket.
 */

import type { BesideItem, Entity, Sketch, SnapshotFrame, StreamEvent } from "../types.ts";
import { LogLines } from "./logLines.ts";
import { everyNth, type Steps, whole } from "./steps.ts";

const EVENTS_KEPT = 2000;
/** Kinds whose coming, going or change may move something in the drawing. */
const STRUCTURE = new Set(["spec", "dep", "item"]);
/** So many entities are read between two places at which reading may pause; well below a millisecond. */
const ENTITIES_A_STEP = 512;

/** Hears each entity that was put or removed, at once: whoever keeps something of it marks it and works it out later. */
interface Watcher {
  put(kind: string, id: string): void;
  /** All of it is another now. */
  reset(): void;
  /** Works out what it keeps of all of it, before the listeners of the stream are told. */
  prepare?(): Steps;
}

/** Entities by kind, and by the rest of their key. */
type Shelves = Map<string, Map<string, Entity>>;

export class StreamModel {
  readonly stream: string;
  readonly progress = new Map<string, { fraction: number; note: string; done_bytes: number; attempt: number }>();
  readonly lines = new LogLines();
  /** The newest picture of a plan that a model writes; whether it still counts, `sketchNow` says. */
  sketch: Sketch | null = null;
  events: StreamEvent[] = [];
  seq = -1;
  /** Hub time at which this stream stands still, for a past version; 0 for the present. */
  asOfMs = 0;
  ready = false;
  /** Why there is nothing, in the hub's words; empty while it is on its way or here. */
  absent = "";
  /** The hub has never had it, or has kept nothing of it. */
  unknown = false;
  /** Rises with every change; `structure` only when the drawing may have to move. */
  revision = 0;
  structure = 0;
  private kinds: Shelves = new Map();
  /** The parts of a snapshot until its last one is here. */
  private arriving: Shelves = new Map();
  private readonly listeners = new Set<() => void>();
  private readonly watchers: Watcher[] = [];

  constructor(stream: string) {
    this.stream = stream;
  }

  /** All entities of one kind by the rest of their key, in no promised order. */
  kind<T>(name: string): ReadonlyMap<string, T> {
    return (this.kinds.get(name) ?? EMPTY) as unknown as ReadonlyMap<string, T>;
  }

  one<T>(key: string): T | undefined {
    const [kind, id] = partsOf(key);
    return this.of<T>(kind, id);
  }

  /** One entity by its kind and the rest of its key: for thousands of them cheaper than a key put together. */
  of<T>(kind: string, id: string): T | undefined {
    return this.kinds.get(kind)?.get(id) as unknown as T | undefined;
  }

  /** All entities with their keys. */
  *entities(): Generator<[key: string, entity: Entity]> {
    for (const [kind, shelf] of this.kinds) {
      for (const [id, entity] of shelf) yield [id ? `${kind}/${id}` : kind, entity];
    }
  }

  readSnapshot(frame: Omit<SnapshotFrame, "t" | "stream" | "hash">): void {
    whole(this.snapshotSteps(frame));
  }

  /**
   * Reads a snapshot or a part of one, with pauses. What was there stays until all of it is read; events must wait for
   * the end.
   */
  *snapshotSteps(frame: Omit<SnapshotFrame, "t" | "stream" | "hash">): Steps {
    const { part = 0, parts = 1 } = frame;
    if (part === 0) this.arriving = new Map();
    const kinds = this.arriving;
    const pause = everyNth(ENTITIES_A_STEP);
    for (const key of Object.keys(frame.entities)) {
      const entity = frame.entities[key];
      if (entity) put(kinds, key, entity);
      if (pause()) yield;
    }
    if (part < parts - 1) return;
    this.arriving = new Map();
    this.kinds = kinds;
    this.seq = frame.seq;
    this.ready = true;
    this.absent = "";
    this.unknown = false;
    this.structure += 1;
    for (const watcher of this.watchers) watcher.reset();
    try {
      for (const watcher of this.watchers) if (watcher.prepare) yield* watcher.prepare();
    } finally {
      this.changed();
    }
  }

  /** Applies events of this stream in order. Returns false at a gap; what came before it stays applied. */
  readEvents(events: readonly StreamEvent[]): boolean {
    let whole = true;
    for (const event of events) {
      if (event.seq <= this.seq) continue;
      if (!this.ready || event.seq !== this.seq + 1) {
        whole = false;
        break;
      }
      for (const [key, entity] of Object.entries(event.puts)) {
        const [kind, id] = put(this.kinds, key, entity);
        if (STRUCTURE.has(kind)) this.structure += 1;
        for (const watcher of this.watchers) watcher.put(kind, id);
      }
      this.seq = event.seq;
      this.events.push(event);
    }
    if (this.events.length > EVENTS_KEPT * 1.25) this.events = this.events.slice(-EVENTS_KEPT);
    this.changed();
    return whole;
  }

  /** Puts older events before those held, so that the feed has a past after a snapshot. */
  readPast(events: readonly StreamEvent[]): void {
    const first = this.events[0]?.seq ?? this.seq + 1;
    const older = events.filter((event) => event.seq < first);
    if (older.length === 0) return;
    this.events = [...older, ...this.events];
    this.changed();
  }

  readBeside(items: readonly BesideItem[]): void {
    let taken = false;
    for (const item of items) taken = this.takeBeside(item) || taken;
    // That a list elsewhere has changed is news for its readers, not for those of this stream.
    if (taken) this.changed();
  }

  private takeBeside(item: BesideItem): boolean {
    const value = (item.value ?? {}) as Record<string, unknown>;
    if (item.kind === "progress") {
      this.progress.set(item.about, {
        fraction: Number(value.fraction_1000 ?? -1),
        note: String(value.note ?? ""),
        done_bytes: Number(value.done_bytes ?? 0),
        attempt: item.attempt ?? 0,
      });
    } else if (item.kind === "log") {
      const { offset, stream, text } = value;
      const chunk = { offset: Number(offset ?? 0), stream: String(stream ?? "out"), text: String(text ?? "") };
      this.lines.take(item.about, item.attempt ?? 0, chunk);
    } else if (item.kind === "sketch") this.sketch = item.value as Sketch;
    else return false;
    return true;
  }

  readMissing(reason: string, unknown = false): void {
    this.absent = reason;
    this.unknown = unknown;
    this.changed();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Lives as long as the stream. */
  watch(watcher: Watcher): void {
    this.watchers.push(watcher);
  }

  private changed(): void {
    this.revision += 1;
    for (const listener of this.listeners) listener();
  }
}

const EMPTY: Map<string, Entity> = new Map();

function partsOf(key: string): [kind: string, id: string] {
  const cut = key.indexOf("/");
  return cut < 0 ? [key, ""] : [key.slice(0, cut), key.slice(cut + 1)];
}

/** Puts or removes one entity: the twin of the core's `apply`, kept by kind. */
function put(kinds: Shelves, key: string, entity: Entity | null): [kind: string, id: string] {
  const [kind, id] = partsOf(key);
  const shelf = kinds.get(kind);
  if (entity === null) shelf?.delete(id);
  else if (shelf) shelf.set(id, entity);
  else kinds.set(kind, new Map([[id, entity]]));
  return [kind, id];
}
