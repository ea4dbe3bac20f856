/** The menu of a task at the place where it was asked for: open it, its log, its reason, and each action that is possible now. */
import { type KeyboardEvent, useEffect, useRef } from "react";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { groupActions, taskActions } from "../../../app/actions/actions.ts";
import { useWorkspace } from "../../../app/workspace/context.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { head, taskView } from "../../../model/tasks/selectors.ts";
import type { GroupRecord } from "../../../model/types.ts";

interface TaskMenuProps {
  model: StreamModel;
  fleet: StreamModel;
  task: string;
  at: { x: number; y: number };
  onOpen: (tab: "log" | "why" | null) => void;
  onClose: () => void;
}

interface Entry {
  label: string;
  run: () => void;
}

export function TaskMenu({ model, fleet, task, at, onOpen, onClose }: TaskMenuProps) {
  const { hub } = useWorkspace();
  const { perform } = useDoing();
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

  const constellation = head(model);
  const view = taskView(model, fleet, task);
  const isGroup = Boolean(view?.spec.for_each || view?.spec.nested || view?.spec.goal);
  const actions =
    !constellation || !view
      ? []
      : isGroup
        ? groupActions(hub, constellation, task, model.one<GroupRecord>(`group/${task}`), Boolean(view.spec.goal))
        : taskActions(hub, constellation, view);
  const entries: Entry[] = [
    { label: "Open", run: () => onOpen(null) },
    ...(isGroup
      ? []
      : [
          { label: "Log", run: () => onOpen("log") },
          { label: "Why", run: () => onOpen("why") },
        ]),
    ...actions
      .filter((action) => !action.why)
      .map((action) => ({ label: action.label, run: () => void perform(action) })),
  ];

  const onKeyDown = (event: KeyboardEvent) => {
    const items = [...(box.current?.querySelectorAll<HTMLElement>("button") ?? [])];
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    event.stopPropagation();
    if (event.key === "Tab" || event.key === "Escape") onClose();
    if (!step) return;
    event.preventDefault();
    const now = items.indexOf(document.activeElement as HTMLElement);
    items[(now + step + items.length) % items.length]?.focus();
  };

  return (
    <div
      ref={box}
      popover="manual"
      className="menu"
      role="menu"
      tabIndex={-1}
      aria-label={view?.name ?? task}
      onKeyDown={onKeyDown}
    >
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
