/** The changes while a person was away: ends of constellations, devices that came or went. Pure. */

import type { DeviceView } from "../../model/fleet/fleet.ts";
import type { ConstellationRow } from "../../model/types.ts";
import { createdMs, endedMs } from "../../model/words/times.ts";

export interface Since {
  ended: ConstellationRow[];
  failed: ConstellationRow[];
  /** Succeeded, with an answer that tells of trouble. */
  alarms: ConstellationRow[];
  asked: ConstellationRow[];
  joined: DeviceView[];
  /** Out of reach now, and were not when the person left. */
  gone: DeviceView[];
  /** Whether there may be more than the list of constellations holds. */
  more: boolean;
}

/** `rows` are the newest constellations, `whole` whether they are all. */
export function changesSince(
  sinceMs: number,
  rows: readonly ConstellationRow[],
  whole: boolean,
  fleet: readonly DeviceView[],
): Since {
  const ended = rows.filter((row) => endedMs(row) > sinceMs);
  return {
    ended,
    failed: ended.filter((row) => row.state === "failed"),
    alarms: ended.filter((row) => row.alarm),
    asked: rows.filter((row) => createdMs(row) > sinceMs && !endedMs(row)),
    joined: fleet.filter((view) => view.device.joined_ms > sinceMs),
    gone: fleet.filter(
      (view) =>
        view.device.link !== "online" && (view.device.link_since_ms ?? 0) > sinceMs && view.device.joined_ms <= sinceMs,
    ),
    more: !whole && rows.length > 0 && rows.every((row) => createdMs(row) > sinceMs),
  };
}

export const isNothing = (since: Since): boolean =>
  [since.ended, since.asked, since.joined, since.gone].every((part) => part.length === 0);

/** The failures first, then alarms and the newest other ends; without those that are shown elsewhere. */
export function worthShowing(since: Since, elsewhere: readonly ConstellationRow[]): ConstellationRow[] {
  const shown = new Set(elsewhere.map((row) => row.id));
  const others = since.ended.filter((row) => row.state !== "failed" && !row.alarm);
  return [...since.failed, ...since.alarms, ...others].filter((row) => !shown.has(row.id));
}
