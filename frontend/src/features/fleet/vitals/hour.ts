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
import type { Vitals } from "../../../model/types.ts";

/** The most that the hub gives at once; some sixty calls. */
const DEEDS_MOST = 200;
const AGAIN_MS = 5_000;

interface Hour {
  calls: readonly DeviceCall[];
  away: readonly Absence[];
}

export function useHour(device: string, vitals: Vitals, lines: readonly Line[]): Hour {
  const { hub, session } = useWorkspace();
  const read = useResource(
    session?.role === "owner" ? `hour of ${device}` : null,
    async (signal) => {
      const of = (kind: "work" | "devices") =>
        history.activity(hub.rest, { device, kind, limit: DEEDS_MOST }, signal).then((page) => page.items);
      const [work, links] = await Promise.all([of("work"), of("devices")]);
      return { calls: callsOf(work), told: absencesOf(links) };
    },
    ["tasks", "devices"],
    AGAIN_MS,
  ).value;
  const { until_ms: untilMs, step_s: stepS, slots } = vitals;
  const sinceMs = untilMs - slots * stepS * 1000;
  return useMemo(() => {
    const points = lines.map((line) => line.points);
    const away = awayTimes(read?.told ?? [], silencesOf(points, untilMs, stepS), sinceMs);
    return { away, calls: (read?.calls ?? []).filter((call) => !call.toMs || call.toMs > sinceMs) };
  }, [read, lines, untilMs, stepS, sinceMs]);
}
