/** One member of a long family: a tile an item on one canvas, so that thousands cost one element. */
import { type MouseEvent, useEffect, useMemo, useRef } from "react";
import { denseCell, FAMILY_HEAD, type Member } from "../../../model/layout/blocks.ts";
import { taskView } from "../../../model/tasks/selectors.ts";
import { type Box, Mosaic } from "./canvas/mosaic.ts";
import { readPaint } from "./canvas/paint.ts";
import { useRepaint } from "./canvas/repaint.ts";
import { useScene } from "./context.ts";

export function DenseRows({ keys, member, x }: { keys: string[]; member: Member; x: number }) {
  const { model, fleet, selected, onSelect } = useScene();
  const canvas = useRef<HTMLCanvasElement>(null);
  const cell = denseCell(keys.length);
  const across = Math.floor(160 / cell);
  const height = Math.ceil(keys.length / across) * cell;

  const mosaic = useMemo(() => {
    const boxes = new Map<string, Box>();
    keys.forEach((key, index) => {
      const id = member.children.get(key);
      if (id) boxes.set(id, [(index % across) * cell, Math.floor(index / across) * cell, cell - 1, cell - 1]);
    });
    return { tiles: new Mosaic(boxes), boxes };
  }, [keys, member, cell, across]);

  const paint = (changed: ReadonlySet<string> | null) => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    const shownOf = (id: string) => taskView(model, fleet, id)?.shown;
    const some = changed && mosaic.tiles.takes(changed, shownOf) ? changed : null;
    if (!some) {
      const ratio = devicePixelRatio || 1;
      // Which clears it.
      element.width = 160 * ratio;
      element.height = height * ratio;
      context.scale(ratio, ratio);
    }
    const colours = readPaint();
    mosaic.tiles.paint(context, colours, shownOf, some);
    const chosen = selected === null ? undefined : mosaic.boxes.get(selected);
    if (!chosen) return;
    context.strokeStyle = colours.ink;
    context.lineWidth = 2;
    context.strokeRect(chosen[0] - 0.5, chosen[1] - 0.5, cell, cell);
  };
  useRepaint(model, fleet, paint);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `paint` follows from these.
  useEffect(() => paint(null), [mosaic, model, fleet, selected]);

  const taskAt = (event: MouseEvent<HTMLCanvasElement>): string | undefined => {
    const box = event.currentTarget.getBoundingClientRect();
    const scale = 160 / box.width;
    const column = Math.floor(((event.clientX - box.left) * scale) / cell);
    const row = Math.floor(((event.clientY - box.top) * scale) / cell);
    return member.children.get(keys[row * across + column] ?? "");
  };

  return (
    // The tree beside the drawing is the keyboard's way to each task.
    <canvas
      ref={canvas}
      className="dense"
      style={{ left: x, top: FAMILY_HEAD, width: 160, height }}
      onClick={(event) => {
        const id = taskAt(event);
        if (id) onSelect(id);
      }}
      onMouseMove={(event) => {
        const id = taskAt(event);
        const view = id ? taskView(model, fleet, id) : undefined;
        event.currentTarget.title = view ? [view.name, view.label, view.shown.word].filter(Boolean).join(", ") : "";
      }}
    />
  );
}
