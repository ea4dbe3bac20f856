/** One member of a long family: a tile an item on one canvas, so that thousands cost one element. */
import { type MouseEvent, useEffect, useRef } from "react";
import { denseCell, FAMILY_HEAD, type Member } from "../../../model/layout/blocks.ts";
import { taskView } from "../../../model/tasks/selectors.ts";
import { paintTile, readPaint } from "./canvas/paint.ts";
import { useRepaint } from "./canvas/repaint.ts";
import { useScene } from "./context.ts";

export function DenseRows({ keys, member, x }: { keys: string[]; member: Member; x: number }) {
  const { model, fleet, selected, onSelect } = useScene();
  const canvas = useRef<HTMLCanvasElement>(null);
  const cell = denseCell(keys.length);
  const across = Math.floor(160 / cell);
  const height = Math.ceil(keys.length / across) * cell;

  const paintAll = () => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    const ratio = devicePixelRatio || 1;
    element.width = 160 * ratio;
    element.height = height * ratio;
    context.scale(ratio, ratio);
    const paint = readPaint();
    const failed: [number, number, string][] = [];
    keys.forEach((key, index) => {
      const id = member.children.get(key);
      const view = id ? taskView(model, fleet, id) : undefined;
      if (!view || !id) return;
      const [left, top] = [(index % across) * cell, Math.floor(index / across) * cell];
      if (view.shown.tone === "vermilion") failed.push([left, top, id]);
      else paintTile(context, paint, view.shown, left, top, cell - 1, cell - 1);
      if (id === selected) {
        context.strokeStyle = paint.ink;
        context.lineWidth = 2;
        context.strokeRect(left - 0.5, top - 0.5, cell, cell);
      }
    });
    // Last, so that no neighbour covers a failure.
    for (const [left, top, id] of failed) {
      const view = taskView(model, fleet, id);
      if (view) paintTile(context, paint, view.shown, left, top, cell - 1, cell - 1);
    }
  };
  useRepaint(model, fleet, paintAll);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `paintAll` follows from these.
  useEffect(paintAll, [keys, member, model, fleet, selected]);

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
