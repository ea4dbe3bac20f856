/**
 * What a device did in the last hour: its calls and the times it was away, from the record of activity. Only an owner may
 * read that; for others the silences of the device's lines are the times it was away. Draws nothing.
 */
import { useMemo } from "react";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import { history } from "../../../link/history.ts";
import type { Line } from "../../../model/fleet/vitals.ts";
import { type Absence, absencesOf, awayTimes, silencesOf } from "../../../model/run/absences.ts";
import { callsOf, type DeviceCall } from "../../../model/run/deviceCalls.ts";
import type { ActivityRow, Topic, Vitals } from "../../../model/types.ts";

/** The most that the hub gives at once; some sixty calls. */
const DEEDS_MOST = 200;
/** As the lines beside which they stand: half a step. A busy hub would be asked for the record all the time. */
const AGAIN_MS = 15_000;

interface Hour {
  calls: readonly DeviceCall[];
  away: readonly Absence[];
}

export function useHour(device: string, vitals: Vitals, lines: readonly Line[]): Hour {
  const calls = useDeeds(device, "work", "tasks", callsOf);
  const told = useDeeds(device, "devices", "devices", absencesOf);
  const { until_ms: untilMs, step_s: stepS, slots } = vitals;
  const sinceMs = untilMs - slots * stepS * 1000;
  return useMemo(() => {
    const points = lines.map((line) => line.points);
    const away = awayTimes(told ?? [], silencesOf(points, untilMs, stepS), sinceMs);
    return { away, calls: (calls ?? []).filter((call) => !call.toMs || call.toMs > sinceMs) };
  }, [calls, told, lines, untilMs, stepS, sinceMs]);
}

/** What the record says of one kind of deeds of a device, read again when that kind may have changed; null for others. */
function useDeeds<T>(
  device: string,
  kind: "work" | "devices",
  topic: Topic,
  read: (deeds: readonly ActivityRow[]) => T,
): T | null {
  const { hub, session } = useWorkspace();
  return useResource(
    session?.role === "owner" ? `${kind} of ${device} in the record` : null,
    async (signal) => read((await history.activity(hub.rest, { device, kind, limit: DEEDS_MOST }, signal)).items),
    [topic],
    AGAIN_MS,
  ).value;
}
