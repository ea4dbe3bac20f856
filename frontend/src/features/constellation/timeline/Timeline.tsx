/**
 * The timeline of a constellation: a lane a device, tasks as bars, waiting hatched with its cause, the critical path
 * underlined, versions and faults as marks. One canvas; the list beside it is for the keyboard and for screen readers.
 */
import "./timeline.css";
import { type MouseEvent, memo, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useNow, useWorkspace } from "../../../app/workspace/context.ts";
import { devices, nameOfDevice, taskNamed } from "../../../model/fleet/fleet.ts";
import { type Absence, wasAway } from "../../../model/run/absences.ts";
import { type Ghost, haunted, lateBy } from "../../../model/run/ghosts.ts";
import { type Bar, expectedEnd, type Lane, moved, type Window, zoomed } from "../../../model/run/lanes.ts";
import { FOR_ONE_AWAY, figuresOf } from "../../../model/run/runFigures.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { taskView } from "../../../model/tasks/selectors.ts";
import type { Attempt, Head, RunWhatIf, Tone } from "../../../model/types.ts";
import { FOR_A_PERSON, ON_A_DEVICE, WAITS } from "../../../model/types.ts";
import { duration, FINAL } from "../../../model/words/words.ts";
import { Button, Empty, ProblemNote } from "../../../ui/parts.tsx";
import { useLongPress } from "../graph/canvas/longPress.ts";
import { readPaint } from "../graph/canvas/paint.ts";
import { useRepaint } from "../graph/canvas/repaint.ts";
import type { OpenMenu } from "../graph/context.ts";
import { barAt, ghostAt, laneAt, momentAt } from "./hits.ts";
import { AXIS_PX, ahead, heightOf, msAt, type Picture, type Place, paintLanes, rowPx } from "./paintLanes.ts";
import { Reading } from "./Reading.tsx";
import { useAbsences } from "./useAbsences.ts";
import { useGestures } from "./useGestures.ts";
import { NOT_PLACED, useLanes } from "./useLanes.ts";
import { useRun } from "./useRun.ts";
import { copyOf, useWhatIf, WhatIfNote } from "./WhatIf.tsx";

const STEP = 1.5;
/** The expected rest of a run takes at most this part of the past, which keeps two thirds of the picture. */
const AHEAD_MOST = 0.5;
/** Tasks to come take at most so many times the past; a zoom shows the rest. */
const GHOSTS_AHEAD_MOST = 4;
const GHOSTS_AHEAD_LEAST_MS = 60_000;
/** A shorter wait for a device is no absence that one would ask about. */
const WAIT_SEEN_MS = 1000;
const LANE_WORDS: Record<Lane["kind"], string> = { device: "", you: "You", queue: "Waiting", model: "Planner" };

interface TimelineProps {
  id: string;
  model: StreamModel;
  fleet: StreamModel;
  selected: string | null;
  narrow: boolean;
  /** When the run should end, and where its tasks should run; null where it is not known. */
  forecast: RunWhatIf | null;
  onSelect: (task: string) => void;
  onMenu: OpenMenu;
}

export default memo(function Timeline(props: TimelineProps) {
  const { id, model, fleet, selected, narrow, forecast, onSelect, onMenu } = props;
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
  const { ghosts } = lanes;
  const lateMs = lateBy(lanes, nowMs);
  const seenMs = Math.max(nowMs, beginMs + 1);
  const whole: Window = {
    fromMs: beginMs,
    toMs: Math.max(
      seenMs,
      Math.min(lastMs, seenMs + (seenMs - beginMs) * AHEAD_MOST),
      Math.min(lanes.lastMs + lateMs, seenMs + Math.max(GHOSTS_AHEAD_LEAST_MS, (seenMs - beginMs) * GHOSTS_AHEAD_MOST)),
    ),
  };
  const path = useMemo(() => pathBars(lanes.bars, report, beginMs), [lanes, report, beginMs]);
  const tasks = useMemo(() => [...new Set([...lanes.ofTask.keys(), ...lanes.ghostsOf.keys()])], [lanes]);
  const onPath = useMemo(() => new Set(report?.path.map((step) => step.task)), [report]);
  const ticks = useMemo(
    () => (report?.ticks ?? []).map((tick) => ({ ...tick, atMs: beginMs + tick.at_ms })),
    [report, beginMs],
  );

  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  // Null shows the whole run, its expected rest included.
  const [view, setView] = useState<Window | null>(null);
  const [top, setTop] = useState(0);
  const [hovered, setHovered] = useState<{ text: string; x: number; y: number } | null>(null);
  const row = rowPx(lanes, size.height);
  const over = Math.max(0, heightOf(lanes, row) - (size.height - AXIS_PX));
  const place: Place = {
    ...size,
    gutter: narrow ? 84 : 148,
    window: view ?? whole,
    top: Math.min(top, over),
    rowPx: row,
  };

  const toneOf = useCallback((bar: Bar): Tone => toneIn(model, fleet, bar), [model, fleet]);
  const nameOf = useCallback((task: string) => taskNamed(fleet, task), [fleet]);
  const waited = useMemo(() => waitedFor(model, fleet, lanes.bars), [model, fleet, lanes]);
  const absences = useAbsences(waited);
  const awayOf = (bar: Bar) => isAway(model, fleet, absences, bar);
  const causeOf = (bar: Bar) => (awayOf(bar) ? FOR_ONE_AWAY : (WAITS[bar.span.phase] ?? ""));
  const paint = () => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || !size.width) return;
    const ratio = devicePixelRatio || 1;
    const [wide, high] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    if (element.width !== wide) element.width = wide;
    if (element.height !== high) element.height = high;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const names = lanes.lanes.map((lane) => laneName(fleet, lane));
    const run = { beginMs, nowMs, live };
    const picture: Picture = {
      lanes,
      names,
      toneOf,
      nameOf,
      causeOf,
      expectedOf,
      selected,
      path,
      ghosts,
      lateMs,
      ticks,
      ...run,
    };
    paintLanes(context, readPaint(), picture, place);
  };
  useRepaint(model, fleet, paint);
  // Several wheel events of one frame are one picture.
  useEffect(() => {
    const frame = requestAnimationFrame(paint);
    return () => cancelAnimationFrame(frame);
  });

  useEffect(() => {
    const element = canvas.current?.parentElement;
    if (!element || typeof ResizeObserver !== "function") return;
    const watch = new ResizeObserver(([entry]) => {
      if (!entry) return;
      const { width, height } = entry.contentRect;
      setSize({ width: Math.round(width), height: Math.round(height) });
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);

  const fitAll = () => {
    setView(null);
    setTop(0);
  };
  const zoom = (factor: number, x = place.gutter + (place.width - place.gutter) / 2) => {
    const next = zoomed(place.window, whole, msAt(place, x), factor);
    setView(next.toMs - next.fromMs >= whole.toMs - whole.fromMs ? null : next);
  };
  const pan = (byMs: number) => view && setView(moved(view, whole, byMs));
  const hit = (x: number, y: number) => barAt(lanes, place, x, y, nowMs, expectedOf);
  const menuAt = (at: { x: number; y: number }) => {
    const box = canvas.current?.getBoundingClientRect();
    const bar = box && hit(at.x - box.left, at.y - box.top);
    if (bar) onMenu(bar.span.task, at);
    else if (box) askAbout(at.x - box.left, at.y - box.top, at);
  };
  /** Opens the menu of the lane whose name stands there. */
  const askAbout = (x: number, y: number, at: { x: number; y: number }): boolean => {
    const lane = laneAt(lanes, place, x, y);
    if (!live || lane?.kind !== "device" || copyOf(lane.device) !== null) return false;
    whatIf.open(at, [lane.device]);
    return true;
  };
  const longPress = useLongPress((_, at) => menuAt(at));
  const gestures = useGestures(canvas, {
    zoom,
    move: (dx, dy) => {
      pan(msAt(place, 0) - msAt(place, dx));
      setTop(Math.max(0, Math.min(over, place.top - dy)));
      setHovered(null);
    },
    press: (x, y) => {
      const bar = longPress.held.current ? null : hit(x, y);
      const box = canvas.current?.getBoundingClientRect();
      const ghost = bar ? null : ghostAt(ghosts, ahead(place, lateMs), x, y);
      const task = bar?.span.task ?? ghost?.task;
      if (task) onSelect(task);
      else if (!(box && askAbout(x, y, { x: box.left + x, y: box.top + y }))) pointAt(x, y);
    },
    hover: (x, y) => pointAt(x, y),
    leave: () => setHovered(null),
    scrolls: () => over > 0,
  });
  const pointAt = (x: number, y: number) => {
    const bar = hit(x, y);
    const moments = bar ? [] : momentAt(ticks, place, x, y);
    const ghost = bar ? null : ghostAt(ghosts, ahead(place, lateMs), x, y);
    const text = bar
      ? barWords(fleet, bar, causeOf(bar), nowMs)
      : ghost
        ? `${taskNamed(fleet, ghost.task)}: ${ghostWords(fleet, lanes.lanes, ghost, nowMs - lateMs)}`
        : moments.map((moment) => momentWords(fleet, moment)).join("; ");
    const box = canvas.current?.getBoundingClientRect();
    setHovered(text && box ? { text, x: box.left + x, y: box.top + y } : null);
  };

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (event.key === "f") fitAll();
      else if (event.key === "+" || event.key === "=") zoom(STEP);
      else if (event.key === "-") zoom(1 / STEP);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });

  const wordsOf = (task: string): string => {
    const bars = lanes.ofTask.get(task) ?? [];
    const known = taskView(model, fleet, task);
    const parts = bars.map((bar) => `${phaseWords(fleet, bar, causeOf(bar))} for ${duration(lengthOf(bar, nowMs))}`);
    const coming = (lanes.ghostsOf.get(task) ?? []).map((ghost) =>
      ghostWords(fleet, lanes.lanes, ghost, nowMs - lateMs),
    );
    return [nameOf(task), known?.shown.word, ...parts, ...coming, onPath.has(task) && "on the critical path"]
      .filter(Boolean)
      .join(", ");
  };

  if (problem && !report) return <ProblemNote problem={problem} />;
  return (
    <div className="timeline">
      {report && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable without a pointer.
        <section className="figures" aria-label="Figures of this run" tabIndex={0}>
          <dl>
            {figuresOf(report, lanes.bars.some(awayOf)).map((figure) => (
              <div key={figure.name} title={figure.about}>
                <dt>{figure.name}</dt>
                <dd>{figure.value}</dd>
              </div>
            ))}
          </dl>
        </section>
      )}
      <Reading
        label="Timeline as a list: up and down read the tasks as they began, left and right walk the critical path"
        tasks={tasks}
        path={[...onPath]}
        selected={selected}
        wordsOf={wordsOf}
        onSelect={onSelect}
        onPan={(share) => pan((place.window.toMs - place.window.fromMs) * share)}
        onMenu={(task) => {
          const box = canvas.current?.getBoundingClientRect();
          if (box) onMenu(task, { x: box.left + box.width / 3, y: box.top + box.height / 3 });
        }}
      />
      <div className={`bars ${hovered ? "over" : ""}`} aria-hidden="true" {...longPress.handlers}>
        <canvas
          ref={canvas}
          {...gestures}
          onContextMenu={(event: MouseEvent) => {
            event.preventDefault();
            if (!longPress.held.current) menuAt({ x: event.clientX, y: event.clientY });
          }}
        />
        {report && placed !== NOT_PLACED && lanes.bars.length + ghosts.length === 0 && (
          <Empty title="No task has begun.">Bars come as soon as a device has one.</Empty>
        )}
      </div>
      <WhatIfNote
        whatIf={whatIf}
        devices={live ? lanes.lanes.filter((lane) => lane.kind === "device").map((lane) => lane.device) : []}
      />
      <div className="zoom">
        <Button kind="quiet" title="Zoom out (-)" aria-label="Zoom out" onClick={() => zoom(1 / STEP)}>
          &minus;
        </Button>
        <output>{windowWords(place.window, whole)}</output>
        <Button kind="quiet" title="Zoom in (+)" aria-label="Zoom in" onClick={() => zoom(STEP)}>
          +
        </Button>
        <Button icon="fit" kind="quiet" title="All of the run (f)" aria-label="All of the run" onClick={fitAll} />
      </div>
      {hovered && (
        <span className="hovered" style={{ left: Math.min(hovered.x + 12, innerWidth - 260), top: hovered.y + 16 }}>
          {hovered.text}
        </span>
      )}
    </div>
  );
});

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

/** How much of the run the canvas shows. */
function windowWords(window: Window, whole: Window): string {
  const [shown, all] = [window.toMs - window.fromMs, whole.toMs - whole.fromMs];
  return shown < all ? `${duration(shown)} of ${duration(all)}` : duration(all);
}

const byBegin = (a: Bar, b: Bar) => a.fromMs - b.fromMs;

const lengthOf = (bar: Bar, nowMs: number): number => Math.max(0, Math.min(bar.toMs, nowMs) - bar.fromMs);

function laneName(fleet: StreamModel, lane: Lane): string {
  if (lane.kind !== "device") return LANE_WORDS[lane.kind];
  const copied = copyOf(lane.device);
  if (copied !== null) return `${nameOfDevice(fleet, copied)}, one more`;
  const known = devices(fleet).get(lane.device);
  return known ? `${known.tag} ${known.device.name}` : nameOfDevice(fleet, lane.device);
}

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

function phaseWords(fleet: StreamModel, { span }: Bar, cause: string): string {
  if (cause) return `waited ${cause}`;
  const where = span.device ? ` on ${nameOfDevice(fleet, span.device)}` : "";
  const again = span.hedge ? ", a second attempt" : span.attempt > 1 ? `, attempt ${span.attempt}` : "";
  return `${span.phase === "starting" ? "started" : span.phase === "stopping" ? "stopped" : "worked"}${where}${again}`;
}

function ghostWords(fleet: StreamModel, lanes: readonly Lane[], ghost: Ghost, nowMs: number): string {
  const lane = lanes[ghost.lane];
  const where = lane ? ` on ${laneName(fleet, lane)}` : "";
  const begins = ghost.fromMs > nowMs ? `in ${duration(ghost.fromMs - nowMs)}` : "now";
  const then = ghost.changed ? " after the change" : "";
  return `should begin ${begins}${where}${then}, for ${duration(ghost.toMs - ghost.fromMs)}`;
}

const barWords = (fleet: StreamModel, bar: Bar, cause: string, nowMs: number): string =>
  `${taskNamed(fleet, bar.span.task)}: ${phaseWords(fleet, bar, cause)}, ${duration(lengthOf(bar, nowMs))}`;

function momentWords(fleet: StreamModel, moment: { kind: string; text: string }): string {
  if (moment.kind === "failed") return `${taskNamed(fleet, moment.text)} failed`;
  if (moment.kind === "lost") return `an attempt of ${taskNamed(fleet, moment.text)} was lost`;
  return moment.text;
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && Boolean(target.closest("input, textarea, select, [contenteditable]"));
}
