/**
 * Tasks as a list is read: sections by what stands where, in each the tasks as they began, then by name. Moves only the
 * tasks that are others than before, so that one event of thousands of live tasks costs one place. Pure.
 */
import { naturalKey } from "../words/natural.ts";
import type { TaskView } from "./board.ts";
import { beganMs, inTrouble, needRank } from "./selectors.ts";

/** A task with what decides its place, read once. */
interface Placed {
  view: TaskView;
  title: string;
  rank: number;
  began: number;
  name: string;
}

export interface Section {
  title: string;
  tasks: readonly { view: TaskView }[];
}

/** The heading is the word of the badge: a task that is held stands below *Held*. */
function titleOf({ shown }: TaskView): string {
  if (shown.tone === "vermilion") return "Failed";
  if (shown.glyph === "hand") return "Needs you";
  if (inTrouble(shown)) return shown.word.split(/[,:]/)[0] ?? shown.word;
  if (shown.tone === "blue") return "Running";
  if (shown.glyph === "dotted_ring") return "Ready";
  if (shown.glyph === "ring") return "Waiting";
  return shown.tone === "teal" ? "Done" : "Left out";
}

const placedOf = (view: TaskView): Placed => ({
  view,
  title: titleOf(view),
  rank: needRank(view.shown),
  began: beganMs(view),
  name: naturalKey(view.id),
});

const order = (a: Placed, b: Placed): number =>
  a.rank - b.rank || a.began - b.began || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

export class Sections {
  private views: readonly TaskView[] = [];
  private readonly placed = new Map<string, Placed>();
  private readonly byTitle = new Map<string, Placed[]>();
  private sorted: Section[] = [];

  /** The sections of these tasks, in the order in which a person needs them; the same array costs nothing. */
  of(views: readonly TaskView[]): readonly Section[] {
    if (views === this.views) return this.sorted;
    const changed = this.changedIn(views);
    if (!changed) this.placeAll(views);
    else for (const view of changed) this.move(view);
    this.views = views;
    this.sorted = [...this.byTitle]
      .map(([title, tasks]) => ({ title, tasks }))
      .sort((a, b) => order(a.tasks[0] as Placed, b.tasks[0] as Placed));
    return this.sorted;
  }

  /** The tasks that are others than before; null where they are other tasks, or too many to be moved one by one. */
  private changedIn(views: readonly TaskView[]): TaskView[] | null {
    const { views: before } = this;
    if (views.length !== before.length) return null;
    const changed: TaskView[] = [];
    for (let index = 0; index < views.length; index += 1) {
      const [old, view] = [before[index], views[index]];
      if (old === view || !view) continue;
      if (old?.id !== view.id || changed.length > views.length / MOVED_MOST) return null;
      changed.push(view);
    }
    return changed;
  }

  private placeAll(views: readonly TaskView[]): void {
    this.placed.clear();
    this.byTitle.clear();
    for (const view of views) {
      const placed = placedOf(view);
      this.placed.set(view.id, placed);
      const held = this.byTitle.get(placed.title);
      if (held) held.push(placed);
      else this.byTitle.set(placed.title, [placed]);
    }
    for (const tasks of this.byTitle.values()) tasks.sort(order);
  }

  private move(view: TaskView): void {
    const old = this.placed.get(view.id);
    if (old) {
      const tasks = this.byTitle.get(old.title) ?? [];
      tasks.splice(placeIn(tasks, old), 1);
      if (tasks.length === 0) this.byTitle.delete(old.title);
    }
    const placed = placedOf(view);
    this.placed.set(view.id, placed);
    const tasks = this.byTitle.get(placed.title);
    if (tasks) tasks.splice(placeIn(tasks, placed), 0, placed);
    else this.byTitle.set(placed.title, [placed]);
  }
}

/** Above this part of all tasks, sorting all of them again is the shorter way. */
const MOVED_MOST = 4;

/** Where a task stands among others in order, or would stand. */
function placeIn(tasks: readonly Placed[], one: Placed): number {
  let [from, to] = [0, tasks.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (order(tasks[middle] as Placed, one) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}
