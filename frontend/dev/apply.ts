/**
 * The generic fold: the twin of the core's `apply`. An event puts whole entities, null removes; nothing else
 * ever changes a stream's state. Knows no kind of entity.
 */
import type { Entity, StreamEvent } from "../src/model/types.ts";

function applyEvent(entities: Map<string, Entity>, event: StreamEvent): void {
  for (const [key, entity] of Object.entries(event.puts)) {
    if (entity === null) entities.delete(key);
    else entities.set(key, entity);
  }
}

/** Folds events in place and returns the same map. The events must be in the order of their numbers. */
export function fold(entities: Map<string, Entity>, events: Iterable<StreamEvent>): Map<string, Entity> {
  for (const event of events) applyEvent(entities, event);
  return entities;
}
