/** When a canvas is painted: at once when its place or selection changes, and at most so often while work goes on. */
import { useEffect, useRef } from "react";
import { useLook } from "../../../../app/shell/theme.ts";
import type { StreamModel } from "../../../../model/stream/stream.ts";
import { boardOf } from "../../../../model/tasks/board.ts";

/** A person sees a state change within this time; painting thousands of tiles for each event would hold up the page. */
const PAINT_EVERY_MS = 200;

/**
 * Calls `paint` when a task or the theme has changed, not more often than `PAINT_EVERY_MS`. The newest `paint` is called, so
 * that it need not be stable. For a new drawing, place or selection the caller paints.
 */
export function useRepaint(model: StreamModel, fleet: StreamModel, paint: () => void): void {
  const latest = useRef(paint);
  latest.current = paint;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    let paintedMs = 0;
    const later = () => {
      timer ??= setTimeout(
        () => {
          timer = null;
          paintedMs = performance.now();
          latest.current();
        },
        Math.max(0, paintedMs + PAINT_EVERY_MS - performance.now()),
      );
    };
    const stops = [boardOf(model, fleet).subscribe(later), useLook.subscribe(later)];
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", later);
    return () => {
      for (const stop of stops) stop();
      dark.removeEventListener("change", later);
      if (timer) clearTimeout(timer);
    };
  }, [model, fleet]);
}
