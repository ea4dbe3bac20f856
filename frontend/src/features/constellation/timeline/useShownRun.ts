/**
 * The run as its timeline shows it: bars in lanes, the tasks to come of a forecast, the critical path, moments, and the
 * window of all of it. Draws nothing and speaks no words.
 */
import { useCallback, useMemo } from "react";
import { useNow, useWorkspace } from "../../../app/workspace/context.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import { history } from "../../../link/history.ts";
import type { Problem } from "../../../link/rest.ts";
import { type Absence, absencesOf, wasAway } from "../../../model/run/absences.ts";
import { type Haunted, haunted, lateBy } from "../../../model/run/ghosts.ts";
import { type Bar, expectedEnd, type Window } from "../../../model/run/lanes.ts";
import { FOR_ONE_AWAY } from "../../../model/run/runFigures.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { taskView } from "../../../model/tasks/selectors.ts";
import type { Attempt, Head, RunReport, RunWhatIf, Tone } from "../../../model/types.ts";
import { FOR_A_PERSON, ON_A_DEVICE, WAITS } from "../../../model/types.ts";
import { FINAL } from "../../../model/words/words.ts";
import type { Moment } from "./paintLanes.ts";
import { NOT_PLACED, useLanes } from "./useLanes.ts";
import { useRun } from "./useRun.ts";
import { type AskedWhatIf, useWhatIf } from "./WhatIf.tsx";

/** The expected rest of a run takes at most this part of the past, which keeps two thirds of the picture. */
const AHEAD_MOST = 0.5;
/** Tasks to come take at most so many times the past; a zoom shows the rest. */
const GHOSTS_AHEAD_MOST = 4;
const GHOSTS_AHEAD_LEAST_MS = 60_000;
/** A shorter wait for a device is no absence that one would ask about. */
const WAIT_SEEN_MS = 1000;

/** More devices are not asked for: each is a call. */
const DEVICES_MOST = 6;
const DEEDS_MOST = 100;
const AGAIN_MS = 10_000;

export interface ShownRun {
  report: RunReport | null;
  problem: Problem | null;
  live: boolean;
  /** Whether the bars stand in their lanes by now. */
  isPlaced: boolean;
  beginMs: number;
  nowMs: number;
  /** From the beginning to the present, or to the end that is expected. */
  whole: Window;
  lanes: Haunted;
  /** By how much the tasks to come are late by now. */
  lateMs: number;
  /** The bars of each task of the critical path, in its order. */
  path: Bar[][];
  onPath: ReadonlySet<string>;
  ticks: Moment[];
  whatIf: AskedWhatIf;
  toneOf: (bar: Bar) => Tone;
  awayOf: (bar: Bar) => boolean;
  causeOf: (bar: Bar) => string;
  expectedOf: (bar: Bar) => number;
}

export function useShownRun(id: string, model: StreamModel, fleet: StreamModel, forecast: RunWhatIf | null): ShownRun {
  const { report, book, revision, problem } = useRun(id, model);
  const head = model.one<Head>("head");
  const live = head !== undefined && !FINAL.has(head.state);
  const workspace = useWorkspace();
  useNow(live ? 1000 : 0);

  const placed = useLanes(book, revision);
  const whatIf = useWhatIf(id, fleet, live);
  const foreseen = live ? (whatIf.found ?? forecast) : null;
  const lanes = useMemo(
    () =>
      haunted(placed, {
        atMs: foreseen?.at_ms ?? 0,
        now: foreseen?.now?.tasks ?? [],
        changed: foreseen?.then?.tasks ?? [],
      }),
    [placed, foreseen],
  );
  const beginMs = head?.created_ms ?? 0;
  const nowMs = live ? Math.max(workspace.now(), beginMs + 1) : head?.ended_ms || beginMs + (report?.makespan_ms ?? 1);
  const expectedOf = useCallback(
    ({ span }: Bar) =>
      live && !span.toMs ? expectedEnd(span, model.of<Attempt>("attempt", `${span.task}/${span.attempt}`)) : 0,
    [model, live],
  );
  const lastMs = useMemo(
    () => lanes.bars.reduce((most, bar) => Math.max(most, expectedOf(bar)), 0),
    [lanes, expectedOf],
  );
  const lateMs = lateBy(lanes, nowMs);
  const path = useMemo(() => pathBars(lanes.bars, report, beginMs), [lanes, report, beginMs]);
  const onPath = useMemo(() => new Set(report?.path.map((step) => step.task)), [report]);
  const ticks = useMemo(
    () => (report?.ticks ?? []).map((tick) => ({ ...tick, atMs: beginMs + tick.at_ms })),
    [report, beginMs],
  );
  const toneOf = useCallback((bar: Bar): Tone => toneIn(model, fleet, bar), [model, fleet]);
  const waited = useMemo(() => waitedFor(model, fleet, lanes.bars), [model, fleet, lanes]);
  const absences = useAbsences(waited);
  const awayOf = (bar: Bar) => isAway(model, fleet, absences, bar);
  return {
    report,
    problem,
    live,
    isPlaced: placed !== NOT_PLACED,
    beginMs,
    nowMs,
    whole: { fromMs: beginMs, toMs: endOf(beginMs, Math.max(nowMs, beginMs + 1), lastMs, lanes.lastMs + lateMs) },
    lanes,
    lateMs,
    path,
    onPath,
    ticks,
    whatIf,
    toneOf,
    awayOf,
    causeOf: (bar) => (awayOf(bar) ? FOR_ONE_AWAY : (WAITS[bar.span.phase] ?? "")),
    expectedOf,
  };
}

/** The end of the whole window: what goes on and what is to come have a bounded part of it. */
function endOf(beginMs: number, seenMs: number, expectedMs: number, ghostsMs: number): number {
  const past = seenMs - beginMs;
  return Math.max(
    seenMs,
    Math.min(expectedMs, seenMs + past * AHEAD_MOST),
    Math.min(ghostsMs, seenMs + Math.max(GHOSTS_AHEAD_LEAST_MS, past * GHOSTS_AHEAD_MOST)),
  );
}

/** The absences of devices. Only an owner may read them; for others a wait keeps the words of the report. */
function useAbsences(devices: readonly string[]): ReadonlyMap<string, Absence[]> {
  const { hub, session } = useWorkspace();
  const asked = [...devices].sort().slice(0, DEVICES_MOST);
  const key = session?.role === "owner" && asked.length > 0 ? `absences ${asked.join(" ")}` : null;
  const read = useResource(
    key,
    (signal) =>
      Promise.all(
        asked.map(async (device) => {
          const query = { device, kind: "devices" as const, limit: DEEDS_MOST };
          const { items } = await history.activity(hub.rest, query, signal);
          return [device, absencesOf(items)] as const;
        }),
      ),
    ["devices"],
    AGAIN_MS,
  );
  return new Map(read.value ?? []);
}

/** The colour of a bar: that of the task for the attempt that counts, else that of how the attempt ended. */
function toneIn(model: StreamModel, fleet: StreamModel, { span }: Bar): Tone {
  if (span.phase === "model") return "indigo";
  if (FOR_A_PERSON.has(span.phase)) return "violet";
  if (!ON_A_DEVICE.has(span.phase)) return "amber";
  const attempt = model.of<Attempt>("attempt", `${span.task}/${span.attempt}`);
  if (!attempt?.end) {
    const shown = taskView(model, fleet, span.task)?.shown;
    return attempt || !shown ? "blue" : shown.tone;
  }
  if (attempt.end === "ok") {
    const view = taskView(model, fleet, span.task);
    return view?.record?.attempt === span.attempt ? view.shown.tone : "teal";
  }
  return attempt.end === "error" || attempt.end === "timeout" ? "vermilion" : "grey";
}

/** The bars of each task of the critical path, in its order. */
function pathBars(
  bars: readonly Bar[],
  report: { path: { task: string; released_ms: number; ended_ms: number }[] } | null,
  beginMs: number,
): Bar[][] {
  const steps = report?.path ?? [];
  if (steps.length === 0) return [];
  const wanted = new Map<string, Bar[]>(steps.map((step) => [step.task, []]));
  for (const bar of bars) if (!bar.span.hedge) wanted.get(bar.span.task)?.push(bar);
  return steps.map((step) =>
    (wanted.get(step.task) ?? []).filter((bar) => bar.fromMs >= beginMs + step.released_ms).sort(byBegin),
  );
}

const byBegin = (a: Bar, b: Bar) => a.fromMs - b.fromMs;

/** Whether a bar waits or waited for a device that is away: the report has the same phase for a busy one. */
function isAway(model: StreamModel, fleet: StreamModel, absences: ReadonlyMap<string, Absence[]>, bar: Bar): boolean {
  const { phase, task, fromMs, toMs } = bar.span;
  if (phase !== "queue") return false;
  const view = taskView(model, fleet, task);
  if (!toMs) return view?.reason === "device_away";
  return wasAway(absences.get(view?.device ?? "") ?? [], fromMs, toMs);
}

/** The devices that tasks waited for long enough to be seen. */
function waitedFor(model: StreamModel, fleet: StreamModel, bars: readonly Bar[]): string[] {
  const long = bars.filter(({ span }) => span.phase === "queue" && span.toMs - span.fromMs >= WAIT_SEEN_MS);
  const found = new Set(long.map(({ span }) => taskView(model, fleet, span.task)?.device).filter((one) => one));
  return [...found].map(String);
}
