/**
 * A constellation as it was: the log folded again up to the end of a version. The page's own fold makes the past,
 * so no second description of a state exists.
 */

import type { StreamEvent, Version } from "../types.ts";
import { StreamModel } from "./stream.ts";

/** The number of the last event that still belongs to version `number`; null if the log does not reach it. */
export function lastSeqOf(log: readonly StreamEvent[], number: number): number | null {
  let found: number | null = null;
  for (const event of log) {
    for (const key of Object.keys(event.puts)) {
      if (!key.startsWith("version/")) continue;
      const at = Number(key.slice(8));
      if (at === number) found = event.seq;
      else if (at > number && found !== null) return event.seq - 1;
    }
  }
  return found === null ? null : (log[log.length - 1]?.seq ?? null);
}

/** The stream as of `seq`, folded from a log that begins at its first event; null where events of it are missing. */
export function modelAt(stream: string, log: readonly StreamEvent[], seq: number): StreamModel | null {
  const model = new StreamModel(stream);
  model.readSnapshot({ entities: {}, seq: (log[0]?.seq ?? 1) - 1 });
  const past = log.filter((event) => event.seq <= seq);
  if (!model.readEvents(past)) return null;
  model.asOfMs = past[past.length - 1]?.at_ms ?? 0;
  return model;
}

export interface Overlay {
  added: ReadonlySet<string>;
  changed: ReadonlySet<string>;
  /** Removed by this version or an earlier one, with the number of the version that did it. */
  removed: ReadonlyMap<string, number>;
}

/** What version `number` did to the plan, for badges and ghosts. A later return of a removed id clears its ghost. */
export function overlay(versions: readonly Version[], number: number, marks: boolean): Overlay {
  const removed = new Map<string, number>();
  let added: ReadonlySet<string> = new Set();
  let changed: ReadonlySet<string> = new Set();
  for (const version of versions) {
    if (version.number > number) break;
    for (const id of version.added ?? []) removed.delete(id);
    for (const id of version.removed ?? []) removed.set(id, version.number);
    if (marks && version.number === number) {
      added = new Set(version.added ?? []);
      changed = new Set(version.changed ?? []);
    }
  }
  return { added, changed, removed };
}
