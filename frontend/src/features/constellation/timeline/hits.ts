/** The bar, the ghost, the moments or the name of a lane under a point of a timeline. Pure; moments stand at its upper edge. */
import type { Ghost } from "../../../model/run/ghosts.ts";
import type { Bar, Lane, Lanes } from "../../../model/run/lanes.ts";
import { AXIS_PX, LANE_GAP_PX, type Moment, msAt, type Place, xOf, yOf } from "./paintLanes.ts";

const SLACK_PX = 4;

/** A bar reaches to its end, to now while it goes on, or to the end that is expected of it. */
export function barAt(
  { bars }: Lanes,
  place: Place,
  x: number,
  y: number,
  nowMs: number,
  expectedOf: (bar: Bar) => number,
): Bar | null {
  if (x < place.gutter || y < AXIS_PX) return null;
  const slack = Math.abs(msAt(place, SLACK_PX) - msAt(place, 0));
  const atMs = msAt(place, x);
  let found: Bar | null = null;
  let nearest = Number.POSITIVE_INFINITY;
  for (const bar of bars) {
    const top = yOf(place, bar);
    if (y < top - 1 || y > top + place.rowPx + 1 || !bar.span.task) continue;
    const off = Math.max(bar.fromMs - atMs, atMs - Math.max(Math.min(bar.toMs, nowMs), expectedOf(bar)), 0);
    if (off > slack || off > nearest) continue;
    found = bar;
    nearest = off;
  }
  return found;
}

export function ghostAt(ghosts: readonly Ghost[], place: Place, x: number, y: number): Ghost | null {
  if (x < place.gutter || y < AXIS_PX) return null;
  const slack = Math.abs(msAt(place, SLACK_PX) - msAt(place, 0));
  const atMs = msAt(place, x);
  const isHit = (ghost: Ghost) => {
    const top = yOf(place, ghost);
    if (y < top - 1 || y > top + place.rowPx + 1) return false;
    return atMs >= ghost.fromMs - slack && atMs <= ghost.toMs + slack;
  };
  return ghosts.find(isHit) ?? null;
}

/** The lane whose name stands at a point. */
export function laneAt({ lanes }: Lanes, place: Place, x: number, y: number): Lane | null {
  if (x >= place.gutter || y < AXIS_PX) return null;
  const isHit = (lane: Lane, at: number) => {
    const top = AXIS_PX + at * LANE_GAP_PX + lane.top * place.rowPx - place.top;
    return y >= top && y < top + lane.rows * place.rowPx + LANE_GAP_PX;
  };
  return lanes.find(isHit) ?? null;
}

export function momentAt(ticks: readonly Moment[], place: Place, x: number, y: number): Moment[] {
  if (y > AXIS_PX + SLACK_PX) return [];
  return ticks.filter((tick) => Math.abs(xOf(place, tick.atMs) - x) <= SLACK_PX + 2).slice(0, 4);
}
