/**
 * The tasks of one stream as a person sees them, worked out again only where an event touched them.
 * Reads lazily: an event marks tasks, and the next reader works out those and no others. No React, no words.
 */
import { ASLEEP, deviceNamed, devices, diskIsFull, sleeps } from "../fleet/fleet.ts";
import { everyNth, type Steps } from "../stream/steps.ts";
import type { StreamModel } from "../stream/stream.ts";
import type { Attempt, Device, GroupRecord, Head, Item, Reason, TaskRecord, TaskSpec } from "../types.ts";
import { wayBack } from "../wayBack.ts";
import { momentWords } from "../words/clock.ts";
import { parseExact } from "../words/exact.ts";
import { naturalKey } from "../words/natural.ts";
import { presentation, type Shown } from "../words/presentation.ts";
import { isOfGoal } from "./goals.ts";

export interface TaskView {
  id: string;
  /** What people call it: its id, but a child for a device by the device's name. */
  name: string;
  spec: TaskSpec;
  record: TaskRecord | undefined;
  attempt: Attempt | undefined;
  /** Where a group or a plan within the plan stands. */
  group: GroupRecord | undefined;
  shown: Shown;
  reason: Reason | undefined;
  /** Where it runs, ran or will run, as far as the plan or the engine names one. */
  device: string | undefined;
  deviceTag: string;
  deviceName: string;
  /** What this child is about, for example the name of its folder. */
  label: string;
  /** It is a step or the answer of a goal, which is steered as a whole. */
  ofGoal?: boolean;
  /** Hub time at which this view stands still; 0 for the present. */
  asOfMs: number;
}

/** What kinds of tasks a plan has. */
interface Kinds {
  goals: string[];
  /** A task takes back another's work, or says how its own is taken back. */
  undoes: boolean;
  undo: boolean;
  /** How many stand outside of groups. */
  loose: number;
}

/** What of a device a task's view depends on; a device says other things of itself every few seconds. */
interface Place {
  entity: Device | undefined;
  tag: string;
  said: string;
}

/** So many views are worked out between two places at which it may pause; about a millisecond. */
const VIEWS_A_STEP = 128;

export class Board {
  /** Rises when any view has become another. */
  revision = 0;
  readonly fleet: StreamModel;
  private readonly model: StreamModel;
  private readonly views = new Map<string, TaskView>();
  private readonly dirty = new Set<string>();
  private readonly places = new Map<string, Place>();
  /** Tasks that name a device which is not known yet. */
  private readonly seeking = new Set<string>();
  private readonly failing = new Set<string>();
  /** Children by the item that they are for, as `family/key`. */
  private readonly ofItem = new Map<string, string[]>();
  /** The task that takes another's work back, by that other. */
  private readonly undoing = new Map<string, string>();
  private readonly listeners = new Set<() => void>();
  private list: TaskView[] | null = null;
  private failures: TaskView[] | null = null;
  private ids: string[] = [];
  private found: Kinds = { goals: [], undoes: false, undo: false, loose: 0 };
  /** Where in the list a task stands. */
  private readonly at = new Map<string, number>();
  private relist = true;
  /** Tasks whose views were worked out, which the lists and the revision do not know yet. */
  private readonly fresh = new Set<string>();
  private state = "";
  /** Reasons of ready tasks that no event has, as the hub said them last. */
  private said: ReadonlyMap<string, Reason> = new Map();
  private fleetRevision = -1;
  /** The revision that the listeners know; a reader may have been before them. */
  private told = 0;
  private stop: (() => void) | null = null;
  private readonly groups = new Map<string, number>();
  private readonly noted = new Set<Set<string>>();

  constructor(model: StreamModel, fleet: StreamModel) {
    this.model = model;
    this.fleet = fleet;
    model.watch({
      put: (kind, id) => this.mark(kind, id),
      reset: () => this.markAll(),
      prepare: () => this.prepare(),
    });
    this.markAll();
  }

  view(id: string): TaskView | undefined {
    this.refresh();
    return this.views.get(id);
  }

  /** Every single task and every child of a group, groups themselves left out; the same array until one changes. */
  all(): TaskView[] {
    this.refresh();
    if (!this.list) {
      const list: TaskView[] = [];
      this.at.clear();
      for (const id of this.ids) {
        const view = this.views.get(id);
        if (view) this.at.set(id, list.push(view) - 1);
      }
      this.list = list;
    }
    return this.list;
  }

  /** What kinds of tasks the plan has, found when the plan changes. */
  kinds(): Kinds {
    this.refresh();
    return this.found;
  }

  failed(): TaskView[] {
    const all = this.all();
    this.failures ??= this.failing.size > 0 ? all.filter(({ id }) => this.failing.has(id)) : NO_TASKS;
    return this.failures;
  }

  /** Calls when the stream or the fleet may have changed a view; `revision` says whether one did. */
  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    this.stop ??= this.follow();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size > 0) return;
      this.stop?.();
      this.stop = null;
    };
  };

  readRevision = (): number => {
    this.refresh();
    return this.revision;
  };

  /** Rises when a child of this group has become another. */
  groupRevision(group: string): number {
    this.refresh();
    return this.groups.get(group) ?? 0;
  }

  /** A set into which each task goes that becomes another, until `end`; its reader takes out what it has drawn. */
  note(): { changed: Set<string>; end: () => void } {
    const changed = new Set<string>();
    this.noted.add(changed);
    return { changed, end: () => void this.noted.delete(changed) };
  }

  /** Takes the reasons of ready tasks that the hub joins from its fleet, until it says others. */
  join(reasons: ReadonlyMap<string, Reason>): void {
    if (reasons.size === this.said.size && [...reasons].every(([id, reason]) => this.said.get(id) === reason)) return;
    this.said = reasons;
    this.markReady();
    this.tell();
  }

  private readonly tell = (): void => {
    if (this.readRevision() === this.told) return;
    this.told = this.revision;
    for (const listener of this.listeners) listener();
  };

  private follow(): () => void {
    this.told = this.readRevision();
    const stops = [this.model.subscribe(this.tell), this.fleet.subscribe(this.tell)];
    return () => {
      for (const stop of stops) stop();
    };
  }

  private mark(kind: string, id: string): void {
    if (kind === "task" || kind === "group") {
      this.dirty.add(id);
      const undone = this.model.of<TaskSpec>("spec", id)?.undoes;
      if (undone) this.dirty.add(undone);
    } else if (kind === "attempt") this.dirty.add(id.slice(0, id.lastIndexOf("/")));
    else if (kind === "item") for (const child of this.ofItem.get(id) ?? []) this.dirty.add(child);
    else if (kind === "spec") {
      this.dirty.add(id);
      this.relist = true;
    }
  }

  private markAll(): void {
    // Some of them may be gone.
    for (const noted of this.noted) for (const id of this.views.keys()) noted.add(id);
    this.views.clear();
    this.fresh.clear();
    this.seeking.clear();
    this.failing.clear();
    this.list = null;
    this.failures = null;
    this.relist = true;
    for (const id of this.model.kind("spec").keys()) this.dirty.add(id);
    this.revision += 1;
  }

  /** Works out what is marked, with pauses. A reader in a pause works out the rest. */
  private *prepare(): Steps {
    if (this.relist) this.index();
    this.lookAtHead();
    const pause = everyNth(VIEWS_A_STEP);
    for (const id of this.dirty) {
      this.dirty.delete(id);
      // The first list orders them by it.
      naturalKey(id);
      if (this.workOut(id)) this.fresh.add(id);
      if (pause()) yield;
    }
  }

  private refresh(): void {
    if (this.relist) this.index();
    this.lookAtHead();
    if (this.fleetRevision !== this.fleet.revision) this.lookAtFleet();
    for (const id of this.dirty) if (this.workOut(id)) this.fresh.add(id);
    this.dirty.clear();
    if (this.fresh.size === 0) return;
    this.renew();
    for (const noted of this.noted) for (const id of this.fresh) noted.add(id);
    this.fresh.clear();
    this.failures = null;
    this.revision += 1;
  }

  /** Makes the list another one, in which only those tasks are others. */
  private renew(): void {
    const list = this.list?.slice() ?? null;
    for (const id of this.fresh) {
      const at = this.at.get(id);
      const view = this.views.get(id);
      if (list && view && at !== undefined) list[at] = view;
    }
    this.list = list;
  }

  private index(): void {
    this.relist = false;
    this.list = null;
    this.ids = [];
    const found: Kinds = { goals: [], undoes: false, undo: false, loose: 0 };
    this.found = found;
    this.ofItem.clear();
    this.undoing.clear();
    for (const [id, spec] of this.model.kind<TaskSpec>("spec")) {
      if (!spec.for_each && !spec.nested && !spec.goal) this.ids.push(id);
      if (spec.goal) found.goals.push(id);
      if (wayBack(spec)) found.undo = true;
      if (spec.undoes) found.undoes = true;
      if (!spec.group && !spec.for_each) found.loose += 1;
      if (spec.undoes) {
        this.undoing.set(spec.undoes, id);
        this.dirty.add(spec.undoes);
      }
      if (!spec.family || !spec.key) continue;
      const item = `${spec.family}/${spec.key}`;
      const held = this.ofItem.get(item);
      if (held) held.push(id);
      else this.ofItem.set(item, [id]);
    }
  }

  /** A pause gives what is ready another reason. */
  private lookAtHead(): void {
    const state = this.model.of<Head>("head", "")?.state ?? "active";
    if (state === this.state) return;
    this.state = state;
    this.markReady();
  }

  private markReady(): void {
    for (const view of this.views.values()) if (view.record?.state === "ready") this.dirty.add(view.id);
  }

  private lookAtFleet(): void {
    this.fleetRevision = this.fleet.revision;
    const known = devices(this.fleet);
    const changed = new Set<string>();
    for (const [id, held] of this.places) {
      const { device, tag } = known.get(id) ?? { device: undefined, tag: "" };
      if (device === held.entity && tag === held.tag) continue;
      const said = saidOf(device);
      if (said !== held.said || tag !== held.tag) changed.add(id);
      this.places.set(id, { entity: device, tag, said });
    }
    for (const id of this.seeking) this.dirty.add(id);
    if (changed.size === 0) return;
    for (const view of this.views.values()) {
      if (view.spec.device?.name || (view.device && changed.has(view.device))) this.dirty.add(view.id);
    }
  }

  /** Works out one view. Returns whether it is another than before. */
  private workOut(id: string): boolean {
    const { model, fleet } = this;
    const before = this.views.get(id);
    const spec = model.of<TaskSpec>("spec", id);
    if (!spec) {
      this.seeking.delete(id);
      this.failing.delete(id);
      return this.views.delete(id);
    }
    const record = model.of<TaskRecord>("task", id);
    const attempt = record?.attempt ? model.of<Attempt>("attempt", `${id}/${record.attempt}`) : undefined;
    const place = (record && !waitsAgain(record) ? record.device : undefined) ?? pinned(spec, fleet) ?? undefined;
    const known = place ? devices(fleet).get(place) : undefined;
    if (place && !this.places.has(place)) {
      this.places.set(place, { entity: known?.device, tag: known?.tag ?? "", said: saidOf(known?.device) });
    }
    const group = spec.nested || spec.for_each || spec.goal ? model.of<GroupRecord>("group", id) : undefined;
    const reason = record ? joinedReason(record, known?.device, this.state, this.said.get(id)) : undefined;
    const item = spec.family && spec.key ? model.of<Item>("item", `${spec.family}/${spec.key}`) : undefined;
    const label = itemLabel(item);
    const view: TaskView = {
      id,
      name: taskName(spec, label),
      spec,
      record,
      attempt,
      group,
      reason,
      // A plan within the plan and a goal have no record of a task: they stand where their group stands.
      shown: this.isTakenBack(id, record)
        ? TAKEN_BACK
        : spec.nested || spec.goal
          ? groupShown(group)
          : taskShown(record, reason, known?.device),
      device: place,
      deviceTag: known?.tag ?? "",
      deviceName: known?.device.name ?? spec.device?.name ?? "",
      label,
      ofGoal: isOfGoal(model, spec),
      asOfMs: model.asOfMs,
    };
    if (spec.device?.name && !place) this.seeking.add(id);
    else this.seeking.delete(id);
    if (record?.state === "failed") this.failing.add(id);
    else this.failing.delete(id);
    if (before && same(before, view)) return false;
    this.views.set(id, view);
    if (spec.group) this.groups.set(spec.group, (this.groups.get(spec.group) ?? 0) + 1);
    return true;
  }

  /** Whether the work of a task was undone; done again since, it stands. */
  private isTakenBack(id: string, record: TaskRecord | undefined): boolean {
    const by = this.undoing.get(id);
    const undo = by && record?.state === "succeeded" ? this.model.of<TaskRecord>("task", by) : undefined;
    return undo?.state === "succeeded" && undo.since_ms >= (record?.since_ms ?? 0);
  }
}

/** Done, and undone by another task since. */
const TAKEN_BACK: Shown = { ...presentation("cancelled", null), word: "Taken back" };

/** The vocabulary's state of a task; one whose device sleeps is asleep as its device is, not out of reach. */
function taskShown(record: TaskRecord | undefined, reason: Reason | undefined, device: Device | undefined): Shown {
  const shown = presentation(record?.state ?? "waiting", reason, {
    attempt: record?.attempt ?? 0,
    checked: record?.checked ?? false,
    until: reason === "moment" && record?.not_before_ms ? momentWords(record.not_before_ms) : "",
  });
  if (!device || !sleeps(device)) return shown;
  if (shown.glyph === "broken_arc") return { ...shown, word: ASLEEP };
  return reason === "device_away" && shown.stuck ? { ...shown, word: "Waits, its device is asleep" } : shown;
}

const NO_TASKS: TaskView[] = [];

const boards = new WeakMap<StreamModel, Board>();

export function boardOf(model: StreamModel, fleet: StreamModel): Board {
  let held = boards.get(model);
  if (held?.fleet !== fleet) {
    held = new Board(model, fleet);
    boards.set(model, held);
  }
  return held;
}

const FIELDS = [
  ...(["spec", "record", "attempt", "group", "reason"] as const),
  ...(["name", "device", "deviceTag", "deviceName", "label"] as const),
];
const SHOWN = ["word", "glyph", "tone", "stuck"] as const;

const same = (one: TaskView, other: TaskView): boolean =>
  one.asOfMs === other.asOfMs &&
  FIELDS.every((field) => one[field] === other[field]) &&
  SHOWN.every((field) => one.shown[field] === other.shown[field]);

const saidOf = (device: Device | undefined): string =>
  device
    ? `${device.name} ${device.link} ${Boolean(device.draining)} ${isAside(device)} ${diskIsFull(device)} ${sleeps(device)}`
    : "unknown";

const isAside = (device: Device): boolean => Boolean(device.quarantined && !device.probing);
const waitsAgain = (record: TaskRecord): boolean => record.state === "waiting" || record.state === "ready";

function pinned(spec: TaskSpec, fleet: StreamModel): string | undefined {
  const selector = spec.device;
  if (!selector) return undefined;
  if (selector.id) return selector.id;
  if (selector.name) return deviceNamed(fleet, selector.name)?.id;
  return undefined;
}

/** The task's own reason, or the one that the hub said or that follows from its constellation or its one device. */
function joinedReason(
  record: TaskRecord,
  device: Device | undefined,
  state: string,
  said: Reason | undefined,
): Reason | undefined {
  if (record.reason) return record.reason;
  if (record.state === "running" && record.absent_since_ms) return "absent";
  if (record.state !== "ready") return undefined;
  if (state === "paused") return "paused";
  if (said) return said;
  if (device && device.link !== "online") return "device_away";
  if (device && (device.draining || isAside(device) || diskIsFull(device))) return "device_aside";
  return undefined;
}

/** A group is shown by the vocabulary's words for the same states of a task. */
export function groupShown(record: GroupRecord | undefined): Shown {
  const state = record?.state ?? "waiting";
  return presentation(state === "expanded" ? "running" : state, record?.reason);
}

/** The name of an item as a person would call it: the last part of its path, or its own text. */
export function itemLabel(item: Item | undefined): string {
  if (!item) return "";
  try {
    const value = parseExact(item.value);
    if (typeof value === "string" || typeof value === "number") return lastPart(String(value));
    if (value !== null && typeof value === "object") {
      const fields = value as Record<string, unknown>;
      for (const name of ["path", "name", "title", "id"]) {
        if (typeof fields[name] === "string") return lastPart(fields[name]);
      }
    }
  } catch {
    return "";
  }
  return "";
}

const lastPart = (path: string): string => path.replace(/\/+$/, "").split("/").pop() ?? path;

/** `info on laptop` for `info.d-2f6k...`: the id stays the id. */
function taskName(spec: TaskSpec, label: string): string {
  return spec.group && spec.key?.startsWith("d-") && label && label !== spec.key
    ? `${spec.group} on ${label}`
    : spec.id;
}
