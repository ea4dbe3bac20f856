/**
 * Ghost bars: the tasks of a run that are still to come, where a forecast has them. They stand in the lanes of their
 * expected devices, below what is there; those after a change stand below those of now. Pure.
 */
import type { ExpectedTask } from "../types.ts";
import type { Arranged, Bar, Lane } from "./lanes.ts";
import { ROWS_MOST } from "./lanes.ts";

export interface Ghost {
  task: string;
  fromMs: number;
  toMs: number;
  lane: number;
  row: number;
  /** It is one of the picture after the change. */
  changed: boolean;
}

export interface Haunted extends Arranged {
  ghosts: Ghost[];
  ghostsOf: ReadonlyMap<string, Ghost[]>;
  /** When the first of them begins and the last ends, as the forecast has it. */
  firstMs: number;
  lastMs: number;
}

export interface Pictures {
  /** The moment of the forecast: what should begin before it has begun, or is late. */
  atMs: number;
  now: readonly ExpectedTask[];
  changed: readonly ExpectedTask[];
}

/**
 * By how much the ghosts are late: all of them by as much as the first, since nothing to come stands before the present.
 * It changes with every moment, and they do not.
 */
export const lateBy = ({ ghosts, firstMs }: Haunted, nowMs: number): number =>
  ghosts.length > 0 ? Math.max(0, nowMs - firstMs) : 0;

/** The tasks that have not begun, in the order in which they should. */
const toCome = (tasks: readonly ExpectedTask[], atMs: number) => tasks.filter((task) => task.begin_ms >= atMs);

/** Lanes with the ghosts of both pictures; bars and lanes keep their order, and a device without a lane gets one. */
export function haunted(arranged: Arranged, { atMs, now, changed }: Pictures): Haunted {
  const came = toCome(now, atMs);
  const instead = toCome(changed, atMs);
  if (came.length + instead.length === 0)
    return { ...arranged, ghosts: [], ghostsOf: new Map(), firstMs: 0, lastMs: 0 };
  const byDevice = new Map<string, [ExpectedTask[], ExpectedTask[]]>();
  for (const [at, tasks] of [came, instead].entries()) {
    for (const task of tasks) {
      const held = byDevice.get(task.device) ?? [[], []];
      held[at]?.push(task);
      byDevice.set(task.device, held);
    }
  }
  const lanes: Lane[] = arranged.lanes.map((lane) => ({ ...lane }));
  const known = new Set(lanes.filter((lane) => lane.kind === "device").map((lane) => lane.device));
  const added = [...byDevice.keys()]
    .filter((device) => !known.has(device))
    .sort()
    .map((device): Lane => ({ kind: "device", device, rows: 0, top: 0, crowded: false }));
  lanes.push(...added);
  const ghosts: Ghost[] = [];
  const moved: number[] = [];
  let rows = 0;
  for (const [at, lane] of lanes.entries()) {
    const before = lane.top;
    lane.top = rows;
    moved.push(lane.top - before);
    let own = lane.rows;
    const both = lane.kind === "device" ? byDevice.get(lane.device) : undefined;
    for (const [which, tasks] of (both ?? []).entries()) {
      own += packed(tasks, lane.top + own, (ghost) => ghosts.push({ ...ghost, lane: at, changed: which === 1 }));
    }
    lane.rows = own;
    rows += own;
  }
  const shifted = new Map<Bar, Bar>();
  const bars = arranged.bars.map((bar) => {
    const next = { ...bar, row: bar.row + (moved[bar.lane] ?? 0) };
    shifted.set(bar, next);
    return next;
  });
  const ofTask = new Map(
    [...arranged.ofTask].map(([task, held]) => [task, held.map((bar) => shifted.get(bar) ?? bar)]),
  );
  return { lanes, bars, rows, ofTask, ghosts, ...indexOf(ghosts) };
}

function indexOf(ghosts: readonly Ghost[]): Pick<Haunted, "ghostsOf" | "firstMs" | "lastMs"> {
  const ghostsOf = new Map<string, Ghost[]>();
  let [firstMs, lastMs] = [Number.POSITIVE_INFINITY, 0];
  for (const ghost of ghosts) {
    const held = ghostsOf.get(ghost.task);
    if (held) held.push(ghost);
    else ghostsOf.set(ghost.task, [ghost]);
    firstMs = Math.min(firstMs, ghost.fromMs);
    lastMs = Math.max(lastMs, ghost.toMs);
  }
  return { ghostsOf, firstMs, lastMs };
}

/** Gives each task the first row that is free, the last one where they are too many; the number of rows. */
function packed(
  tasks: readonly ExpectedTask[],
  top: number,
  take: (ghost: Omit<Ghost, "lane" | "changed">) => void,
): number {
  const ends: number[] = [];
  for (const { task, begin_ms, end_ms } of tasks) {
    let row = ends.findIndex((end) => end <= begin_ms);
    if (row < 0) row = Math.min(ends.length, ROWS_MOST - 1);
    ends[row] = Math.max(ends[row] ?? 0, end_ms);
    take({ task, fromMs: begin_ms, toMs: end_ms, row: top + row });
  }
  return ends.length;
}
