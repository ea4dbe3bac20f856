/**
 * A drawing's outline and its places as plain numbers, for the way to a worker and back: arrays are handed over whole,
 * where thousands of objects would each be copied, in one task of the page. Blocks and links are named by their number.
 */
import { everyNth, type Steps } from "../stream/steps.ts";
import type { Block, Drawing } from "./blocks.ts";
import type { Placed, Point } from "./layout.ts";

const KINDS: readonly Block["kind"][] = ["single", "chain", "family", "ghost"];
/** So many blocks or links are read between two places at which the work may pause; below a millisecond. */
const ITEMS_A_STEP = 512;

export interface Outline {
  kinds: Uint8Array;
  /** Width and height of each block. */
  sizes: Float64Array;
  /** Numbers of the blocks at both ends of each link. */
  ends: Uint32Array;
}

export interface PackedPlaces {
  /** Left and top of each block. */
  at: Float64Array;
  /** The points of all links, one after the other. */
  points: Float64Array;
  /** How many points each link has. */
  counts: Uint32Array;
  width: number;
  height: number;
}

export function outlineOf(drawing: Drawing): Outline {
  const { blocks, links } = drawing;
  const numbers = new Map(blocks.map((block, number) => [block.id, number]));
  const outline: Outline = {
    kinds: new Uint8Array(blocks.length),
    sizes: new Float64Array(blocks.length * 2),
    ends: new Uint32Array(links.length * 2),
  };
  blocks.forEach((block, number) => {
    outline.kinds[number] = KINDS.indexOf(block.kind);
    outline.sizes.set([block.width, block.height], number * 2);
  });
  links.forEach((link, number) => {
    outline.ends.set([numbers.get(link.from) ?? 0, numbers.get(link.to) ?? 0], number * 2);
  });
  return outline;
}

/** The drawing of an outline: enough of it to be placed. */
export function drawingOf({ kinds, sizes, ends }: Outline): Drawing {
  const blocks = Array.from(kinds, (kind, number): Block => {
    const [width, height] = [sizes[number * 2] ?? 0, sizes[number * 2 + 1] ?? 0];
    const shape = { kind: KINDS[kind] ?? "single", width, height };
    return { id: String(number), tasks: [], family: null, folded: false, ...shape };
  });
  const links = Array.from({ length: ends.length / 2 }, (_, number) => ({
    from: String(ends[number * 2]),
    to: String(ends[number * 2 + 1]),
  }));
  return { blocks, links, place: new Map() };
}

export function packed(drawing: Drawing, placed: Placed): PackedPlaces {
  const at = new Float64Array(drawing.blocks.length * 2);
  drawing.blocks.forEach((block, number) => {
    const { x, y } = placed.at.get(block.id) ?? { x: 0, y: 0 };
    at.set([x, y], number * 2);
  });
  const points = Float64Array.from(placed.routes.flat().flatMap(({ x, y }) => [x, y]));
  const counts = Uint32Array.from(placed.routes, (route) => route.length);
  return { at, points, counts, width: placed.width, height: placed.height };
}

/** The places of a drawing from those of its outline, with pauses. */
export function* placedSteps(drawing: Drawing, { at, points, counts, width, height }: PackedPlaces): Steps<Placed> {
  const pause = everyNth(ITEMS_A_STEP);
  const places = new Map<string, Point>();
  for (const [number, block] of drawing.blocks.entries()) {
    if (pause()) yield;
    places.set(block.id, { x: at[number * 2] ?? 0, y: at[number * 2 + 1] ?? 0 });
  }
  const routes: Point[][] = [];
  let next = 0;
  for (const count of counts) {
    if (pause()) yield;
    const route: Point[] = [];
    for (const end = next + count * 2; next < end; next += 2) {
      route.push({ x: points[next] ?? 0, y: points[next + 1] ?? 0 });
    }
    routes.push(route);
  }
  return { at: places, routes, width, height };
}
