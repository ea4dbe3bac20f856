/**
 * The figures of a device over the last hour, made ready to be drawn and to be said. Pure. A time at which nothing was
 * heard stays a gap here: no value is made up between two others.
 */

import { DISK_NEARLY_FULL_PERCENT } from "../../generated/protocol.ts";
import type { Vital, Vitals } from "../types.ts";
import { IDLE } from "./fleet.ts";

export interface Line {
  vital: Vital;
  title: string;
  unit: string;
  /** One value a step, the last one that of now; null: nothing was heard. */
  points: readonly (number | null)[];
  /** The last value, unless it is older than a step. */
  now: number | null;
  /** The upper end of the scale; it begins at 0. */
  most: number;
}

interface Kind {
  title: string;
  unit: string;
  /** The scale reaches at least so far. */
  least: number;
}

const KINDS: Record<Vital, Kind> = {
  load_percent: { title: "Load", unit: "%", least: 100 },
  memory_percent: { title: "Memory", unit: "%", least: 100 },
  disk_percent: { title: "Disk", unit: "%", least: 100 },
  battery_percent: { title: "Battery", unit: "%", least: 100 },
  latency_ms: { title: "Latency", unit: "ms", least: 20 },
};
/** In the order in which they are shown. */
const SHOWN: readonly Vital[] = ["load_percent", "memory_percent", "disk_percent", "battery_percent", "latency_ms"];
/** A value may be a step old, because devices say theirs within it. */
const NOW_WITHIN = 2;

/** The lines that one device has; those that were never heard are left out. */
export function linesOf(vitals: Vitals | null, device: string): Line[] {
  const said = vitals?.items.find((item) => item.device === device);
  if (!vitals || !said) return [];
  return SHOWN.flatMap((vital) => {
    const heard = said.lines[vital];
    if (!heard?.length) return [];
    const points = [...new Array<null>(Math.max(vitals.slots - heard.length, 0)).fill(null), ...heard];
    const { title, unit, least } = KINDS[vital];
    const now = points.slice(-NOW_WITHIN).findLast((value) => value !== null) ?? null;
    return [{ vital, title, unit, points, now, most: niceMost(points, least) }];
  });
}

/** Runs of neighbouring values, as [first step, values]; between two runs nothing was heard. */
export function runs(points: readonly (number | null)[]): [number, number[]][] {
  const found: [number, number[]][] = [];
  let open: number[] | null = null;
  points.forEach((value, step) => {
    if (value === null) open = null;
    else if (open) open.push(value);
    else {
      open = [value];
      found.push([step, open]);
    }
  });
  return found;
}

/** Stretches between two runs, as [first step, last step] that are empty; the time before the first run is none. */
export function gaps(points: readonly (number | null)[]): [number, number][] {
  const heard = runs(points);
  return heard.slice(1).map(([start], at) => {
    const [before, values] = heard[at] as [number, number[]];
    return [before + values.length, start - 1];
  });
}

/** `34 %`, `4 ms`, `1.2 s`. */
export function figure(value: number | null, unit: string): string {
  if (value === null) return "not heard";
  if (unit === "ms" && value >= 1000) return `${(value / 1000).toFixed(1)} s`;
  return `${value} ${unit}`;
}

/** Whether more wants to run than the processors can do at once. */
export const overFull = (line: Pick<Line, "vital" | "now">): boolean =>
  line.vital === "load_percent" && line.now !== null && line.now > 100;

/** Whether so much of the disk is used that it counts as nearly full. */
export const nearlyFull = (line: Pick<Line, "vital" | "now">): boolean =>
  line.vital === "disk_percent" && line.now !== null && line.now >= DISK_NEARLY_FULL_PERCENT;

/** An idle device says that other programs load it high, and how full a nearly full disk is. */
export function withLoad<T extends { word: string }>(shown: T, lines: readonly Line[]): T {
  if (shown.word !== IDLE) return shown;
  const disk = lines.find(nearlyFull);
  const loaded = lines.some(overFull) ? ", high load" : "";
  return loaded || disk ? { ...shown, word: `${IDLE}${loaded}${disk ? `, disk ${disk.now} % full` : ""}` } : shown;
}

/** The sense of a figure that is out of the usual, in brackets; empty for any other. */
function senseOf(line: Line): string {
  if (overFull(line)) {
    const times = Math.round((line.now ?? 0) / 100);
    return ` (${times > 1 ? `${times} times` : "more than"} what its processors can do at once)`;
  }
  return nearlyFull(line) ? ` (nearly full from ${DISK_NEARLY_FULL_PERCENT} % on)` : "";
}

/** A line in one sentence, for whoever does not see it. */
export function sentenceOf(line: Line, stepS: number): string {
  const heard = line.points.filter((value): value is number => value !== null);
  if (!heard.length) return `${line.title}: not heard in the last hour`;
  const silent = gaps(line.points).reduce((sum, [first, last]) => sum + last - first + 1, 0);
  const said = [
    `${line.title} ${line.now === null ? "not heard now" : figure(line.now, line.unit)}${senseOf(line)}`,
    `from ${figure(Math.min(...heard), line.unit)} to ${figure(Math.max(...heard), line.unit)} in ${minutes(heard.length + silent, stepS)}`,
  ];
  if (silent) said.push(`nothing was heard for ${minutes(silent, stepS)} of it`);
  return said.join(", ");
}

/** What the lines lack: since when they are kept if that is not the whole hour, and by which of two hubs. */
export function keptWords(vitals: Vitals, timeOf: (ms: number) => string): string {
  const hub = vitals.hub ? ` Kept by the hub at ${vitals.hub}.` : "";
  const hour = vitals.slots * vitals.step_s * 1000;
  if (!vitals.since_ms) return `No figure has been heard yet: devices say theirs every half minute.${hub}`;
  if (vitals.since_ms <= vitals.until_ms - hour) return `The last hour. Gaps are times without a word.${hub}`;
  return `Since ${timeOf(vitals.since_ms)}, when this hub began to listen; what was before is not kept. Gaps are times without a word.${hub}`;
}

/** Rows of a table: the newest first, one for each `every` steps. */
export function tableOf(
  lines: readonly Line[],
  untilMs: number,
  stepS: number,
  every: number,
): { atMs: number; values: (number | null)[] }[] {
  const steps = Math.max(0, ...lines.map((line) => line.points.length));
  const rows = [];
  for (let back = 0; back < steps; back += every) {
    const values = lines.map((line) => line.points[steps - 1 - back] ?? null);
    if (values.some((value) => value !== null)) rows.push({ atMs: untilMs - back * stepS * 1000, values });
  }
  return rows;
}

const minutes = (steps: number, stepS: number): string => `${Math.max(1, Math.round((steps * stepS) / 60))} min`;

function niceMost(points: readonly (number | null)[], least: number): number {
  const most = Math.max(least, ...points.map((value) => value ?? 0));
  if (most <= least) return least;
  const unit = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((step) => step * unit).find((end) => end >= most) ?? most;
}
