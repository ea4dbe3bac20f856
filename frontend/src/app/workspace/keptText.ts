/**
 * A stream as the texts that are kept for a reload without the hub: parts of some dozen entities each, and a head with
 * its place in the log, its last events and the entities that changed since their part was written. A page has little
 * time as it is left, and one stream may be thousands of tasks: parts are written while the page is open.
 */
import { everyNth, type Steps } from "../../model/stream/steps.ts";
import type { Entity, StreamEvent } from "../../model/types.ts";

const EVENTS_MAX = 200;
/** Above so many attempts, those of a stream are kept without the values they gave, which are most of its text. */
const VALUED_ATTEMPTS_MAX = 500;
const NO_VALUE_KEPT = "The hub has the value.";
/** Kinds of the fleet that stand for a moment, and would be taken for a present one: pairings, and what devices ask. */
const LEFT_OUT: ReadonlySet<string> = new Set(["enrollment", "asks"]);
/** Some 20 KB of text, written in well below a millisecond. */
const ENTITIES_A_PART = 64;
/** So many changes stay in the head before the parts they belong to are written anew. */
const CHANGES_MAX = 128;
/** So many keys are given a part between two places at which writing may pause. */
const KEYS_A_STEP = 1024;

interface Kept {
  readonly stream: string;
  readonly seq: number;
  readonly events: readonly StreamEvent[];
  kind(name: string): ReadonlyMap<string, Entity>;
  one<T>(key: string): T | undefined;
  entities(): Iterable<[key: string, entity: Entity]>;
  watch(watcher: { put(kind: string, id: string): void; reset(): void }): void;
}

/** Some entities as one JSON object. */
interface Part {
  readonly keys: Set<string>;
  /** Null once the storage has it, or while it was never written. */
  text: string | null;
  size: number;
  /** To be written: some of its entities have changed since. */
  stale: boolean;
  /** The storage has a text of it. Those that changed since that was written are among the changes of the head. */
  stored: boolean;
}

/** Lives as long as its stream, and hears from it which entities change. */
export class KeptText {
  readonly parts: Part[] = [];
  private readonly partOf = new Map<string, Part>();
  private readonly changes = new Set<string>();
  private allNew = true;
  private withValues = true;
  private absent = false;

  constructor(private readonly of: Kept) {
    of.watch({
      put: (kind, id) => {
        if (!LEFT_OUT.has(kind)) this.changes.add(id ? `${kind}/${id}` : kind);
      },
      reset: () => {
        this.allNew = true;
      },
    });
  }

  get stream(): string {
    return this.of.stream;
  }

  /** The characters of all parts, the stored ones among them. */
  get size(): number {
    return this.parts.reduce((sum, part) => sum + part.size, 0);
  }

  /**
   * Writes the parts that are to be written, with pauses. Few changes since they were written stay in the head; with
   * `leaving`, all of the parts that are stored.
   */
  *steps(leaving = false): Steps {
    if (!leaving || this.allNew) this.chooseValues();
    if (this.absent && !this.allNew) return;
    this.absent = false;
    if (this.allNew) {
      this.parts.length = 0;
      this.partOf.clear();
      const pause = everyNth(KEYS_A_STEP);
      for (const [key] of this.of.entities()) {
        this.assign(key);
        if (pause()) yield;
      }
      this.allNew = false;
    } else if (this.changes.size > CHANGES_MAX && !leaving) for (const key of this.changes) this.assign(key);
    for (const part of [...this.parts]) {
      if (!part.stale || (leaving && part.stored)) continue;
      this.write(part);
      yield;
    }
  }

  /** The rest of the text beside its parts. An entity that is gone since its part was written stands there as null. */
  head(): string {
    const { stream, seq, events } = this.of;
    const entities: Record<string, Entity | null> = {};
    for (const key of this.changes) entities[key] = this.kept(key) ?? null;
    const last = events.slice(-EVENTS_MAX).map(withoutLeftOut);
    return JSON.stringify({ stream, seq, events: last, parts: this.parts.length, entities });
  }

  /** The storage has no room for it: until it may have, nothing of it is written. */
  leaveOut(): void {
    this.absent = true;
    for (const part of this.parts) Object.assign(part, { text: null, stored: false });
  }

  /** The storage may have room for it again. */
  takeIn(): void {
    if (!this.absent) return;
    this.absent = false;
    for (const part of this.parts) part.stale = true;
  }

  private chooseValues(): void {
    let valued = 0;
    for (const attempt of this.of.kind("attempt").values()) if (attempt.value != null) valued += 1;
    const withValues = valued <= VALUED_ATTEMPTS_MAX;
    if (withValues === this.withValues) return;
    this.withValues = withValues;
    this.absent = false;
    for (const part of this.parts) part.stale = true;
  }

  private assign(key: string): void {
    if (leftOut(key)) return;
    let part = this.partOf.get(key);
    if (!part) {
      part = this.parts.at(-1);
      if (!part || part.keys.size >= ENTITIES_A_PART) {
        part = { keys: new Set(), text: null, size: 0, stale: true, stored: false };
        this.parts.push(part);
      }
      part.keys.add(key);
      this.partOf.set(key, part);
    }
    part.stale = true;
  }

  private write(part: Part): void {
    const entities: Record<string, Entity> = {};
    for (const key of part.keys) {
      this.changes.delete(key);
      const entity = this.kept(key);
      if (entity) entities[key] = entity;
      else {
        part.keys.delete(key);
        this.partOf.delete(key);
      }
    }
    part.text = JSON.stringify(entities);
    part.size = part.text.length;
    part.stale = false;
  }

  private kept(key: string): Entity | undefined {
    const entity = this.of.one<Entity>(key);
    if (!entity || this.withValues || entity.value == null || !key.startsWith("attempt/")) return entity;
    const { value: _, ...attempt } = entity;
    return { ...attempt, detail: attempt.detail || NO_VALUE_KEPT };
  }
}

const leftOut = (key: string): boolean => LEFT_OUT.has(key.split("/", 1)[0] ?? "");

function withoutLeftOut(event: StreamEvent): StreamEvent {
  if (!Object.keys(event.puts).some(leftOut)) return event;
  return { ...event, puts: Object.fromEntries(Object.entries(event.puts).filter(([key]) => !leftOut(key))) };
}
