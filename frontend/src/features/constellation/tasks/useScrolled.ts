/** What of a scrolled list is in view, as the browser says it: asked for, it would work out the whole page at once. */
import { useEffect, useState } from "react";
import type { Seen } from "./lines.ts";

/** Before the list has been laid out once. */
const FIRST_PX = 900;

/** Draws again when another row begins the view; `row` is the height of one. */
export function useScrolled(element: HTMLElement | null, row: number): Seen {
  const [seen, setSeen] = useState<Seen>({ top: 0, height: FIRST_PX });
  useEffect(() => {
    if (!element) return;
    const look = ({ top, height }: Partial<Seen>) =>
      setSeen((held) => {
        const now = { top: top ?? held.top, height: height ?? held.height };
        return now.top === held.top && now.height === held.height ? held : now;
      });
    const onScroll = () => look({ top: Math.floor(element.scrollTop / row) * row });
    element.addEventListener("scroll", onScroll, { passive: true });
    const watch =
      typeof ResizeObserver === "function"
        ? new ResizeObserver(([entry]) => entry && look({ height: Math.ceil(entry.contentRect.height) }))
        : null;
    watch?.observe(element);
    return () => {
      element.removeEventListener("scroll", onScroll);
      watch?.disconnect();
    };
  }, [element, row]);
  return seen;
}
