/** The part of a run that its canvas shows: size, window and scroll, and the ways to change them. Draws nothing. */
import { type RefObject, useEffect, useState } from "react";
import { type Lanes, moved, type Window, zoomed } from "../../../model/run/lanes.ts";
import { pressedKey } from "../../../ui/pressedKey.ts";
import { AXIS_PX, heightOf, msAt, type Place, rowPx } from "./paintLanes.ts";

const STEP = 1.5;
const GUTTER_PX = 148;
const GUTTER_NARROW_PX = 84;

export interface View {
  place: Place;
  /** By how much the lanes are higher than the canvas. */
  over: number;
  fitAll: () => void;
  zoomIn: () => void;
  zoomOut: () => void;
  /** Zoom by a factor around a place from the left. */
  zoom: (factor: number, x: number) => void;
  pan: (byMs: number) => void;
  scroll: (byPx: number) => void;
}

export function useView(
  canvas: RefObject<HTMLCanvasElement | null>,
  whole: Window,
  lanes: Lanes,
  narrow: boolean,
): View {
  const [size, setSize] = useState({ width: 0, height: 0 });
  // Null shows the whole run, its expected rest included.
  const [window, setWindow] = useState<Window | null>(null);
  const [top, setTop] = useState(0);
  const row = rowPx(lanes, size.height);
  const over = Math.max(0, heightOf(lanes, row) - (size.height - AXIS_PX));
  const place: Place = {
    ...size,
    gutter: narrow ? GUTTER_NARROW_PX : GUTTER_PX,
    window: window ?? whole,
    top: Math.min(top, over),
    rowPx: row,
  };

  useEffect(() => {
    const element = canvas.current?.parentElement;
    if (!element || typeof ResizeObserver !== "function") return;
    const watch = new ResizeObserver(([entry]) => {
      if (!entry) return;
      const { width, height } = entry.contentRect;
      setSize({ width: Math.round(width), height: Math.round(height) });
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, [canvas]);

  const fitAll = () => {
    setWindow(null);
    setTop(0);
  };
  const zoom = (factor: number, x: number) => {
    const next = zoomed(place.window, whole, msAt(place, x), factor);
    setWindow(next.toMs - next.fromMs >= whole.toMs - whole.fromMs ? null : next);
  };
  const middle = place.gutter + (place.width - place.gutter) / 2;
  const zoomIn = () => zoom(STEP, middle);
  const zoomOut = () => zoom(1 / STEP, middle);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const key = pressedKey(event);
      if (key === "f") fitAll();
      else if (key === "+" || key === "=") zoomIn();
      else if (key === "-") zoomOut();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });

  return {
    place,
    over,
    fitAll,
    zoomIn,
    zoomOut,
    zoom,
    pan: (byMs) => window && setWindow(moved(window, whole, byMs)),
    scroll: (byPx) => setTop(Math.max(0, Math.min(over, place.top + byPx))),
  };
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && Boolean(target.closest("input, textarea, select, [contenteditable]"));
}
