/** Actions that go back: fork from here, undo finished work, take back an edit; each says why it is not possible. */
import { history } from "../../link/history.ts";
import { partAt } from "../../model/answer/files.ts";
import { resultOf, type TaskView } from "../../model/tasks/selectors.ts";
import type { Head, Version } from "../../model/types.ts";
import { wayBack } from "../../model/wayBack.ts";
import { parseExact } from "../../model/words/exact.ts";
import { FINAL, plural } from "../../model/words/words.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { Action } from "./actions.ts";

const NAMED_MAX = 5;

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

/** The tasks that have done something which has a way back, and nobody has taken it back. */
function undoable(asked: readonly TaskView[], all: readonly TaskView[]): TaskView[] {
  const done = asked.filter((view) => wayBack(view.spec) && view.record?.state === "succeeded");
  if (done.length === 0) return done;
  const undone = new Set(all.filter((view) => view.record?.state !== "failed").map((view) => view.spec.undoes));
  return done.filter((view) => !undone.has(view.id));
}

/** Undoes one task, or all that have a way back; null where nothing of that kind was done. */
export function undoWork(
  { hub }: Workspace,
  head: Head,
  all: readonly TaskView[],
  task: TaskView | null,
): Action | null {
  const found = undoable(task ? [task] : all, all);
  if (found.length === 0) return null;
  const running = !task && !FINAL.has(head.state) ? "Wait until it has ended, or cancel it." : null;
  return {
    id: "undo",
    label: task ? "Undo" : found.length === 1 ? `Undo ${found[0]?.id}` : `Undo ${found.length} steps`,
    why: running,
    asks: asksOf(found),
    deed: found.length === 1 ? `Undo ${found[0]?.id}` : `Undo ${found.length} steps`,
    run: () => history.undo(hub.rest, head.id, task ? [task.id] : []),
  };
}

/** The effect of an undo in words: files go into a trash, which can be emptied or opened; other calls have no way back. */
function asksOf(found: readonly TaskView[]): string {
  const trashing = found.filter((view) => wayBack(view.spec)?.tool === TRASH);
  const others = found.filter((view) => wayBack(view.spec)?.tool !== TRASH);
  const said: string[] = [];
  for (const view of trashing.slice(0, NAMED_MAX))
    said.push(`${filesOf(view)} of ${view.name} into the trash of ${view.deviceName || "its device"}`);
  if (trashing.length > NAMED_MAX) said.push(`those of ${trashing.length - NAMED_MAX} more tasks into the trash`);
  const parts = said.length ? [`It puts ${said.join(", ")}; from there they can be taken back.`] : [];
  if (others.length) parts.push(`It runs ${callsOf(others)} for ${namesOf(others)}, which cannot be undone itself.`);
  return parts.join(" ");
}

const TRASH = "fs.trash";

/** The files that the undo of a task names, counted in its result where that is at hand. */
function filesOf(view: TaskView): string {
  const pointer = wayBack(view.spec)?.outputs?.paths;
  const text = resultOf(view);
  try {
    const found = pointer && text ? partAt(parseExact(text), pointer) : null;
    return Array.isArray(found) ? plural(found.length, "file") : "the files";
  } catch {
    return "the files";
  }
}

const callsOf = (views: readonly TaskView[]): string =>
  [...new Set(views.map((view) => wayBack(view.spec)?.tool))].join(", ");

function namesOf(views: readonly TaskView[]): string {
  const shown = views.slice(0, NAMED_MAX).map((view) => view.name);
  const more = views.length - shown.length;
  return `${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** The version that undid this one and was not undone itself; null where none did. */
export function undoneBy(number: number, all: readonly Version[]): number | null {
  const undid = all.filter((one) => one.trigger === `undo:${number}` && undoneBy(one.number, all) === null);
  return undid.at(-1)?.number ?? null;
}

/** Takes back the edit that made a version, as a new version; null where that was done or cannot be. */
export function takeBack({ hub }: Workspace, head: Head, version: Version, all: readonly Version[]): Action | null {
  if (version.number <= 1 || version.author === "expand" || undoneBy(version.number, all) !== null) return null;
  return {
    id: "undo",
    label: `Undo v${version.number}`,
    why: FINAL.has(head.state) ? "It has ended: fork it from the version before." : null,
    said: `v${version.number} is undone: the plan is without it from now on.`,
    run: () => history.takeBack(hub.rest, head.id, version.number),
  };
}
