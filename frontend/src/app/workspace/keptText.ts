/**
 * A stream as the text that is kept for a reload without the hub. A page has little time as it is left, and one stream
 * may be thousands of tasks: the text of each entity is made while the page is open, and only joined at the end.
 */
import { everyNth, type Steps, whole } from "../../model/stream/steps.ts";
import type { Entity, StreamEvent } from "../../model/types.ts";

const EVENTS_MAX = 200;
/** Above so many attempts, those of a stream are kept without the values they gave, which are most of its text. */
const VALUED_ATTEMPTS_MAX = 500;
const NO_VALUE_KEPT = "The hub has the value.";
/** Kinds of the fleet that stand for a moment, and would be taken for a present one: pairings, and what devices ask. */
const LEFT_OUT: ReadonlySet<string> = new Set(["enrollment", "asks"]);
/** So many entities are written between two places at which writing may pause; about a millisecond. */
const ENTITIES_A_STEP = 128;

interface Kept {
  readonly stream: string;
  readonly seq: number;
  readonly events: readonly StreamEvent[];
  kind(name: string): ReadonlyMap<string, Entity>;
  entities(): Iterable<[key: string, entity: Entity]>;
}

/** Holds the text of each entity for as long as the stream holds the entity: a changed one is another object. */
export class KeptText {
  private written = new WeakMap<Entity, string>();
  private withValues = true;

  constructor(private readonly of: Kept) {}

  /** Writes the entities that are not written yet, with pauses. */
  *steps(): Steps {
    let valued = 0;
    for (const attempt of this.of.kind("attempt").values()) if (attempt.value != null) valued += 1;
    const withValues = valued <= VALUED_ATTEMPTS_MAX;
    if (withValues !== this.withValues) this.written = new WeakMap();
    this.withValues = withValues;
    const pause = everyNth(ENTITIES_A_STEP);
    for (const [key, entity] of this.of.entities()) {
      if (this.written.has(entity)) continue;
      this.write(key, entity);
      if (pause()) yield;
    }
  }

  /** The whole text. Quick where `steps` were done before, but for what has changed since. */
  text(): string {
    whole(this.steps());
    const { stream, seq, events } = this.of;
    const entities: string[] = [];
    for (const [, entity] of this.of.entities()) {
      const text = this.written.get(entity);
      if (text) entities.push(text);
    }
    const rest = JSON.stringify({ stream, seq, events: events.slice(-EVENTS_MAX) });
    return `${rest.slice(0, -1)},"entities":{${entities.join(",")}}}`;
  }

  private write(key: string, entity: Entity): void {
    const kind = key.split("/", 1)[0] ?? "";
    let kept = entity;
    if (kind === "attempt" && !this.withValues && entity.value != null) {
      const { value: _, ...attempt } = entity;
      kept = { ...attempt, detail: attempt.detail || NO_VALUE_KEPT };
    }
    this.written.set(entity, LEFT_OUT.has(kind) ? "" : `${JSON.stringify(key)}:${JSON.stringify(kept)}`);
  }
}
