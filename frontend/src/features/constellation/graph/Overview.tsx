/** The whole drawing on one canvas, where cards would be too many or too small to read; with their places and marks. */
import { useStore, ViewportPortal } from "@xyflow/react";
import { useEffect, useRef } from "react";
import { type Drawing, isDense } from "../../../model/layout/blocks.ts";
import type { Placed } from "../../../model/layout/layout.ts";
import { tilesOf } from "../../../model/layout/tiles.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { taskView } from "../../../model/tasks/selectors.ts";
import { paintTile, readPaint } from "./canvas/paint.ts";
import { useRepaint } from "./canvas/repaint.ts";
import { useScene } from "./context.ts";

const EDGES_MAX = 2000;

/** How much of the view is painted beyond each of its sides, so that a pan shows what is there already. */
const BESIDE = 0.25;
/** The picture is scaled up by at most this factor before it is painted again. */
const SCALED_MAX = 1.6;
const SETTLED_MS = 120;

interface Picture {
  x: number;
  y: number;
  width: number;
  height: number;
  zoom: number;
}

/**
 * One picture of the view and its surroundings, which moves and scales with the viewport as any card does. It is painted
 * when the view leaves it, when the view has come to rest, and from time to time while states change.
 */
export function Overview({ drawing, placed }: { drawing: Drawing; placed: Placed }) {
  const { model, fleet, selected } = useScene();
  const canvas = useRef<HTMLCanvasElement>(null);
  const picture = useRef<Picture | null>(null);
  const [dx, dy, zoom] = useStore((state) => state.transform);
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const view = { x: -dx / zoom, y: -dy / zoom, width: width / zoom, height: height / zoom };
  const paint = () => {
    const element = canvas.current;
    if (!element || !width || !height) return;
    const area: Picture = {
      x: view.x - BESIDE * view.width,
      y: view.y - BESIDE * view.height,
      width: view.width * (1 + 2 * BESIDE),
      height: view.height * (1 + 2 * BESIDE),
      zoom,
    };
    picture.current = area;
    const ratio = devicePixelRatio || 1;
    element.width = Math.round(area.width * zoom * ratio);
    element.height = Math.round(area.height * zoom * ratio);
    element.style.left = `${area.x}px`;
    element.style.top = `${area.y}px`;
    element.style.width = `${area.width}px`;
    element.style.height = `${area.height}px`;
    const context = element.getContext("2d");
    if (!context) return;
    context.scale(ratio, ratio);
    paintArea(context, { drawing, placed, model, fleet, selected }, area);
  };
  useRepaint(model, fleet, paint);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `paint` and `view` follow from these.
  useEffect(() => {
    const held = picture.current;
    const shows =
      held &&
      view.x >= held.x &&
      view.y >= held.y &&
      view.x + view.width <= held.x + held.width &&
      view.y + view.height <= held.y + held.height &&
      zoom < held.zoom * SCALED_MAX;
    if (!shows) {
      paint();
      return;
    }
    const timer = setTimeout(paint, SETTLED_MS);
    return () => clearTimeout(timer);
  }, [drawing, placed, model, fleet, selected, dx, dy, zoom, width, height]);

  return (
    // Presses go to the pane below, which pans as well; the tree beside the drawing is the keyboard's way to each task.
    <ViewportPortal>
      <canvas ref={canvas} className="overview" />
    </ViewportPortal>
  );
}

interface Content {
  drawing: Drawing;
  placed: Placed;
  model: StreamModel;
  fleet: StreamModel;
  selected: string | null;
}

function paintArea(context: CanvasRenderingContext2D, content: Content, area: Picture): void {
  const { drawing, placed, model, fleet, selected } = content;
  const { zoom } = area;
  const [dx, dy] = [-area.x * zoom, -area.y * zoom];
  const [width, height] = [area.width * zoom, area.height * zoom];
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
    const named = !block.family || !isDense(block.family);
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
      if (box[2] >= 90 && named) {
        context.fillStyle = view.shown.tone === "grey" || view.shown.tone === "indigo" ? paint.ink : paint.surface;
        context.font = "12px system-ui, sans-serif";
        context.fillText(tile.id, box[0] + 6, box[1] + box[3] / 2 + 4, box[2] - 12);
      }
    }
  }
  // Last, so that no neighbour covers a failure.
  for (const draw of failed) draw();
}
