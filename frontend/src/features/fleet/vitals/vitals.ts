/** The lines of devices as the hub keeps them, and what devices worked at today; both are read when they change. */

import { useWorkspace } from "../../../app/workspace/context.ts";
import { type Resource, useResource } from "../../../app/workspace/resource.ts";
import type { DeviceWork, Vitals } from "../../../model/types.ts";

/** Half a step of a line, so that a new value is seen soon. */
const LINES_PAUSE_MS = 15_000;
const WORK_PAUSE_MS = 10_000;
/** The most that one answer of the hub holds. */
const ASKED_MAX = 100;

export function useVitals(devices: readonly string[]): Resource<Vitals> {
  const { hub } = useWorkspace();
  const asked = devices.slice(0, ASKED_MAX);
  return useResource(
    asked.length ? `vitals ${asked.join(" ")}` : null,
    (signal) => hub.vitals(asked, signal),
    ["vitals", "devices"],
    LINES_PAUSE_MS,
  );
}

/** Counts of constellations since midnight of this computer, by device. */
export function useWorkToday(devices: readonly string[]): ReadonlyMap<string, DeviceWork> {
  const workspace = useWorkspace();
  const { hub } = workspace;
  const asked = devices.slice(0, ASKED_MAX);
  const since = midnight(workspace.now());
  const told = useResource(
    asked.length ? `work today ${since} ${asked.join(" ")}` : null,
    (signal) => hub.deviceWork(asked, since, signal),
    ["tasks", "constellations"],
    WORK_PAUSE_MS,
  );
  return new Map((told.value?.items ?? []).map((item) => [item.device, item]));
}

export function midnight(nowMs: number): number {
  const day = new Date(nowMs);
  day.setHours(0, 0, 0, 0);
  return day.getTime();
}
