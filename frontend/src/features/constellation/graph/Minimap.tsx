/** The whole drawing small, on one canvas, with the part in view framed; a press or a drag moves the view there. */
import { useReactFlow, useStore } from "@xyflow/react";
import { type PointerEvent, useEffect, useRef } from "react";
import type { Drawing } from "../../../model/layout/blocks.ts";
import type { Placed } from "../../../model/layout/layout.ts";
import { tilesOf } from "../../../model/layout/tiles.ts";
import { taskView } from "../../../model/tasks/selectors.ts";
import { paintTile, readPaint } from "./canvas/paint.ts";
import { useRepaint } from "./canvas/repaint.ts";
import { useScene } from "./context.ts";

const WIDE = 180;
const HIGH = 154;
const ROOM = 8;

interface MinimapProps {
  drawing: Drawing;
  placed: Placed;
  /** Called before a person moves the view by it. */
  onMove: () => void;
}

export function Minimap({ drawing, placed, onMove }: MinimapProps) {
  const { model, fleet } = useScene();
  const flow = useReactFlow();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [dx, dy, zoom] = useStore((state) => state.transform);
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const scale = Math.min((WIDE - 2 * ROOM) / (placed.width || 1), (HIGH - 2 * ROOM) / (placed.height || 1));
  const left = (WIDE - placed.width * scale) / 2;
  const top = (HIGH - placed.height * scale) / 2;

  const paint = () => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, WIDE * 2, HIGH * 2);
    context.setTransform(2, 0, 0, 2, left * 2, top * 2);
    const colours = readPaint();
    const failed: (() => void)[] = [];
    for (const block of drawing.blocks) {
      const at = placed.at.get(block.id);
      if (!at) continue;
      for (const tile of tilesOf(block)) {
        const shown = taskView(model, fleet, tile.id)?.shown;
        if (!shown) continue;
        const box = [
          (at.x + tile.x) * scale,
          (at.y + tile.y) * scale,
          Math.max(1, tile.width * scale),
          Math.max(1, tile.height * scale),
        ] as const;
        if (shown.tone === "vermilion") failed.push(() => paintTile(context, colours, shown, ...box));
        else paintTile(context, colours, shown, ...box);
      }
    }
    // Last, so that no neighbour covers a failure.
    for (const draw of failed) draw();
  };
  useRepaint(model, fleet, paint);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `paint` follows from these.
  useEffect(() => {
    const timer = setTimeout(paint, 0);
    return () => clearTimeout(timer);
  }, [drawing, placed, scale, left, top, model, fleet]);

  const go = (event: PointerEvent<HTMLDivElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    onMove();
    const [x, y] = [(event.clientX - box.left - left) / scale, (event.clientY - box.top - top) / scale];
    void flow.setCenter(x, y, { zoom });
  };

  return (
    <div
      className="minimap nopan nowheel"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        go(event);
      }}
      onPointerMove={(event) => {
        if (event.buttons) go(event);
      }}
    >
      <canvas ref={canvas} width={WIDE * 2} height={HIGH * 2} />
      <i
        style={{
          left: left - (dx / zoom) * scale,
          top: top - (dy / zoom) * scale,
          width: (width / zoom) * scale,
          height: (height / zoom) * scale,
        }}
      />
    </div>
  );
}
