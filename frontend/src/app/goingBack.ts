/** Actions that go back: fork from here, undo finished work, take back an edit; each says why it is not possible. */
import { history } from "../link/history.ts";
import type { TaskView } from "../model/selectors.ts";
import type { Head, Version } from "../model/types.ts";
import { FINAL } from "../model/words.ts";
import type { Action } from "./actions.ts";
import type { Workspace } from "./workspace.ts";

type Go = (path: string) => void;

export function forkFrom(
  { hub }: Workspace,
  constellation: string,
  from: { from_version: number } | { from_task: string },
  go: Go,
): Action {
  return {
    id: "fork",
    label: "from_task" in from ? "Fork from here" : `Fork v${from.from_version}`,
    why: null,
    run: async (confirm) => {
      const made = await history.fork(hub.rest, constellation, from, confirm);
      go(`/constellations/${encodeURIComponent(made.id)}`);
    },
  };
}

/** Whether a task has done something that it says how to take back, and nobody has. */
function canUndo(view: TaskView, all: readonly TaskView[]): boolean {
  if (!view.spec.undo || view.record?.state !== "succeeded") return false;
  return !all.some((other) => other.spec.undoes === view.id && other.record?.state !== "failed");
}

/** Undoes one task, or all that say how; null where nothing of that kind was done. */
export function undoWork(
  { hub }: Workspace,
  head: Head,
  all: readonly TaskView[],
  task: TaskView | null,
): Action | null {
  const asked = task ? [task] : [...all];
  const found = asked.filter((view) => canUndo(view, all));
  if (found.length === 0) return null;
  const running = !task && !FINAL.has(head.state) ? "Wait until it has ended, or cancel it." : null;
  return {
    id: "undo",
    label: task ? "Undo" : found.length === 1 ? `Undo ${found[0]?.id}` : `Undo ${found.length} steps`,
    why: running,
    run: () => history.undo(hub.rest, head.id, task ? [task.id] : []),
  };
}

/** Takes back the edit that made a version, as a new version. */
export function takeBack({ hub }: Workspace, head: Head, version: Version): Action | null {
  if (version.number <= 1 || version.author === "expand") return null;
  return {
    id: "undo",
    label: `Undo v${version.number}`,
    why: FINAL.has(head.state) ? "It has ended: fork it from the version before." : null,
    run: () => history.takeBack(hub.rest, head.id, version.number),
  };
}
