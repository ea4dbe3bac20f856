/**
 * The outcome of an undo, task by task: the files that stay and why, and those that came back or went to a trash. Pure;
 * reads the results of the tasks that undo others, as `fs.trash` and `fs.restore` give them.
 */

import { partAt } from "../../../model/answer/files.ts";
import { resultOf, type TaskView } from "../../../model/tasks/selectors.ts";
import { parseExact } from "../../../model/words/exact.ts";

export interface UndoLine {
  /** The task that undoes. */
  id: string;
  /** The task whose work it undoes. */
  of: string;
  stays: boolean;
  words: string;
}

const FILES_MAX = 5;

/** One line for each task that an undo was to take back, those whose work stays first. */
export function undoLines(views: readonly TaskView[]): UndoLine[] {
  const names = new Map(views.map((view) => [view.id, view.name]));
  const lines = views.flatMap((view): UndoLine[] => {
    const of = view.spec.undoes ?? "";
    const line = { id: view.id, of: names.get(of) ?? of };
    const where = view.deviceName ? ` on ${view.deviceName}` : "";
    switch (of && view.record?.state) {
      case "failed":
        return [{ ...line, stays: true, words: `stays as it is${where}: ${sentence(view.attempt?.detail ?? "")}` }];
      case "skipped": {
        const cause = view.record?.cause ?? "";
        const why = cause ? `since ${names.get(cause) ?? cause} failed` : "since an undo before it failed";
        return [{ ...line, stays: true, words: `stays as it is: its undo did not begin, ${why}.` }];
      }
      case "succeeded":
        return [{ ...line, stays: false, words: backWords(view) }];
      default:
        return [];
    }
  });
  return lines.sort((a, b) => Number(b.stays) - Number(a.stays));
}

const sentence = (text: string): string => (text && !/[.!?]$/.test(text) ? `${text}.` : text || "the task says why.");

function backWords(view: TaskView): string {
  const where = view.deviceName || "its device";
  const back = view.spec.tool === "fs.restore" ? pathsAt(view, "/items") : pathsAt(view, "/restored");
  const trashed = view.spec.tool === "fs.trash" ? pathsAt(view, "/items").filter((one) => !back.includes(one)) : [];
  const parts = [
    back.length > 0 && `${filesOf(back)} ${back.length === 1 ? "is" : "are"} back on ${where}`,
    trashed.length > 0 && `${filesOf(trashed)} went to the trash of ${where}`,
  ].filter(Boolean);
  return parts.length > 0 ? `is taken back: ${parts.join("; ")}.` : "is taken back.";
}

const filesOf = (paths: readonly string[]): string =>
  paths.slice(0, FILES_MAX).join(", ") + (paths.length > FILES_MAX ? ` and ${paths.length - FILES_MAX} more` : "");

/** The paths of a list in the result of a task; none where the result is elsewhere. */
function pathsAt(view: TaskView, pointer: string): string[] {
  const text = resultOf(view);
  let found: unknown = null;
  try {
    found = text === null ? null : partAt(parseExact(text), pointer);
  } catch {
    return [];
  }
  if (!Array.isArray(found)) return [];
  return found.flatMap((one: unknown) => {
    const path = typeof one === "string" ? one : (one as { path?: unknown } | null)?.path;
    return typeof path === "string" ? [path] : [];
  });
}
