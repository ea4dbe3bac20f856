/**
 * When devices were out of reach, from the record of their connections: a run's spans do not tell a wait for a device
 * that is away from one for a busy device. Pure; reads nothing.
 */
import { duration } from "../words/words.ts";

export interface Absence {
  fromMs: number;
  /** Infinity while the device is away. */
  toMs: number;
}

interface Deed {
  kind: string;
  at: string | null;
}

const LEFT = new Set(["device_offline", "device_revoked"]);

/** The absences of one device, from its deeds in any order. */
export function absencesOf(deeds: readonly Deed[]): Absence[] {
  const found: Absence[] = [];
  let open: Absence | null = null;
  const told = deeds.map((deed) => ({ kind: deed.kind, atMs: Date.parse(deed.at ?? "") }));
  for (const { kind, atMs } of told.sort((a, b) => a.atMs - b.atMs)) {
    if (LEFT.has(kind) && !open) {
      open = { fromMs: atMs, toMs: Number.POSITIVE_INFINITY };
      found.push(open);
    } else if (kind === "device_online" && open) {
      open.toMs = atMs;
      open = null;
    }
  }
  return found;
}

/**
 * The stretches in which none of a device's lines has a value, from its first value on; the last one is open where it
 * reaches the end. A line alone may lack values while its device is heard.
 */
export function silencesOf(lines: readonly (readonly (number | null)[])[], untilMs: number, stepS: number): Absence[] {
  const steps = Math.max(0, ...lines.map((points) => points.length));
  const heard = (back: number) => lines.some((points) => (points[points.length - 1 - back] ?? null) !== null);
  const found: Absence[] = [];
  let first = steps - 1;
  while (first >= 0 && !heard(first)) first -= 1;
  let lastMs = untilMs - first * stepS * 1000;
  for (let back = first - 1; back >= 0; back -= 1) {
    if (!heard(back)) continue;
    const atMs = untilMs - back * stepS * 1000;
    if (atMs - lastMs > stepS * 1000) found.push({ fromMs: lastMs, toMs: atMs });
    lastMs = atMs;
  }
  // The step that has just begun may still get its value.
  if (first >= 0 && untilMs - lastMs > stepS * 1000) found.push({ fromMs: lastMs, toMs: Number.POSITIVE_INFINITY });
  return found;
}

/** The absences that the record tells, and each silence that overlaps none of them: not everybody may read the record. */
export function awayTimes(told: readonly Absence[], silences: readonly Absence[], sinceMs: number): Absence[] {
  const recent = told
    .filter((one) => one.toMs > sinceMs)
    .map((one) => ({ ...one, fromMs: Math.max(one.fromMs, sinceMs) }));
  const apart = silences.filter((one) => !recent.some((each) => each.fromMs < one.toMs && one.fromMs < each.toMs));
  return [...recent, ...apart].sort((a, b) => a.fromMs - b.fromMs);
}

/** `12:31 to 12:41 (10 min)`, `since 12:50`. */
export function absenceWords({ fromMs, toMs }: Absence, timeOf: (ms: number) => string): string {
  if (!Number.isFinite(toMs)) return `since ${timeOf(fromMs)}`;
  return `${timeOf(fromMs)} to ${timeOf(toMs)} (${duration(toMs - fromMs)})`;
}

/** Whether a wait was for a device that was away: it was so for at least half of the wait. */
export function wasAway(absences: readonly Absence[], fromMs: number, toMs: number): boolean {
  const away = absences.reduce(
    (sum, one) => sum + Math.max(0, Math.min(one.toMs, toMs) - Math.max(one.fromMs, fromMs)),
    0,
  );
  return away > 0 && away * 2 >= toMs - fromMs;
}
