/** Wheel, mouse and fingers over a timeline: move, zoom around the pointer, pinch, press. Knows places, no tasks. */
import { type PointerEvent, type RefObject, useEffect, useRef } from "react";

const STILL_PX = 6;
const WHEEL = 0.0022;

interface Gestures {
  /** Zoom by a factor around a place from the left. */
  zoom: (factor: number, x: number) => void;
  /** Move by pixels. */
  move: (dx: number, dy: number) => void;
  press: (x: number, y: number) => void;
  hover: (x: number, y: number) => void;
  leave: () => void;
  /** Whether the lanes are higher than the canvas, so that a wheel scrolls them. */
  scrolls: () => boolean;
}

export function useGestures(canvas: RefObject<HTMLCanvasElement | null>, gestures: Gestures) {
  const latest = useRef(gestures);
  latest.current = gestures;
  const fingers = useRef(new Map<number, { x: number; y: number }>());
  const travelled = useRef(0);

  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    // React's own listener may not keep the page from scrolling.
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      const { zoom, move, scrolls } = latest.current;
      const x = event.clientX - element.getBoundingClientRect().left;
      if (event.shiftKey) move(-event.deltaY || -event.deltaX, 0);
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(-event.deltaX, 0);
      else if (event.ctrlKey || event.metaKey || !scrolls()) zoom(Math.exp(-event.deltaY * WHEEL), x);
      else move(0, -event.deltaY);
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [canvas]);

  const at = (event: PointerEvent) => {
    const box = event.currentTarget.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const spread = () => {
    const [a, b] = [...fingers.current.values()];
    return a && b ? { px: Math.max(24, Math.abs(a.x - b.x)), x: (a.x + b.x) / 2 } : null;
  };
  return {
    onPointerDown: (event: PointerEvent<HTMLCanvasElement>) => {
      if (event.button !== 0) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      if (fingers.current.size === 0) travelled.current = 0;
      fingers.current.set(event.pointerId, at(event));
    },
    onPointerMove: (event: PointerEvent<HTMLCanvasElement>) => {
      const here = at(event);
      const before = fingers.current.get(event.pointerId);
      if (!before) {
        if (event.pointerType !== "touch") latest.current.hover(here.x, here.y);
        return;
      }
      const was = spread();
      fingers.current.set(event.pointerId, here);
      const now = spread();
      travelled.current += Math.hypot(here.x - before.x, here.y - before.y);
      if (was && now) {
        latest.current.move(now.x - was.x, 0);
        latest.current.zoom(now.px / was.px, now.x);
      } else if (travelled.current > STILL_PX) latest.current.move(here.x - before.x, here.y - before.y);
    },
    onPointerUp: (event: PointerEvent<HTMLCanvasElement>) => {
      const alone = fingers.current.size === 1;
      const known = fingers.current.delete(event.pointerId);
      const { x, y } = at(event);
      if (known && alone && travelled.current <= STILL_PX) latest.current.press(x, y);
    },
    onPointerCancel: (event: PointerEvent<HTMLCanvasElement>) => {
      fingers.current.delete(event.pointerId);
    },
    onPointerLeave: () => latest.current.leave(),
  };
}
