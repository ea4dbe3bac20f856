/**
 * The timeline for those who do not see it: one tab stop; up and down read the tasks as they began, left and right walk
 * the critical path. Only tasks near the chosen one are in the page.
 */
import type { KeyboardEvent } from "react";
import { pressedKey } from "../../../ui/pressedKey.ts";

const NEAR = 30;

interface ReadingProps {
  label: string;
  /** Tasks as they began. */
  tasks: readonly string[];
  path: readonly string[];
  selected: string | null;
  wordsOf: (task: string) => string;
  onSelect: (task: string) => void;
  onPan: (share: number) => void;
  onMenu: (task: string) => void;
}

export function Reading(props: ReadingProps) {
  const { label, tasks, path, selected, wordsOf, onSelect, onPan, onMenu } = props;
  const at = Math.max(0, selected === null ? 0 : tasks.indexOf(selected));
  const active = tasks[at];

  const onPath = (by: number): string | undefined => {
    const here = selected === null ? -1 : path.indexOf(selected);
    if (here < 0) return path[by > 0 ? 0 : path.length - 1];
    return path[here + by];
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const key = pressedKey(event);
    if (key === "ContextMenu" || (key === "F10" && event.shiftKey)) {
      event.preventDefault();
      if (active) onMenu(active);
      return;
    }
    const step = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
    const side = key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0;
    let next: string | undefined;
    if (side && event.shiftKey) onPan(side * 0.2);
    else if (step) next = tasks[Math.min(tasks.length - 1, Math.max(0, selected === null ? at : at + step))];
    else if (side) next = onPath(side);
    else if (key === "Home") next = tasks[0];
    else if (key === "End") next = tasks[tasks.length - 1];
    else if (key === "Enter" || key === " ") next = active;
    else return;
    event.preventDefault();
    event.stopPropagation();
    if (next) onSelect(next);
  };

  const from = Math.max(0, at - NEAR);
  return (
    <div
      className="mirror sr"
      role="listbox"
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={active ? `span-${active}` : undefined}
      onKeyDown={onKeyDown}
    >
      {tasks.slice(from, at + NEAR).map((task, index) => (
        <div
          key={task}
          id={`span-${task}`}
          role="option"
          aria-posinset={from + index + 1}
          aria-setsize={tasks.length}
          aria-selected={task === selected}
          tabIndex={-1}
        >
          {wordsOf(task)}
        </div>
      ))}
    </div>
  );
}
