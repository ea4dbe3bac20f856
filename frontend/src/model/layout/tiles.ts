/** The rectangle of each task within its block: for all code that paints or finds tasks without cards. */
import {
  type Block,
  denseCell,
  FAMILY_HEAD,
  FOLDED_PITCH,
  FOLDED_TOP,
  isDense,
  NODE_HEIGHT,
  ROW_PITCH,
} from "./blocks.ts";

export interface Tile {
  id: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

const kept = new WeakMap<Block, Tile[]>();

/** Where each task of a block is drawn, in the block's own coordinates; worked out once for each block. */
export function tilesOf(block: Block): readonly Tile[] {
  let tiles = kept.get(block);
  if (!tiles) {
    tiles = makeTiles(block);
    kept.set(block, tiles);
  }
  return tiles;
}

function makeTiles(block: Block): Tile[] {
  const family = block.family;
  if (!family) {
    return block.tasks.map((id, index) => ({
      id,
      x: 0,
      y: index * NODE_HEIGHT,
      width: block.width,
      height: NODE_HEIGHT - 2,
    }));
  }
  const tiles: Tile[] = [];
  const dense = isDense(family);
  const cell = denseCell(family.keys.length);
  const across = Math.floor(160 / cell);
  const share = (block.width - 24) / Math.max(1, family.members.length);
  family.members.forEach((member, column) => {
    family.keys.forEach((key, row) => {
      const id = member.children.get(key);
      if (!id) return;
      if (block.folded) {
        const [step, y] = [(block.width - 24) / family.keys.length, FOLDED_TOP + column * FOLDED_PITCH];
        tiles.push({ id, x: 12 + row * step, y, width: Math.max(1, step - 1), height: FOLDED_PITCH - 12 });
        return;
      }
      if (dense) {
        const [left, top] = [(row % across) * cell, Math.floor(row / across) * cell];
        tiles.push({ id, x: 12 + column * 172 + left, y: FAMILY_HEAD + top, width: cell - 1, height: cell - 1 });
      } else {
        tiles.push({ id, x: 12 + column * share, y: FAMILY_HEAD + row * ROW_PITCH, width: share - 8, height: 40 });
      }
    });
  });
  return tiles;
}
