/** Requests for which no plan could be made: what was tried, and the ones that still wait for a person. Pure. */
import type { ConstellationRow, ModelCall } from "../../model/types.ts";
import { createdMs, endedMs } from "../../model/words/times.ts";
import { plural } from "../../model/words/words.ts";

/** Requests of one cause, the newest first. */
export interface Unplanned {
  reason: string;
  rows: ConstellationRow[];
}

/** After a day nobody waits for the answer any more. */
const AGE_MAX_MS = 24 * 3_600_000;

/** The requests of the last day that were not asked again, by the reason why they have no plan. */
export function unplannedOf(rows: readonly ConstellationRow[], nowMs: number): Unplanned[] {
  const found = new Map<string, ConstellationRow[]>();
  const newestFirst = [...rows].sort((one, other) => createdMs(other) - createdMs(one));
  const asked = new Set<string>();
  for (const row of newestFirst) {
    const again = asked.has(row.request);
    asked.add(row.request);
    if (again || row.state !== "failed" || !row.request || !row.attention?.includes("planning_failed")) continue;
    if (nowMs - endedMs(row) > AGE_MAX_MS) continue;
    found.set(row.sentence, [...(found.get(row.sentence) ?? []), row]);
  }
  return [...found].map(([reason, own]) => ({ reason, rows: own }));
}

/** Which models were asked for a plan and gave no reply; empty where each of them replied. */
export function triedWords(calls: Iterable<Pick<ModelCall, "model" | "fault">>): string {
  const times = new Map<string, number>();
  for (const { model, fault } of calls) if (model && fault) times.set(model, (times.get(model) ?? 0) + 1);
  const told = [...times].map(([model, count]) => `${model} (${plural(count, "time")})`);
  return told.length > 0 ? `Without a reply: ${told.join(", ")}.` : "";
}
