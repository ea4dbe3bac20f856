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

const FOUND_MOVED =
  "Its file was found moved already, by an attempt whose result was lost or by others, so there is nothing to put back. " +
  "Move it back by a task with fs.move.";

/** Whether a move found its work done: the hub refuses its undo, since nothing proves that it moved the file. */
const foundMoved = (view: TaskView): boolean => putsBack(view) && countOf(view) === 0;

/** Whether a task ended without success and may have changed files until then, which its device has noted. */
function wasStopped(view: TaskView): boolean {
  const attempt = view.attempt;
  const isOver = view.record?.state === "failed" || view.record?.state === "cancelled";
  if (!isOver || !attempt || view.spec.undo || view.spec.undoes) return false;
  return attempt.end !== "ok" && (attempt.started_ms ?? 0) > 0 && attempt.effect !== "none";
}

/** The tasks that have done something which has a way back, and nobody has taken it back. */
function undoable(asked: readonly TaskView[], all: readonly TaskView[]): TaskView[] {
  const done = asked.filter((view) => wayBack(view.spec) && (view.record?.state === "succeeded" || wasStopped(view)));
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
  const done = undoable(task ? [task] : all, all);
  const found = task ? done : done.filter((view) => !foundMoved(view));
  if (found.length === 0) return null;
  const running = !task && !FINAL.has(head.state) ? "Wait until it has ended, or cancel it." : null;
  const deed = found.length === 1 ? `Undo ${found[0]?.name}` : `Undo ${found.length} steps`;
  return {
    id: "undo",
    label: task ? "Undo" : deed,
    why: task && found.every(foundMoved) ? FOUND_MOVED : running,
    asks: asksOf(found),
    deed,
    run: () => history.undo(hub.rest, head.id, task ? [task.id] : []),
  };
}

/** The effect of an undo in words: files go into a trash, or come back from it; other calls have no way back. */
function asksOf(found: readonly TaskView[]): string {
  const ended = found.filter((view) => !wasStopped(view));
  const by = (tool: string) => ended.filter((view) => wayBack(view.spec)?.tool === tool);
  const others = ended.filter((view) => ![TRASH, RESTORE].includes(wayBack(view.spec)?.tool ?? ""));
  const parts: string[] = [];
  const trashed = eachOf(by(TRASH), "into");
  if (trashed) parts.push(`It puts ${trashed}; from there they can be taken back.`);
  const [moved, trash] = [true, false].map((put) => by(RESTORE).filter((view) => put === putsBack(view)));
  const restored = eachOf(trash ?? [], "back from");
  if (restored) parts.push(`It brings ${restored}, to where they were.`);
  if (moved?.length) parts.push(`It moves back what ${namesOf(moved)} moved, where nobody has changed it since.`);
  const stopped = found.filter(wasStopped);
  if (stopped.length) {
    const was = stopped.length === 1 ? "was" : "were";
    parts.push(
      `${namesOf(stopped)} ${was} stopped in the middle: the files changed until then are taken back, as the device noted them.`,
    );
  }
  if (others.length) parts.push(`It runs ${callsOf(others)} for ${namesOf(others)}, which cannot be undone itself.`);
  return parts.join(" ");
}

const putsBack = (view: TaskView): boolean => "put_back" in (wayBack(view.spec)?.outputs ?? {});

const TRASH = "fs.trash";
const RESTORE = "fs.restore";

/** The files of these tasks and the trash of each device that they go into or come back from; empty without tasks. */
function eachOf(views: readonly TaskView[], way: "into" | "back from"): string {
  const places = [...new Set(views.map((view) => view.deviceName || "its device"))];
  const said = places.slice(0, NAMED_MAX).map((place) => {
    const there = views.filter((view) => (view.deviceName || "its device") === place);
    return `${filesOf(there)} of ${namesOf(there)} ${way} the trash of ${place}`;
  });
  const more = places.length - said.length;
  if (more > 0) said.push(`those of ${plural(more, "other device")} ${way} the trash there`);
  return said.join(", ");
}

/** The files that the undo of these tasks names, counted where the results of all are at hand. */
function filesOf(views: readonly TaskView[]): string {
  const counts = views.map(countOf);
  return counts.includes(null)
    ? "the files"
    : plural(
        counts.reduce<number>((sum, one) => sum + (one ?? 0), 0),
        "file",
      );
}

function countOf(view: TaskView): number | null {
  const [pointer] = Object.values(wayBack(view.spec)?.outputs ?? {});
  const text = resultOf(view);
  try {
    const found = pointer && text ? partAt(parseExact(text), pointer) : null;
    return Array.isArray(found) ? found.map(filesIn).reduce(sumOf, 0) : null;
  } catch {
    return null;
  }
}

const sumOf = (sum: number | null, one: number | null): number | null =>
  sum === null || one === null ? null : sum + one;

/** How many files an item to take away stands for: those that came with a folder; null where they were not counted. */
function filesIn(item: unknown): number | null {
  if (typeof item !== "object" || item === null || !("folder" in item) || item.folder !== true) return 1;
  if ("files" in item && typeof item.files === "number") return item.files;
  return "holds" in item && item.holds ? null : 0;
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
