/** A long touch asks for the menu, as the right button of a mouse does; iOS has no event of its own for it. */
import { type PointerEvent, type TouchEvent, useCallback, useEffect, useRef } from "react";

const HELD_MS = 500;
const STILL_PX = 8;

/** Handlers for the element within which things are held; the click that ends a long touch is taken away. */
export function useLongPress(onHold: (target: Element, at: { x: number; y: number }) => void) {
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const from = useRef({ x: 0, y: 0 });
  const held = useRef(false);
  const stop = useCallback(() => {
    if (timer.current) clearTimeout(timer.current);
    timer.current = null;
  }, []);
  useEffect(() => stop, [stop]);
  return {
    held,
    handlers: {
      onPointerDownCapture: (event: PointerEvent) => {
        stop();
        held.current = false;
        if (event.pointerType !== "touch" || !event.isPrimary) return;
        const [target, at] = [event.target as Element, { x: event.clientX, y: event.clientY }];
        from.current = at;
        timer.current = setTimeout(() => {
          held.current = true;
          onHold(target, at);
        }, HELD_MS);
      },
      onPointerMoveCapture: (event: PointerEvent) => {
        if (Math.hypot(event.clientX - from.current.x, event.clientY - from.current.y) > STILL_PX) stop();
      },
      onPointerUpCapture: stop,
      onPointerCancelCapture: stop,
      // The browser would make a press of the mouse of it, and move the focus from the menu.
      onTouchEndCapture: (event: TouchEvent) => {
        if (held.current) event.preventDefault();
      },
      onClickCapture: (event: { stopPropagation: () => void; preventDefault: () => void }) => {
        if (!held.current) return;
        held.current = false;
        event.stopPropagation();
        event.preventDefault();
      },
    },
  };
}
