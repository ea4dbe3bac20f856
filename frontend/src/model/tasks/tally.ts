/**
 * What is counted of tasks: how many stand where, on which devices, and what is left of their checks. Counts only the
 * tasks that are others than those it counted before, so that one event of thousands of live tasks costs one task.
 * All figures of one `of` are of one moment. Pure.
 */
import type { TaskState } from "../types.ts";
import { type Count, GLYPH_ORDER, type Shown } from "../words/presentation.ts";
import type { TaskView } from "./board.ts";

/** How many tasks are on a device, and how many of those are at work. */
interface OnDevice {
  tasks: number;
  working: number;
}

export class Tally {
  views: readonly TaskView[] = [];
  /** Done with met checks. */
  checked = 0;
  private tasks = 0;
  /** Failed, and not made up for by another task. */
  private failing = 0;
  private shown = new Map<string, Count>();
  private readonly states = new Map<TaskState, number>();
  private readonly doneOn = new Map<string, number>();
  private readonly hadBy = new Map<string, number>();
  private readonly places = new Map<string, OnDevice>();

  /** Counts these tasks in place of those before; the same array costs nothing. */
  of(views: readonly TaskView[]): this {
    const before = this.views;
    if (views === before) return this;
    if (views.length !== before.length) this.clear();
    for (let index = 0; index < views.length; index += 1) {
      const [old, view] = [this.views[index], views[index]];
      if (old !== view) this.change(old, view);
    }
    this.views = views;
    return this;
  }

  /** Counts one task in place of what it was; without one of the two it comes or goes. */
  change(before: TaskView | undefined, now: TaskView | undefined): void {
    if (before) this.add(before, -1);
    if (now) this.add(now, 1);
  }

  get size(): number {
    return this.tasks;
  }

  in(state: TaskState): number {
    return this.states.get(state) ?? 0;
  }

  /** Whether a task is at work. */
  get works(): boolean {
    return this.some(atWork);
  }

  /** How many tasks are at work. */
  get working(): number {
    let count = 0;
    for (const one of this.shown.values()) if (atWork(one.shown)) count += one.count;
    return count;
  }

  /** The first task that is stuck, as it is shown. */
  get stuck(): Shown | undefined {
    if (!this.some((shown) => shown.stuck)) return undefined;
    return this.views.find((view) => view.shown.stuck)?.shown;
  }

  /** The first task that waits for its time, as it is shown. */
  get timed(): Shown | undefined {
    return this.in("ready") === 0 ? undefined : this.views.find((view) => view.reason === "moment")?.shown;
  }

  get failed(): readonly TaskView[] {
    return this.failing === 0 ? NONE : this.views.filter(isFailing);
  }

  /** The names of the devices on which tasks were done. */
  get doneOnDevices(): string[] {
    return [...this.doneOn.keys()];
  }

  /** The devices that have had a task. */
  get used(): string[] {
    return [...this.hadBy.keys()];
  }

  /** Tasks by the device on which they are, were or will be. */
  get onDevices(): ReadonlyMap<string, OnDevice> {
    return this.places;
  }

  /** How many tasks stand where, in the order of a state bar; of several words the first task's stands for them. */
  counts(wanted: (shown: Shown) => boolean = () => true): Count[] {
    const byGlyph = new Map<string, Count[]>();
    for (const one of this.shown.values()) {
      if (!wanted(one.shown)) continue;
      const held = byGlyph.get(one.shown.glyph);
      if (held) held.push(one);
      else byGlyph.set(one.shown.glyph, [one]);
    }
    const made = [...byGlyph].map(([glyph, own]): Count => {
      const first =
        own.length > 1 ? this.views.find((view) => view.shown.glyph === glyph && wanted(view.shown)) : undefined;
      return {
        shown: first?.shown ?? (own[0] as Count).shown,
        count: own.reduce((sum, one) => sum + one.count, 0),
      };
    });
    return made.sort((a, b) => GLYPH_ORDER.indexOf(a.shown.glyph) - GLYPH_ORDER.indexOf(b.shown.glyph));
  }

  /** Whether all tasks with this shape have the same words. */
  alike(glyph: Shown["glyph"]): boolean {
    return [...this.shown.values()].filter((one) => one.shown.glyph === glyph).length === 1;
  }

  private some(wanted: (shown: Shown) => boolean): boolean {
    for (const one of this.shown.values()) if (wanted(one.shown)) return true;
    return false;
  }

  private clear(): void {
    this.views = [];
    this.tasks = 0;
    this.checked = 0;
    this.failing = 0;
    for (const held of [this.shown, this.states, this.doneOn, this.hadBy, this.places]) held.clear();
  }

  private add(view: TaskView, by: 1 | -1): void {
    const { shown, record } = view;
    this.tasks += by;
    const key = `${shown.glyph} ${shown.tone} ${shown.stuck} ${shown.word}`;
    const held = this.shown.get(key);
    const count = (held?.count ?? 0) + by;
    if (count) this.shown.set(key, { shown, count });
    else this.shown.delete(key);
    if (record) more(this.states, record.state, by);
    if (record?.state === "succeeded") {
      if (record.checked) this.checked += by;
      if (view.deviceName) more(this.doneOn, view.deviceName, by);
    }
    if (record?.device) more(this.hadBy, record.device, by);
    if (isFailing(view)) this.failing += by;
    if (view.device) this.place(view.device, atWork(shown) ? by : 0, by);
  }

  private place(device: string, working: number, by: number): void {
    const held = this.places.get(device) ?? { tasks: 0, working: 0 };
    const now = { tasks: held.tasks + by, working: held.working + working };
    if (now.tasks) this.places.set(device, now);
    else this.places.delete(device);
  }
}

const NONE: readonly TaskView[] = [];

/** The hub counts the same in a row of the list (`entity_json.is_at_work`). */
const atWork = (shown: Shown): boolean => shown.tone === "blue";

const isFailing = (view: TaskView): boolean => view.record?.state === "failed" && !view.spec.superseded_by;

function more<K>(held: Map<K, number>, key: K, by: number): void {
  const count = (held.get(key) ?? 0) + by;
  if (count) held.set(key, count);
  else held.delete(key);
}
