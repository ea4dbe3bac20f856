/** Lines and counts of devices as a hub answers them: the server was not heard for some minutes. */
import type { ActivityRow, DeviceWork, Vitals } from "../src/model/types.ts";
import { CONSTELLATION } from "./scenario.ts";

const SLOTS = 120;
const STEP_S = 30;
const SILENT = { from: 60, to: 80 };

export function vitalsOf(devices: string[], nowMs: number): Vitals {
  const until = Math.floor(nowMs / (STEP_S * 1000)) * STEP_S * 1000;
  return {
    hub: "",
    items: devices.map((device) => ({
      device,
      heard_ms: until,
      lines: {
        load_percent: line((at) => 30 + Math.round(20 * Math.sin(at / 6)), device),
        memory_percent: line((at) => 50 + (at % 7), device),
        latency_ms: line((at) => 3 + (at % 5), device),
      },
    })),
    since_ms: until - SLOTS * STEP_S * 1000,
    slots: SLOTS,
    step_s: STEP_S,
    until_ms: until,
  };
}

const line = (of: (at: number) => number, device: string): (number | null)[] =>
  Array.from({ length: SLOTS }, (_, at) =>
    device.includes("server") && at >= SILENT.from && at < SILENT.to ? null : of(at),
  );

/** The record of a device's hour: two calls, one of which failed; it was out of reach as long as its lines are silent. */
export function deedsOf(device: string, kind: string | null, nowMs: number): { items: Partial<ActivityRow>[] } {
  const deed = (kindOf: string, minutesAgo: number, about: string): Partial<ActivityRow> => ({
    about,
    at: new Date(nowMs - minutesAgo * 60_000).toISOString(),
    by: `device:${device}`,
    kind: kindOf,
    stream: CONSTELLATION,
    stream_name: "Photo backup",
  });
  if (kind === "work")
    return {
      items: [
        deed("task_failed", 9, "send.3"),
        deed("task_started", 12, "send.3"),
        deed("task_succeeded", 44, "list"),
        deed("task_started", 45, "list"),
      ],
    };
  const away = kind === "devices" && device.includes("server");
  return { items: away ? [deed("device_online", 20, device), deed("device_offline", 30, device)] : [] };
}

export const workOf = (devices: string[]): { items: DeviceWork[]; next: null } => ({
  items: devices.map((device) => ({ device, constellations: { succeeded: 4, failed: 1 } })),
  next: null,
});
