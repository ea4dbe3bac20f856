/**
 * Where blocks stand and how links run: a quick layered placement, left to right or downwards. Pure and deterministic: the same
 * drawing gives the same places, and a new block joins the end of its layer. `elk` may refine a large one.
 */
import { type Block, type Drawing, FAMILY_HEAD, type Link, NODE_HEIGHT } from "./blocks.ts";
import { GAP_X, GAP_Y, inParts, parted, withLoose } from "./loose.ts";

export interface Point {
  x: number;
  y: number;
}

export interface Placed {
  at: Map<string, Point>;
  /** Points of each link, in the order of `drawing.links`. */
  routes: Point[][];
  width: number;
  height: number;
}

/** A phone is as wide as so many cards. */
const COLUMNS_DOWN = 2;
/** The room for cards in a window of 390 pixels. */
const WIDTH_DOWN = 358;
const SWEEPS = 4;

interface Cell {
  block: Block;
  layer: number;
  x: number;
  y: number;
}

export function layout(drawing: Drawing): Placed {
  const { joined, loose } = parted(drawing);
  return withLoose(inParts(joined, inLayers, 0), loose, loose.length);
}

function inLayers(drawing: Drawing): Placed {
  const cells = new Map<string, Cell>();
  for (const block of drawing.blocks) cells.set(block.id, { block, layer: 0, x: 0, y: 0 });
  const before = neighbours(drawing.links, "to", "from");
  const after = neighbours(drawing.links, "from", "to");
  const layers = assignLayers(cells, before, after);
  orderLayers(layers, before, after);
  let x = 0;
  for (const layer of layers) {
    for (const cell of layer) cell.x = x;
    x += Math.max(0, ...layer.map((cell) => cell.block.width)) + GAP_X;
  }
  stack(layers, cells, before, after);
  const top = Math.min(0, ...[...cells.values()].map((cell) => cell.y));
  for (const cell of cells.values()) cell.y -= top;
  const routes = drawing.links.map((link) => route(link, cells, layers));
  const at = new Map([...cells].map(([id, cell]) => [id, { x: cell.x, y: cell.y }]));
  const lowest = Math.max(0, ...[...cells.values()].map((cell) => cell.y + cell.block.height));
  return { at, routes, width: Math.max(0, x - GAP_X), height: lowest };
}

/** The same placement from top to bottom, for a screen that is narrow and scrolls downwards. */
export function layoutDown(drawing: Drawing): Placed {
  const { joined, loose } = parted(drawing);
  return withLoose(inParts(joined, inLayersDown, WIDTH_DOWN), loose, COLUMNS_DOWN);
}

function inLayersDown(drawing: Drawing): Placed {
  const turned = drawing.blocks.map(
    (block): Block => ({ ...block, kind: "single", width: block.height, height: block.width }),
  );
  const placed = inLayers({ ...drawing, blocks: turned });
  const turn = (point: Point): Point => ({ x: point.y, y: point.x });
  return {
    at: new Map([...placed.at].map(([id, point]) => [id, turn(point)])),
    routes: placed.routes.map((points) => points.map(turn)),
    width: placed.height,
    height: placed.width,
  };
}

function neighbours(links: readonly Link[], of: "from" | "to", to: "from" | "to"): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const link of links) {
    const held = found.get(link[of]);
    if (held) held.push(link[to]);
    else found.set(link[of], [link[to]]);
  }
  return found;
}

/** Longest way from a source; one pass in topological order, so that long chains cost no recursion. */
function assignLayers(cells: Map<string, Cell>, before: Map<string, string[]>, after: Map<string, string[]>): Cell[][] {
  const missing = new Map<string, number>();
  for (const id of cells.keys()) missing.set(id, before.get(id)?.length ?? 0);
  const open = [...cells.keys()].filter((id) => missing.get(id) === 0);
  for (let index = 0; index < open.length; index += 1) {
    const id = open[index] ?? "";
    const layer = cells.get(id)?.layer ?? 0;
    for (const next of after.get(id) ?? []) {
      const cell = cells.get(next);
      if (!cell) continue;
      cell.layer = Math.max(cell.layer, layer + 1);
      const left = (missing.get(next) ?? 1) - 1;
      missing.set(next, left);
      if (left === 0) open.push(next);
    }
  }
  const layers: Cell[][] = [];
  for (const cell of cells.values()) {
    while (layers.length <= cell.layer) layers.push([]);
    layers[cell.layer]?.push(cell);
  }
  return layers;
}

function orderLayers(layers: Cell[][], before: Map<string, string[]>, after: Map<string, string[]>): void {
  const rank = new Map<string, number>();
  const number = (layer: Cell[]) => {
    layer.forEach((cell, index) => {
      rank.set(cell.block.id, (index + 0.5) / layer.length);
    });
  };
  for (const layer of layers) number(layer);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const forward = sweep % 2 === 0;
    const sides = forward ? before : after;
    for (const layer of forward ? layers : [...layers].reverse()) {
      const weight = new Map<Cell, number>();
      layer.forEach((cell, index) => {
        const near = sides.get(cell.block.id) ?? [];
        const own = (index + 0.5) / layer.length;
        const mean = near.reduce((sum, id) => sum + (rank.get(id) ?? own), 0) / (near.length || 1);
        weight.set(cell, near.length ? mean : own);
      });
      layer.sort((a, b) => (weight.get(a) ?? 0) - (weight.get(b) ?? 0));
      number(layer);
    }
  }
}

const middle = (cell: Cell): number => cell.y + cell.block.height / 2;

/** Heights: each layer near the middle of what it is joined to, without overlaps. */
function stack(
  layers: Cell[][],
  cells: Map<string, Cell>,
  before: Map<string, string[]>,
  after: Map<string, string[]>,
): void {
  for (const layer of layers) {
    let y = 0;
    for (const cell of layer) {
      cell.y = y;
      y += cell.block.height + GAP_Y;
    }
    for (const cell of layer) cell.y -= (y - GAP_Y) / 2;
  }
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const forward = sweep % 2 === 0;
    for (const layer of forward ? layers : [...layers].reverse()) {
      const wish = layer.map((cell) => {
        const near = ((forward ? before : after).get(cell.block.id) ?? [])
          .map((id) => cells.get(id))
          .filter((other) => other !== undefined);
        return near.length ? near.reduce((sum, other) => sum + middle(other), 0) / near.length : middle(cell);
      });
      settle(layer, wish);
    }
  }
}

function settle(layer: Cell[], wish: number[]): void {
  let floor = Number.NEGATIVE_INFINITY;
  layer.forEach((cell, index) => {
    cell.y = Math.max(floor, (wish[index] ?? 0) - cell.block.height / 2);
    floor = cell.y + cell.block.height + GAP_Y;
  });
  // Pushing down only would let a full layer sink; the mean error is taken back from all of it.
  const error = layer.reduce((sum, cell, index) => sum + middle(cell) - (wish[index] ?? 0), 0) / (layer.length || 1);
  for (const cell of layer) cell.y = Math.round((cell.y - error) / 4) * 4;
}

/** Where a link leaves or enters: the last or first row of a run, any row of a family, else the middle. */
function port(cell: Cell, side: "in" | "out", towards: number): number {
  const { block, y } = cell;
  if (block.kind === "chain") return side === "out" ? y + block.height - NODE_HEIGHT / 2 : y + NODE_HEIGHT / 2;
  if (block.kind === "family") {
    return Math.min(Math.max(towards, y + FAMILY_HEAD + 22), y + Math.max(block.height - 30, FAMILY_HEAD + 22));
  }
  return middle(cell);
}

function route(link: Link, cells: Map<string, Cell>, layers: Cell[][]): Point[] {
  const from = cells.get(link.from);
  const to = cells.get(link.to);
  if (!from || !to) return [];
  const y2 = port(to, "in", port(from, "out", middle(to)));
  const y1 = port(from, "out", y2);
  const x1 = from.x + from.block.width;
  const x2 = to.x;
  if (Math.abs(y1 - y2) < 2 && clear(x1, x2, y1, from, to, layers)) {
    return [
      { x: x1, y: y1 },
      { x: x2, y: y1 },
    ];
  }
  const late = x2 - GAP_X / 2;
  const early = x1 + GAP_X / 2;
  if (clear(x1, late, y1, from, to, layers)) return elbow(x1, y1, late, x2, y2);
  if (clear(early, x2, y2, from, to, layers)) return elbow(x1, y1, early, x2, y2);
  const between = layers.slice(from.layer + 1, to.layer).flat();
  const above = Math.min(...between.map((cell) => cell.y)) - GAP_Y / 2 - 2;
  const below = Math.max(...between.map((cell) => cell.y + cell.block.height)) + GAP_Y / 2 + 2;
  const around = Math.abs(above - y1) <= Math.abs(below - y1) ? above : below;
  return [
    { x: x1, y: y1 },
    { x: early, y: y1 },
    { x: early, y: around },
    { x: late, y: around },
    { x: late, y: y2 },
    { x: x2, y: y2 },
  ];
}

const elbow = (x1: number, y1: number, bend: number, x2: number, y2: number): Point[] => [
  { x: x1, y: y1 },
  { x: bend, y: y1 },
  { x: bend, y: y2 },
  { x: x2, y: y2 },
];

function clear(x1: number, x2: number, y: number, from: Cell, to: Cell, layers: Cell[][]): boolean {
  for (let index = from.layer; index <= to.layer; index += 1) {
    for (const cell of layers[index] ?? []) {
      if (cell === from || cell === to) continue;
      const inside = y > cell.y - 6 && y < cell.y + cell.block.height + 6;
      if (inside && cell.x < x2 && cell.x + cell.block.width > x1) return false;
    }
  }
  return true;
}

/** A path with rounded corners through the points. */
export function pathOf(points: readonly Point[], radius = 5): string {
  const first = points[0];
  if (!first) return "";
  let d = `M${first.x} ${first.y}`;
  for (let index = 1; index < points.length; index += 1) {
    const [last, here, next] = [points[index - 1], points[index], points[index + 1]];
    if (!last || !here) continue;
    if (!next) {
      d += `L${here.x} ${here.y}`;
      continue;
    }
    const r = Math.min(radius, distance(last, here) / 2, distance(here, next) / 2);
    const a = towards(here, last, r);
    const b = towards(here, next, r);
    d += `L${a.x} ${a.y}Q${here.x} ${here.y} ${b.x} ${b.y}`;
  }
  return d;
}

const distance = (a: Point, b: Point): number => Math.abs(a.x - b.x) + Math.abs(a.y - b.y);

function towards(from: Point, to: Point, by: number): Point {
  const length = distance(from, to) || 1;
  return { x: from.x + ((to.x - from.x) * by) / length, y: from.y + ((to.y - from.y) * by) / length };
}
