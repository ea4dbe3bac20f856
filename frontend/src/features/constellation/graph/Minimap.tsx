/** The whole drawing small, on one canvas, with the part in view framed; a press or a drag moves the view there. */
import { useReactFlow, useStore } from "@xyflow/react";
import { type PointerEvent, useEffect, useMemo, useRef } from "react";
import type { Drawing } from "../../../model/layout/blocks.ts";
import type { Placed } from "../../../model/layout/layout.ts";
import { tilesOf } from "../../../model/layout/tiles.ts";
import { taskView } from "../../../model/tasks/selectors.ts";
import { type Box, Mosaic } from "./canvas/mosaic.ts";
import { readPaint } from "./canvas/paint.ts";
import { useRepaint } from "./canvas/repaint.ts";
import { useScene } from "./context.ts";

const WIDE = 180;
const HIGH = 154;
const ROOM = 8;

/** To whole pixels of a canvas of two for each of the page, so that a tile covers what it was before. */
const sharp = (value: number): number => Math.round(value * 2) / 2;

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

  const mosaic = useMemo(() => {
    const boxes = new Map<string, Box>();
    for (const block of drawing.blocks) {
      const at = placed.at.get(block.id);
      if (!at) continue;
      for (const tile of tilesOf(block)) {
        boxes.set(tile.id, [
          sharp((at.x + tile.x) * scale + left),
          sharp((at.y + tile.y) * scale + top),
          Math.max(1, sharp(tile.width * scale)),
          Math.max(1, sharp(tile.height * scale)),
        ]);
      }
    }
    return new Mosaic(boxes);
  }, [drawing, placed, scale, left, top]);

  const paint = (changed: ReadonlySet<string> | null) => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    const shownOf = (id: string) => taskView(model, fleet, id)?.shown;
    const some = changed && mosaic.takes(changed, shownOf) ? changed : null;
    context.setTransform(2, 0, 0, 2, 0, 0);
    if (!some) context.clearRect(0, 0, WIDE, HIGH);
    mosaic.paint(context, readPaint(), shownOf, some);
  };
  useRepaint(model, fleet, paint);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `paint` follows from these.
  useEffect(() => {
    const timer = setTimeout(() => paint(null), 0);
    return () => clearTimeout(timer);
  }, [mosaic, model, fleet]);

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
