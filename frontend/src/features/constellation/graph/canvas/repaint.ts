/** When a canvas is painted: at once when its place or selection changes, and at most so often while work goes on. */
import { useEffect, useRef } from "react";
import { useLook } from "../../../../app/shell/theme.ts";
import type { StreamModel } from "../../../../model/stream/stream.ts";
import { boardOf } from "../../../../model/tasks/board.ts";

/** A person sees a state change within this time; painting thousands of tiles for each event would hold up the page. */
const PAINT_EVERY_MS = 200;

/** Paints the tasks that have changed since the last call; with null, for another theme, all of them. */
export type Repaint = (changed: ReadonlySet<string> | null) => void;

/**
 * Calls `paint` when a task or the theme has changed, not more often than `PAINT_EVERY_MS`. The newest `paint` is called, so
 * that it need not be stable. For a new drawing, place or selection the caller paints.
 */
export function useRepaint(model: StreamModel, fleet: StreamModel, paint: Repaint): void {
  const latest = useRef(paint);
  latest.current = paint;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    let paintedMs = 0;
    let all = false;
    const board = boardOf(model, fleet);
    const { changed, end } = board.note();
    const later = () => {
      timer ??= setTimeout(
        () => {
          timer = null;
          paintedMs = performance.now();
          latest.current(all ? null : changed);
          all = false;
          changed.clear();
        },
        Math.max(0, paintedMs + PAINT_EVERY_MS - performance.now()),
      );
    };
    const lookAnew = () => {
      all = true;
      later();
    };
    const stops = [board.subscribe(later), useLook.subscribe(lookAnew), end];
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", lookAnew);
    return () => {
      for (const stop of stops) stop();
      dark.removeEventListener("change", lookAnew);
      if (timer) clearTimeout(timer);
    };
  }, [model, fleet]);
}
