/** The thing under a point of the drawing: a task, a group's frame or a link. For all that is drawn without elements of its own. */
import type { Block, Drawing } from "./blocks.ts";
import type { Placed, Point } from "./layout.ts";
import { type Tile, tilesOf } from "./tiles.ts";

export type Hit = { kind: "task"; id: string } | { kind: "link"; from: string; to: string };

/** `slack` is how far from a link a press still counts, in the drawing's own units. */
export function hitAt(drawing: Drawing, placed: Placed, point: Point, slack: number): Hit | null {
  for (const block of drawing.blocks) {
    const at = placed.at.get(block.id);
    if (!at || point.x < at.x || point.y < at.y) continue;
    if (point.x > at.x + block.width || point.y > at.y + block.height) continue;
    return { kind: "task", id: taskIn(block, point.x - at.x, point.y - at.y) };
  }
  for (let index = 0; index < drawing.links.length; index += 1) {
    const [link, points] = [drawing.links[index], placed.routes[index]];
    if (link && points && near(points, point, slack)) return { kind: "link", ...link };
  }
  return null;
}

/** The task of a block at a place in it; a family's frame counts as its list. */
function taskIn(block: Block, x: number, y: number): string {
  for (const tile of tilesOf(block)) {
    if (x >= tile.x && y >= tile.y && x <= tile.x + tile.width && y <= tile.y + tile.height) return tile.id;
  }
  return block.family?.root ?? block.tasks[0] ?? block.id;
}

/** Where following a link leads: to its end, or back to its start from there. */
export function farEnd(drawing: Drawing, link: { from: string; to: string }, selected: string | null): string {
  const blocks = new Map(drawing.blocks.map((block) => [block.id, block]));
  const here = selected === null ? undefined : drawing.place.get(selected);
  const block = blocks.get(here === link.to ? link.from : link.to);
  if (!block) return link.to;
  return block.family?.root ?? (here === link.to ? block.tasks[block.tasks.length - 1] : block.tasks[0]) ?? block.id;
}

function near(points: readonly Point[], { x, y }: Point, slack: number): boolean {
  for (let index = 1; index < points.length; index += 1) {
    const [a, b] = [points[index - 1], points[index]];
    if (!a || !b) continue;
    if (x < Math.min(a.x, b.x) - slack || x > Math.max(a.x, b.x) + slack) continue;
    if (y < Math.min(a.y, b.y) - slack || y > Math.max(a.y, b.y) + slack) continue;
    const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    if (Math.abs((b.x - a.x) * (a.y - y) - (a.x - x) * (b.y - a.y)) / length <= slack) return true;
  }
  return false;
}

/** Where a task is drawn; a group, and a task without a tile of its own, where its block is. */
export function boxOf(drawing: Drawing, placed: Placed, id: string): Omit<Tile, "id"> | null {
  const place = drawing.place.get(id);
  const at = place === undefined ? undefined : placed.at.get(place);
  const block = at && drawing.blocks.find((one) => one.id === place);
  if (!block || !at) return null;
  const tile = tilesOf(block).find((one) => one.id === id) ?? { x: 0, y: 0, width: block.width, height: block.height };
  return { x: at.x + tile.x, y: at.y + tile.y, width: tile.width, height: tile.height };
}
