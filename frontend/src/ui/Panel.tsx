/** A part beside its page, or over it on a small screen. Giving the focus back to its opener is `app/shell/focus.ts`. */
import { type ReactNode, useEffect, useRef } from "react";

interface PanelProps {
  label: string;
  className: "inspector" | "sheet";
  /**
   * What the panel is about. When it changes, the heading takes the focus from a control that was pressed by a key; a
   * panel that covers its page takes it in any case.
   */
  of?: string;
  children: ReactNode;
}

const TYPED = "input, select, textarea, [role=tree]";

/** Whether a key opened the panel. In a field or a tree the next key is meant for that, so the focus stays there. */
function byKey(): boolean {
  const at = document.activeElement;
  return Boolean(at?.matches(":focus-visible") && !at.matches(TYPED));
}

export function Panel({ label, className, of, children }: PanelProps) {
  const part = useRef<HTMLElement>(null);
  useEffect(() => {
    const panel = part.current;
    if (!panel || panel.contains(document.activeElement)) return;
    if (of !== undefined && getComputedStyle(panel).position !== "fixed" && !byKey()) return;
    const heading = panel.querySelector<HTMLElement>("h2");
    heading?.setAttribute("tabindex", "-1");
    heading?.focus({ preventScroll: true });
  }, [of]);
  return (
    <aside ref={part} className={className} aria-label={label} tabIndex={-1} data-returns>
      {children}
    </aside>
  );
}
