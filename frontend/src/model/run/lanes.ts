/**
 * The lanes of a timeline: one a device, and one each for people, for tasks that wait for a device, and for the model.
 * Pure: from spans to bars with a row each, so that no two bars of a row overlap. Colours and pixels are the drawing's.
 */

import { everyNth, type Steps } from "../stream/steps.ts";
import { type Attempt, FOR_A_PERSON, ON_A_DEVICE } from "../types.ts";
import type { Span } from "./spans.ts";

export interface Bar {
  span: Span;
  fromMs: number;
  /** The end, or now for what goes on. */
  toMs: number;
  row: number;
  lane: number;
}

export interface Lane {
  kind: "device" | "you" | "queue" | "model";
  /** The device's id; empty for the others. */
  device: string;
  rows: number;
  /** The first row of this lane among all rows. */
  top: number;
  /** Bars that found no row of their own and share the last one. */
  crowded: boolean;
}

export interface Lanes {
  lanes: Lane[];
  bars: Bar[];
  rows: number;
}

/** A lane has at most so many rows; a device runs fewer tasks at once, a queue may be as long as a run. */
export const ROWS_MOST = 24;

/** A wait that led nowhere and was shorter gets no lane. */
const SEEN_MS = 50;

const ORDER: Record<Lane["kind"], number> = { you: 0, device: 1, queue: 2, model: 3 };

/** The bars of a task that follow each other without a gap and stand in one lane, its wait for the device first. */
interface Stretch {
  kind: Lane["kind"];
  device: string;
  bars: Bar[];
}

/** So many spans or bars are placed between two pauses; well below a millisecond. */
const PLACED_A_STEP = 512;

/** Lanes of all spans at a moment. A wait for a device stands before the task's bar there; the rest has lanes of its own. */
function* lanesSteps(spans: readonly Span[], nowMs: number): Steps<Lanes> {
  const places = new Map<string, { lane: Lane; stretches: Stretch[]; first: number }>();
  const pauses = everyNth(PLACED_A_STEP);
  for (const stretch of yield* stretchesOf(spans, nowMs)) {
    if (pauses()) yield;
    const { kind, device } = stretch;
    if (kind === "queue" && stretch.bars.every((bar) => bar.toMs - bar.fromMs < SEEN_MS)) continue;
    const key = `${kind} ${device}`;
    const held = places.get(key);
    const lane: Lane = { kind, device, rows: 0, top: 0, crowded: false };
    const first = stretch.bars.find((bar) => !isWait(bar))?.fromMs ?? stretch.bars[0]?.fromMs ?? 0;
    if (!held) places.set(key, { lane, stretches: [stretch], first });
    else {
      held.stretches.push(stretch);
      held.first = Math.min(held.first, first);
    }
  }
  const sorted = [...places.values()].sort(
    (a, b) => ORDER[a.lane.kind] - ORDER[b.lane.kind] || a.first - b.first || (a.lane.device < b.lane.device ? -1 : 1),
  );
  const made: Lanes = { lanes: [], bars: [], rows: 0 };
  for (const { lane, stretches } of sorted) {
    yield* pack(lane, stretches);
    lane.top = made.rows;
    made.rows += lane.rows;
    for (const stretch of stretches) {
      if (pauses()) yield;
      for (const bar of stretch.bars) {
        bar.row += lane.top;
        bar.lane = made.lanes.length;
        made.bars.push(bar);
      }
    }
    made.lanes.push(lane);
  }
  return made;
}

/** Lanes with the bars of each task, tasks in the order in which they began. */
export interface Arranged extends Lanes {
  ofTask: Map<string, Bar[]>;
}

export function* arrangedSteps(spans: readonly Span[], nowMs: number): Steps<Arranged> {
  const lanes = yield* lanesSteps(spans, nowMs);
  const begun = [...lanes.bars].sort((a, b) => a.fromMs - b.fromMs);
  const ofTask = new Map<string, Bar[]>();
  const pauses = everyNth(PLACED_A_STEP);
  for (const bar of begun) {
    if (pauses()) yield;
    if (!bar.span.task) continue;
    const held = ofTask.get(bar.span.task);
    if (held) held.push(bar);
    else ofTask.set(bar.span.task, [bar]);
  }
  return { ...lanes, ofTask };
}

function* stretchesOf(spans: readonly Span[], nowMs: number): Steps<Stretch[]> {
  const made: Stretch[] = [];
  const last = new Map<string, Stretch>();
  const pauses = everyNth(PLACED_A_STEP);
  for (const span of spans) {
    if (pauses()) yield;
    const bar = { span, fromMs: span.fromMs, toMs: Math.max(span.fromMs, span.toMs || nowMs), row: 0, lane: 0 };
    const kind = kindOf(span);
    const device = kind === "device" ? span.device : "";
    const key = span.hedge ? `${span.task}/${span.attempt}` : span.task;
    const held = span.task ? last.get(key) : undefined;
    const follows = held && held.bars[held.bars.length - 1]?.toMs === bar.fromMs;
    if (follows && ((held.kind === kind && held.device === device) || (held.kind === "queue" && kind === "device"))) {
      held.kind = kind;
      held.device = device;
      held.bars.push(bar);
      continue;
    }
    const stretch = { kind, device, bars: [bar] };
    made.push(stretch);
    last.set(key, stretch);
  }
  return made;
}

const isWait = (bar: Bar): boolean => kindOf(bar.span) === "queue";

function kindOf({ phase, device }: Span): Lane["kind"] {
  if (phase === "model") return "model";
  if (ON_A_DEVICE.has(phase) || (device && (phase === "away" || phase === "unknown"))) return "device";
  return FOR_A_PERSON.has(phase) ? "you" : "queue";
}

/** Gives each stretch the first row that is free for all of its time, or for its work alone where waits need too many. */
function* pack(lane: Lane, stretches: Stretch[]): Steps {
  const rows = (yield* rowsFor(stretches, false)) ?? (yield* rowsFor(stretches, true));
  lane.crowded = rows === null;
  lane.rows = rows ?? ROWS_MOST;
}

/** The rows needed if each stretch keeps its whole time, or that of its `work`; null if they are too many. */
function* rowsFor(stretches: Stretch[], work: boolean): Steps<number | null> {
  const begun = stretches.map((stretch) => {
    const first = work ? (stretch.bars.find((bar) => !isWait(bar)) ?? stretch.bars[0]) : stretch.bars[0];
    return { stretch, fromMs: first?.fromMs ?? 0, toMs: stretch.bars[stretch.bars.length - 1]?.toMs ?? 0 };
  });
  begun.sort((a, b) => a.fromMs - b.fromMs);
  const ends: number[] = [];
  let fits = true;
  const pauses = everyNth(PLACED_A_STEP);
  for (const { stretch, fromMs, toMs } of begun) {
    if (pauses()) yield;
    let row = ends.findIndex((end) => end <= fromMs);
    if (row < 0 && ends.length < ROWS_MOST) row = ends.length;
    if (row < 0) {
      fits = false;
      row = ROWS_MOST - 1;
    }
    ends[row] = Math.max(ends[row] ?? 0, toMs);
    for (const bar of stretch.bars) bar.row = row;
  }
  return fits ? ends.length : null;
}

/** When what is at work should end, by what was expected of it when it was given away; 0 where nothing was. */
export function expectedEnd(span: Span, attempt: Pick<Attempt, "leased_ms" | "expects_ms"> | undefined): number {
  if (span.toMs || (span.phase !== "starting" && span.phase !== "working")) return 0;
  return attempt?.expects_ms ? attempt.leased_ms + attempt.expects_ms : 0;
}

export interface Window {
  fromMs: number;
  toMs: number;
}

const LEAST_MS = 50;

/** The window after a zoom around a moment, within the run. */
export function zoomed(window: Window, whole: Window, atMs: number, factor: number): Window {
  const most = Math.max(LEAST_MS, whole.toMs - whole.fromMs);
  const length = Math.min(most, Math.max(Math.min(LEAST_MS, most), (window.toMs - window.fromMs) / factor));
  const share = (atMs - window.fromMs) / Math.max(1, window.toMs - window.fromMs);
  return within({ fromMs: atMs - share * length, toMs: atMs + (1 - share) * length }, whole);
}

/** The window moved by a time, within the run. */
export const moved = (window: Window, whole: Window, byMs: number): Window =>
  within({ fromMs: window.fromMs + byMs, toMs: window.toMs + byMs }, whole);

function within(window: Window, whole: Window): Window {
  const length = window.toMs - window.fromMs;
  const fromMs = Math.min(Math.max(window.fromMs, whole.fromMs), Math.max(whole.fromMs, whole.toMs - length));
  return { fromMs, toMs: fromMs + length };
}

const STEPS_MS = [
  10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 216e5, 432e5,
  864e5,
];

/** Moments for the axis, at most `most` of them, counted from the beginning of the run. */
export function axisOf(window: Window, beginMs: number, most: number): { atMs: number; stepMs: number }[] {
  const length = window.toMs - window.fromMs;
  const stepMs = STEPS_MS.find((step) => length / step <= Math.max(1, most)) ?? 864e5 * Math.ceil(length / 864e5 / 4);
  const marks: { atMs: number; stepMs: number }[] = [];
  const first = beginMs + Math.ceil((window.fromMs - beginMs) / stepMs) * stepMs;
  for (let atMs = first; atMs <= window.toMs; atMs += stepMs) marks.push({ atMs, stepMs });
  return marks;
}

/** `0`, `250 ms`, `12 s`, `1:30`, `2 h 10`: a moment of the run on its axis. */
export function axisWords(ms: number, stepMs: number): string {
  if (ms === 0) return "0";
  if (stepMs < 1000) return `${(ms / 1000).toFixed(stepMs < 100 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  if (hours) return `${hours} h ${String(minutes).padStart(2, "0")}`;
  return `${minutes}:${String(seconds % 60).padStart(2, "0")}`;
}
