/** A menu at a place of the page: one tab stop, arrows walk it, Escape and a press beside it close it. */
import { type KeyboardEvent, useEffect, useRef } from "react";
import { pressedKey } from "./pressedKey.ts";

export interface MenuEntry {
  label: string;
  run: () => void;
}

interface MenuProps {
  label: string;
  at: { x: number; y: number };
  entries: readonly MenuEntry[];
  onClose: () => void;
}

export function Menu({ label, at, entries, onClose }: MenuProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    const element = box.current;
    if (!element) return;
    element.showPopover();
    // Only now is its size known: it stays within the window.
    const { width, height } = element.getBoundingClientRect();
    element.style.left = `${Math.max(4, Math.min(at.x, innerWidth - width - 4))}px`;
    element.style.top = `${Math.max(4, Math.min(at.y, innerHeight - height - 4))}px`;
    element.querySelector("button")?.focus();
    // By hand, not `auto`: a long touch opens it while the finger is still down, and its release would close it.
    const outside = (event: PointerEvent) => {
      if (!element.contains(event.target as Node)) onClose();
    };
    document.addEventListener("pointerdown", outside, true);
    return () => {
      document.removeEventListener("pointerdown", outside, true);
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, [at, onClose]);

  const onKeyDown = (event: KeyboardEvent) => {
    const key = pressedKey(event);
    const items = [...(box.current?.querySelectorAll<HTMLElement>("button") ?? [])];
    const step = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
    event.stopPropagation();
    if (key === "Tab" || key === "Escape") onClose();
    if (!step) return;
    event.preventDefault();
    const now = items.indexOf(document.activeElement as HTMLElement);
    items[(now + step + items.length) % items.length]?.focus();
  };

  return (
    <div ref={box} popover="manual" className="menu" role="menu" tabIndex={-1} aria-label={label} onKeyDown={onKeyDown}>
      {entries.map((entry) => (
        <button
          key={entry.label}
          type="button"
          role="menuitem"
          tabIndex={-1}
          onClick={() => {
            onClose();
            entry.run();
          }}
        >
          {entry.label}
        </button>
      ))}
    </div>
  );
}
