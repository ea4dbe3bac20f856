/** Where a drawing stands in its window: whole where it can be read, else the part that is to be looked at first. */
import type { Placed } from "./layout.ts";

/** A window in pixels; panels cover `top` and `bottom` of it. */
interface Room {
  width: number;
  height: number;
  top: number;
  bottom: number;
}

/** `least`: the smallest zoom. `wide`: only the width has to fit; a drawing from top to bottom is scrolled. */
interface Fit {
  least: number;
  wide: boolean;
}

const ZOOM_MIN = 0.02;
const EDGE = 16;
/** So many pixels of a block are enough to see it. */
const SEEN = 64;

/**
 * The view of a drawing. A part of it begins where the drawing does, or at `first` where that is not in view so, and
 * never so late that room stays bare behind its end.
 */
export function fitted(placed: Placed, room: Room, fit: Fit, first: { x: number; y: number }) {
  const free = { width: room.width - 2 * EDGE, height: room.height - room.top - room.bottom };
  const whole = Math.min(1, free.width / placed.width, fit.wide ? 1 : free.height / placed.height);
  const zoom = Math.max(ZOOM_MIN, fit.least, whole);
  const start = (at: number, size: number, space: number) => {
    const over = size * zoom - space;
    if (over <= 0) return -over / 2;
    return at * zoom + SEEN <= space ? 0 : -Math.min(at * zoom, over);
  };
  return {
    x: EDGE + start(first.x, placed.width, free.width),
    y: room.top + start(first.y, placed.height, free.height),
    zoom,
  };
}

/** The block at which a drawing begins: the uppermost where it runs down, else the leftmost; "" if there is none. */
export function beginOf(placed: Placed, down: boolean): string {
  let [begin, least] = ["", Number.POSITIVE_INFINITY];
  for (const [block, at] of placed.at) {
    const along = down ? at.y : at.x;
    if (along < least) [begin, least] = [block, along];
  }
  return begin;
}
