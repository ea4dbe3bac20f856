/**
 * When devices were out of reach, from the record of their connections: a run's spans do not tell a wait for a device
 * that is away from one for a busy device. Pure; reads nothing.
 */
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

/** Whether a wait was for a device that was away: it was so for at least half of the wait. */
export function wasAway(absences: readonly Absence[], fromMs: number, toMs: number): boolean {
  const away = absences.reduce(
    (sum, one) => sum + Math.max(0, Math.min(one.toMs, toMs) - Math.max(one.fromMs, fromMs)),
    0,
  );
  return away > 0 && away * 2 >= toMs - fromMs;
}
