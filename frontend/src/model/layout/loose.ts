/**
 * Parts of a drawing that no link joins. Each part has layers of its own, and the parts stand beside and below each
 * other: in common layers a wide one would push the others apart. Cards that are joined to nothing stand below the rest,
 * in columns and in the order of the plan. Pure and deterministic.
 */
import type { Block, Drawing, Link } from "./blocks.ts";
import type { Placed, Point } from "./layout.ts";

export const GAP_X = 36;
export const GAP_Y = 20;
/** Their columns together are about so much wider than high. */
const SHAPE = 1.5;

/** A drawing without its loose cards, and those. */
export function parted(drawing: Drawing): { joined: Drawing; loose: Block[] } {
  const ends = new Set(drawing.links.flatMap(({ from, to }) => [from, to]));
  const isLoose = (block: Block) => block.kind !== "family" && !ends.has(block.id);
  const loose = drawing.blocks.filter(isLoose);
  return { joined: { ...drawing, blocks: drawing.blocks.filter((block) => !isLoose(block)) }, loose };
}

/** Adds loose cards to placed ones, each to the shortest column: a long run beside short cards leaves no gap. */
export function withLoose(placed: Placed, loose: readonly Block[], columnsMost: number): Placed {
  if (loose.length === 0) return placed;
  const pitch = Math.max(...loose.map((block) => block.width)) + GAP_X;
  const area = loose.reduce((sum, block) => sum + block.height + GAP_Y, 0);
  const wished = Math.max(Math.round(Math.sqrt((SHAPE * area) / pitch)), Math.floor((placed.width + GAP_X) / pitch), 1);
  const top = placed.height > 0 ? placed.height + 2 * GAP_Y : 0;
  const feet: number[] = new Array(Math.min(wished, columnsMost, loose.length)).fill(top);
  const at = new Map(placed.at);
  for (const block of loose) {
    const column = feet.indexOf(Math.min(...feet));
    const y = feet[column] ?? top;
    at.set(block.id, { x: column * pitch, y });
    feet[column] = y + block.height + GAP_Y;
  }
  return {
    at,
    routes: placed.routes,
    width: Math.max(placed.width, feet.length * pitch - GAP_X),
    height: Math.max(...feet) - GAP_Y,
  };
}

/** The parts of a drawing that links join, in the order of their first blocks. */
function partsOf(drawing: Drawing): { blocks: Block[]; links: Link[] }[] {
  const up = new Map(drawing.blocks.map(({ id }) => [id, id]));
  const rootOf = (id: string): string => {
    let root = id;
    for (let next = up.get(root); next !== undefined && next !== root; next = up.get(root)) root = next;
    // The way is shortened, so that a long run costs no more than its length.
    for (let one = id; one !== root; ) {
      const next = up.get(one) ?? root;
      up.set(one, root);
      one = next;
    }
    return root;
  };
  for (const { from, to } of drawing.links) up.set(rootOf(to), rootOf(from));
  const parts = new Map<string, { blocks: Block[]; links: Link[] }>();
  const partOf = (id: string) => {
    const held = parts.get(rootOf(id)) ?? { blocks: [], links: [] };
    parts.set(rootOf(id), held);
    return held;
  };
  for (const block of drawing.blocks) partOf(block.id).blocks.push(block);
  for (const link of drawing.links) partOf(link.from).links.push(link);
  return [...parts.values()];
}

/** Places each part by itself, and all in lines that are no wider than the widest part or `widthLeast`. */
export function inParts(drawing: Drawing, place: (part: Drawing) => Placed, widthLeast: number): Placed {
  const parts = partsOf(drawing);
  if (parts.length < 2) return place(drawing);
  const placed = parts.map((part) => ({ links: part.links, ...place({ ...drawing, ...part }) }));
  const area = placed.reduce((sum, { width, height }) => sum + (width + GAP_X) * (height + 2 * GAP_Y), 0);
  const widest = Math.max(widthLeast || Math.sqrt(SHAPE * area), ...placed.map(({ width }) => width));
  const at = new Map<string, Point>();
  const routes = new Map<Link, Point[]>();
  let [x, y, lineHeight, width] = [0, 0, 0, 0];
  for (const part of placed) {
    if (x > 0 && x + part.width > widest) [x, y, lineHeight] = [0, y + lineHeight + 2 * GAP_Y, 0];
    const [left, top] = [x, y];
    const move = (point: Point): Point => ({ x: point.x + left, y: point.y + top });
    for (const [id, point] of part.at) at.set(id, move(point));
    part.links.forEach((link, index) => {
      routes.set(link, (part.routes[index] ?? []).map(move));
    });
    lineHeight = Math.max(lineHeight, part.height);
    width = Math.max(width, x + part.width);
    x += part.width + GAP_X;
  }
  return { at, routes: drawing.links.map((link) => routes.get(link) ?? []), width, height: y + lineHeight };
}
