/** The whole drawing on one canvas, for when cards would be too many or too small to read. Same places, same marks. */
import { useStore } from "@xyflow/react";
import { type MouseEvent, useEffect, useRef } from "react";
import { taskView } from "../model/selectors.ts";
import {
  type Block,
  type Drawing,
  denseCell,
  FAMILY_HEAD,
  FOLDED_PITCH,
  FOLDED_TOP,
  isDense,
  NODE_HEIGHT,
  ROW_PITCH,
} from "./blocks.ts";
import { useScene } from "./context.ts";
import type { Placed } from "./layout.ts";
import { paintTile, readPaint } from "./paint.ts";

interface Tile {
  id: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Where each task of a block is drawn, in the block's own coordinates. */
export function tilesOf(block: Block): Tile[] {
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

const EDGES_MAX = 2000;

export function Overview({ drawing, placed }: { drawing: Drawing; placed: Placed }) {
  const { model, fleet, selected, onSelect } = useScene();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [dx, dy, zoom] = useStore((state) => state.transform);
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);

  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    const ratio = devicePixelRatio || 1;
    element.width = width * ratio;
    element.height = height * ratio;
    context.scale(ratio, ratio);
    const paint = readPaint();
    if (drawing.links.length <= EDGES_MAX) {
      context.strokeStyle = paint.edge;
      context.lineWidth = Math.max(0.5, Math.min(1.25, zoom));
      context.beginPath();
      for (const points of placed.routes) {
        points.forEach((point, index) => {
          const [x, y] = [point.x * zoom + dx, point.y * zoom + dy];
          if (index === 0) context.moveTo(x, y);
          else context.lineTo(x, y);
        });
      }
      context.stroke();
    }
    const failed: (() => void)[] = [];
    for (const block of drawing.blocks) {
      const at = placed.at.get(block.id);
      if (!at) continue;
      const [left, top] = [at.x * zoom + dx, at.y * zoom + dy];
      if (left > width || top > height || left + block.width * zoom < 0 || top + block.height * zoom < 0) continue;
      if (block.family) {
        context.strokeStyle = paint.line;
        context.lineWidth = 1;
        context.strokeRect(left, top, block.width * zoom, block.height * zoom);
      }
      for (const tile of tilesOf(block)) {
        const view = taskView(model, fleet, tile.id);
        if (!view) continue;
        const box = [left + tile.x * zoom, top + tile.y * zoom, tile.width * zoom, tile.height * zoom] as const;
        const draw = () => paintTile(context, paint, view.shown, ...box);
        if (view.shown.tone === "vermilion") failed.push(draw);
        else draw();
        if (tile.id === selected) {
          context.strokeStyle = paint.ink;
          context.lineWidth = 2;
          context.strokeRect(box[0] - 2, box[1] - 2, box[2] + 4, box[3] + 4);
        }
        if (box[2] >= 90 && !isDense(block.family ?? { root: "", members: [], keys: [], dropped: new Map() })) {
          context.fillStyle = view.shown.tone === "grey" || view.shown.tone === "indigo" ? paint.ink : paint.surface;
          context.font = "12px system-ui, sans-serif";
          context.fillText(tile.id, box[0] + 6, box[1] + box[3] / 2 + 4, box[2] - 12);
        }
      }
    }
    for (const draw of failed) draw();
  });

  const pick = (event: MouseEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left - dx) / zoom, (event.clientY - box.top - dy) / zoom];
    for (const block of drawing.blocks) {
      const at = placed.at.get(block.id);
      if (!at || x < at.x || y < at.y || x > at.x + block.width || y > at.y + block.height) continue;
      const tile = tilesOf(block).find(
        (one) =>
          x >= at.x + one.x && x <= at.x + one.x + one.width && y >= at.y + one.y && y <= at.y + one.y + one.height,
      );
      if (tile) onSelect(tile.id);
      return;
    }
  };

  return (
    // The tree beside the drawing is the keyboard's way to each task.
    <canvas ref={canvas} className="overview" style={{ width, height }} onClick={pick} />
  );
}
