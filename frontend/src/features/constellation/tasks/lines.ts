/**
 * The lines of the list that are in view, by arithmetic: every row is as high as every other, and so is every heading.
 * What is not in view costs nothing: a library for such lists works out the place of each row again when one task moves.
 * Pure.
 */
import type { Section } from "../../../model/tasks/sections.ts";
import type { TaskView } from "../../../model/tasks/selectors.ts";

export const HEAD_PX = 32;
/** So many rows beyond each end of the view are drawn, so that a scroll shows what is there already. */
const BEYOND = 8;

/** What of the list is in view, in pixels from its beginning. */
export interface Seen {
  top: number;
  height: number;
}

/** A row, or a heading where it has no task. */
export interface Line {
  top: number;
  view: TaskView | null;
  title: string;
  count: number;
}

export const heightOf = (sections: readonly Section[], row: number): number =>
  sections.reduce((sum, { tasks }) => sum + HEAD_PX + tasks.length * row, 0);

/** The rows and headings in view and just beyond it. */
export function linesIn(sections: readonly Section[], row: number, seen: Seen): Line[] {
  const from = seen.top - BEYOND * row;
  const to = seen.top + seen.height + BEYOND * row;
  const lines: Line[] = [];
  let top = 0;
  for (const { title, tasks } of sections) {
    const rows = top + HEAD_PX;
    const end = rows + tasks.length * row;
    if (top > to) break;
    if (rows > from) lines.push({ top, view: null, title, count: tasks.length });
    const last = Math.min(tasks.length, Math.ceil((to - rows) / row));
    for (let at = Math.max(0, Math.floor((from - rows) / row)); at < last; at += 1) {
      const view = tasks[at]?.view;
      if (view) lines.push({ top: rows + at * row, view, title, count: 1 });
    }
    top = end;
  }
  return lines;
}

/** Where a task's row begins; null where the list has no such task. */
export function topOf(sections: readonly Section[], row: number, task: string): number | null {
  let top = 0;
  for (const { tasks } of sections) {
    const at = tasks.findIndex(({ view }) => view.id === task);
    if (at >= 0) return top + HEAD_PX + at * row;
    top += HEAD_PX + tasks.length * row;
  }
  return null;
}
