/**
 * What the page reads out of a constellation's stream. Pure functions of the stream (and the fleet beside it);
 * results are kept by the identity of the records they came from, so that unchanged tasks draw nothing.
 */
import { deviceNamed, devices, diskIsFull } from "./fleet.ts";
import { GLYPH_ORDER, presentation, type Shown } from "./presentation.ts";
import type { StreamModel } from "./stream.ts";
import type {
  Answer,
  Attempt,
  Dependency,
  GroupRecord,
  Head,
  Item,
  Question,
  Reason,
  TaskRecord,
  TaskSpec,
  Version,
} from "./types.ts";

export interface TaskView {
  id: string;
  /** What people call it: its id, but a child for a device by the device's name. */
  name: string;
  spec: TaskSpec;
  record: TaskRecord | undefined;
  attempt: Attempt | undefined;
  shown: Shown;
  reason: Reason | undefined;
  /** Where it runs, ran or will run, as far as the plan or the engine names one. */
  device: string | undefined;
  deviceTag: string;
  deviceName: string;
  /** What this child is about, for example the name of its folder. */
  label: string;
  /** Hub time at which this view stands still; 0 for the present. */
  asOfMs: number;
}

export const head = (model: StreamModel): Head | undefined => model.one<Head>("head");
export const answer = (model: StreamModel): Answer | undefined => model.one<Answer>("answer");
/** What a recipe says in one line of its result, before how the work went; empty where it says nothing of the kind. */
export function shortAnswer(found: Answer | undefined): string {
  for (const item of found?.items ?? []) {
    const value = item.show === "text" && item.value ? parsed(item.value) : null;
    if (typeof value === "string" && value && value.length <= SHORT_MAX) return value;
  }
  return "";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const SHORT_MAX = 200;

export const specs = (model: StreamModel): ReadonlyMap<string, TaskSpec> => model.kind<TaskSpec>("spec");
export const dependencies = (model: StreamModel): ReadonlyMap<string, Dependency> => model.kind<Dependency>("dep");

export function versions(model: StreamModel): Version[] {
  return [...model.kind<Version>("version").values()].sort((a, b) => a.number - b.number);
}

export function questions(model: StreamModel): Question[] {
  const open = [...model.kind<Question>("question").values()].filter((question) => !question.answered_ms);
  return open.sort((a, b) => a.opened_ms - b.opened_ms);
}

/** All attempts of a task, the newest first. */
export function attempts(model: StreamModel, task: string): { number: number; attempt: Attempt }[] {
  const last = model.one<TaskRecord>(`task/${task}`)?.attempt ?? 0;
  const found: { number: number; attempt: Attempt }[] = [];
  for (let number = last; number >= 1; number -= 1) {
    const attempt = model.one<Attempt>(`attempt/${task}/${number}`);
    if (attempt) found.push({ number, attempt });
  }
  return found;
}

/** The name of an item as a person would call it: the last part of its path, or its own text. */
export function itemLabel(item: Item | undefined): string {
  if (!item) return "";
  try {
    const value: unknown = JSON.parse(item.value);
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

/** `info on laptop` for `info.d-2f6k...`: the id stays the id. */
function taskName(spec: TaskSpec, label: string): string {
  return spec.group && spec.key?.startsWith("d-") && label && label !== spec.key
    ? `${spec.group} on ${label}`
    : spec.id;
}

const lastPart = (path: string): string => path.replace(/\/+$/, "").split("/").pop() ?? path;

function pinned(spec: TaskSpec, fleet: StreamModel): string | undefined {
  const selector = spec.device;
  if (!selector) return undefined;
  if (selector.id) return selector.id;
  if (selector.name) return deviceNamed(fleet, selector.name)?.id;
  return undefined;
}

/** The task's own reason, or the one that follows from its constellation or its one possible device. */
function joinedReason(
  record: TaskRecord,
  place: string | undefined,
  state: string,
  fleet: StreamModel,
): Reason | undefined {
  if (record.reason) return record.reason;
  if (record.state === "running" && record.absent_since_ms) return "absent";
  if (record.state !== "ready") return undefined;
  if (state === "paused") return "paused";
  if (place) {
    const device = devices(fleet).get(place)?.device;
    const aside = device?.quarantined && !device.probing;
    if (device && device.link !== "online") return "device_away";
    if (device && (device.draining || aside || diskIsFull(device))) return "device_aside";
  }
  return undefined;
}

interface Cached {
  parts: readonly unknown[];
  view: TaskView;
}
const cache = new WeakMap<StreamModel, Map<string, Cached>>();

export function taskView(model: StreamModel, fleet: StreamModel, id: string): TaskView | undefined {
  const spec = model.one<TaskSpec>(`spec/${id}`);
  if (!spec) return undefined;
  const record = model.one<TaskRecord>(`task/${id}`);
  const attempt = record?.attempt ? model.one<Attempt>(`attempt/${id}/${record.attempt}`) : undefined;
  const place = (record && !waitsAgain(record) ? record.device : undefined) ?? pinned(spec, fleet) ?? undefined;
  const device = place ? devices(fleet).get(place)?.device : undefined;
  const state = head(model)?.state ?? "active";
  const item = spec.family && spec.key ? model.one<Item>(`item/${spec.family}/${spec.key}`) : undefined;
  // A plan within the plan has no record of a task: it stands where its group stands.
  const group = spec.nested ? model.one<GroupRecord>(`group/${id}`) : undefined;
  const parts = [spec, record, attempt, device, state, item, group];
  let kept = cache.get(model);
  if (!kept) {
    kept = new Map();
    cache.set(model, kept);
  }
  const held = kept.get(id);
  if (held?.parts.every((part, index) => part === parts[index])) return held.view;
  const reason = record ? joinedReason(record, place, state, fleet) : undefined;
  const label = itemLabel(item);
  const view: TaskView = {
    id,
    name: taskName(spec, label),
    spec,
    record,
    attempt,
    reason,
    shown: spec.nested
      ? groupShown(group)
      : presentation(record?.state ?? "waiting", reason, {
          attempt: record?.attempt ?? 0,
          checked: record?.checked ?? false,
        }),
    device: place,
    deviceTag: (place && devices(fleet).get(place)?.tag) || "",
    deviceName: device?.name ?? spec.device?.name ?? "",
    label,
    asOfMs: model.asOfMs,
  };
  kept.set(id, { parts, view });
  return view;
}

const waitsAgain = (record: TaskRecord): boolean => record.state === "waiting" || record.state === "ready";

/** Every single task and every child of a group, groups themselves left out. */
export function taskIds(model: StreamModel): string[] {
  const ids: string[] = [];
  for (const [id, spec] of specs(model)) if (!spec.for_each && !spec.nested) ids.push(id);
  return ids;
}

export interface Count {
  shown: Shown;
  count: number;
}

/** How many tasks stand where, in the order of a state bar. */
export function counts(views: Iterable<TaskView>): Count[] {
  const byGlyph = new Map<string, Count>();
  for (const view of views) {
    const held = byGlyph.get(view.shown.glyph);
    if (held) held.count += 1;
    else byGlyph.set(view.shown.glyph, { shown: view.shown, count: 1 });
  }
  return [...byGlyph.values()].sort((a, b) => GLYPH_ORDER.indexOf(a.shown.glyph) - GLYPH_ORDER.indexOf(b.shown.glyph));
}

export function allViews(model: StreamModel, fleet: StreamModel): TaskView[] {
  const views: TaskView[] = [];
  for (const id of taskIds(model)) {
    const view = taskView(model, fleet, id);
    if (view) views.push(view);
  }
  return views;
}

/** A group is shown by the vocabulary's words for the same states of a task. */
export function groupShown(record: GroupRecord | undefined): Shown {
  const state = record?.state ?? "waiting";
  return presentation(state === "expanded" ? "running" : state, record?.reason);
}

/** How long a task has run, in milliseconds; null when it has not begun. */
export function elapsedMs(view: TaskView, nowMs: number): number | null {
  const attempt = view.attempt;
  if (!attempt) return null;
  const began = attempt.started_ms || attempt.leased_ms;
  return Math.max(0, (attempt.ended_ms || view.asOfMs || nowMs) - began);
}

const TROUBLE: readonly string[] = ["cross", "question", "hand", "broken_arc", "barrier"];

/** Whether a task is what a person should look at first. */
export const inTrouble = (shown: Shown): boolean => TROUBLE.includes(shown.glyph);

const natural = new Intl.Collator("en", { numeric: true });

/**
 * Tasks in the order that a person reads: by need, then as they began, then by name. Used by the list and by next
 * and previous.
 */
export function readingOrder(views: TaskView[]): TaskView[] {
  return [...views].sort(
    (a, b) => rank(a.shown) - rank(b.shown) || beganMs(a) - beganMs(b) || natural.compare(a.id, b.id),
  );
}

/** When the newest attempt began; what has not begun comes last. */
const beganMs = ({ attempt }: TaskView): number =>
  attempt ? attempt.started_ms || attempt.leased_ms : Number.MAX_SAFE_INTEGER;

function rank(shown: Shown): number {
  const at = TROUBLE.indexOf(shown.glyph);
  if (at >= 0) return at;
  if (shown.tone === "blue") return 10;
  if (shown.glyph === "dotted_ring") return 11;
  if (shown.glyph === "ring") return 12;
  return shown.tone === "teal" ? 13 : 14;
}
