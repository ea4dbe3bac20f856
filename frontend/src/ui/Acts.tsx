/**
 * The actions of a page in one line: those without room stand behind *More*. Each stays mounted wherever it is shown,
 * so that its dialog stays open when the room changes.
 */
import { Children, type KeyboardEvent, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";
import { grown } from "../styles/textSize.ts";
import { Button } from "./parts.tsx";
import { pressedKey } from "./pressedKey.ts";

interface ActsProps {
  label: string;
  className?: string;
  /** The panel opens above the bar: at the bottom of a phone. */
  up?: boolean;
  children: ReactNode;
}

/** How many widths fit into the room, where the rest needs the width of *More*. At least one always does. */
export function fitting(widths: readonly number[], room: number, gap: number, more: number): number {
  const whole = widths.reduce((sum, width) => sum + width + gap, -gap);
  if (whole <= room) return widths.length;
  let used = more;
  let count = 0;
  for (const width of widths) {
    used += width + gap;
    if (used > room) break;
    count += 1;
  }
  return Math.max(1, count);
}

/** The name keeps this much of its width before an action does; a shorter name keeps all of it. */
const NAME_PX = 200;
const GAP_PX = 8;

/** The room of the actions: of the bar at the bottom its own, of the top bar what its other parts leave. */
function roomOf(box: HTMLElement): number {
  const bar = box.parentElement;
  if (!bar?.matches(".top")) return box.clientWidth;
  const style = getComputedStyle(bar);
  const inner = bar.clientWidth - Number.parseFloat(style.paddingLeft) - Number.parseFloat(style.paddingRight);
  const others = [...bar.children].filter((one) => one !== box && !one.matches(".grow"));
  const taken = others.map((one) => {
    const width = one.getBoundingClientRect().width;
    return one.matches("h1") ? Math.min(width, grown(NAME_PX)) : width;
  });
  const shown = taken.filter((width) => width > 0);
  const gap = Number.parseFloat(style.columnGap) || 0;
  // The part that grows has a gap of its own, and so have the actions.
  return inner - shown.reduce((sum, width) => sum + width + gap, 2 * gap);
}

export function Acts({ label, className = "", up = false, children }: ActsProps) {
  const box = useRef<HTMLDivElement>(null);
  const more = useRef<HTMLSpanElement>(null);
  const [shown, setShown] = useState(Number.POSITIVE_INFINITY);
  const [open, setOpen] = useState(false);
  const list = Children.toArray(children);
  const names = list.map((child) => (child as { key?: string }).key).join(" ");

  // biome-ignore lint/correctness/useExhaustiveDependencies: other actions have other widths.
  useLayoutEffect(() => {
    const element = box.current;
    const bar = element?.parentElement;
    if (!element || !bar) return;
    const measure = () => {
      // For a moment every part has its natural width; nothing is painted meanwhile.
      bar.classList.add("measuring");
      const parts = [...element.querySelectorAll<HTMLElement>(":scope > .act")];
      const widths = parts.map((one) => one.getBoundingClientRect().width);
      const real = widths.filter((width) => width > 0);
      const fits = fitting(real, roomOf(element), GAP_PX, more.current?.getBoundingClientRect().width ?? 0);
      bar.classList.remove("measuring");
      // The count is of children, of which those that draw nothing have no width.
      let left = fits;
      const at = widths.findIndex((width) => {
        if (width > 0) left -= 1;
        return left < 0;
      });
      setShown(at < 0 ? Number.POSITIVE_INFINITY : at);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(bar);
    for (const one of bar.querySelectorAll("h1, .pill, .act")) observer.observe(one);
    return () => observer.disconnect();
  }, [names]);

  useEffect(() => {
    if (!open) return;
    const outside = (event: PointerEvent) => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", outside, true);
    return () => document.removeEventListener("pointerdown", outside, true);
  }, [open]);

  const over = list.length > shown;
  const close = () => {
    more.current?.querySelector("button")?.focus();
    setOpen(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (pressedKey(event) !== "Escape" || !open) return;
    event.preventDefault();
    close();
  };
  return (
    <div
      className={`acts ${open && over ? "open" : ""} ${up ? "up" : ""} ${className}`}
      ref={box}
      role="group"
      aria-label={label}
      onKeyDown={onKeyDown}
    >
      {list.map((child, at) => (
        // biome-ignore lint/a11y/noStaticElementInteractions: the control in it hears the keys; this closes the panel.
        // biome-ignore lint/a11y/useKeyWithClickEvents: as above.
        <span
          key={(child as { key?: string }).key ?? at}
          className={`act ${at >= shown ? "over" : ""}`}
          style={at >= shown ? ({ "--place": at - shown } as React.CSSProperties) : undefined}
          onClick={(event) => {
            // A click in a dialog of the action comes here through React, not through the document.
            if (at >= shown && open && event.currentTarget.contains(event.target as Node)) close();
          }}
        >
          {child}
        </span>
      ))}
      <span className="more" ref={more} hidden={!over}>
        <Button icon="more" aria-expanded={open} onClick={() => setOpen(!open)}>
          More
        </Button>
      </span>
    </div>
  );
}
