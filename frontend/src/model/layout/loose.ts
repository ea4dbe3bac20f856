/**
 * Cards that no link joins to others stand below the rest, in columns and in the order of the plan: a layer of their own
 * would be one long row of cards. Families are as wide as a layer and stay among the layers. Pure and deterministic.
 */
import type { Block, Drawing } from "./blocks.ts";
import type { Placed } from "./layout.ts";

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
