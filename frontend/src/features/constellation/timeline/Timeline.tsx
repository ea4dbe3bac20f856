/**
 * The timeline of a constellation: a lane a device, tasks as bars, waiting hatched with its cause, the critical path
 * underlined, versions and faults as marks. One canvas; the list beside it is for the keyboard and for screen readers.
 */
import "./timeline.css";
import { type MouseEvent, memo, type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { taskNamed } from "../../../model/fleet/fleet.ts";
import { figuresOf } from "../../../model/run/runFigures.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { taskView } from "../../../model/tasks/selectors.ts";
import type { RunWhatIf } from "../../../model/types.ts";
import { duration } from "../../../model/words/words.ts";
import { Button, Empty, ProblemNote } from "../../../ui/parts.tsx";
import { useLongPress } from "../graph/canvas/longPress.ts";
import { readPaint } from "../graph/canvas/paint.ts";
import { useRepaint } from "../graph/canvas/repaint.ts";
import type { OpenMenu } from "../graph/context.ts";
import { barAt, ghostAt, laneAt, momentAt } from "./hits.ts";
import { ahead, msAt, paintLanes } from "./paintLanes.ts";
import { Reading } from "./Reading.tsx";
import { useGestures } from "./useGestures.ts";
import { type ShownRun, useShownRun } from "./useShownRun.ts";
import { useView, type View } from "./useView.ts";
import { copyOf, WhatIfNote } from "./WhatIf.tsx";
import { barWords, ghostWords, laneName, lengthOf, momentWords, phaseWords, windowWords } from "./words.ts";

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

/** Where a menu or words open, by the window. */
interface At {
  x: number;
  y: number;
}

export default memo(function Timeline(props: TimelineProps) {
  const { id, model, fleet, selected, narrow, forecast, onSelect, onMenu } = props;
  const run = useShownRun(id, model, fleet, forecast);
  const { report, live, lanes } = run;
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useView(canvas, run.whole, lanes, narrow);
  usePainting(canvas, run, view, props);
  const tasks = useMemo(() => [...new Set([...lanes.ofTask.keys(), ...lanes.ghostsOf.keys()])], [lanes]);

  if (run.problem && !report) return <ProblemNote problem={run.problem} />;
  return (
    <div className="timeline">
      {report && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable without a pointer.
        <section className="figures" aria-label="Figures of this run" tabIndex={0}>
          <dl>
            {figuresOf(report, lanes.bars.some(run.awayOf)).map((figure) => (
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
        path={[...run.onPath]}
        selected={selected}
        wordsOf={(task) => taskWords(model, fleet, run, task)}
        onSelect={onSelect}
        onPan={(share) => view.pan((view.place.window.toMs - view.place.window.fromMs) * share)}
        onMenu={(task) => {
          const box = canvas.current?.getBoundingClientRect();
          if (box) onMenu(task, { x: box.left + box.width / 3, y: box.top + box.height / 3 });
        }}
      />
      <Bars canvas={canvas} run={run} view={view} fleet={fleet} onSelect={onSelect} onMenu={onMenu} />
      <WhatIfNote
        whatIf={run.whatIf}
        devices={live ? lanes.lanes.filter((lane) => lane.kind === "device").map((lane) => lane.device) : []}
      />
      <div className="zoom">
        <Button kind="quiet" title="Zoom out (-)" aria-label="Zoom out" onClick={view.zoomOut}>
          &minus;
        </Button>
        <output>{windowWords(view.place.window, run.whole)}</output>
        <Button kind="quiet" title="Zoom in (+)" aria-label="Zoom in" onClick={view.zoomIn}>
          +
        </Button>
        <Button icon="fit" kind="quiet" title="All of the run (f)" aria-label="All of the run" onClick={view.fitAll} />
      </div>
    </div>
  );
});

interface BarsProps {
  canvas: RefObject<HTMLCanvasElement | null>;
  run: ShownRun;
  view: View;
  fleet: StreamModel;
  onSelect: (task: string) => void;
  onMenu: OpenMenu;
}

/** The canvas under the pointer: it selects tasks, opens menus, and says what stands under it. */
function Bars({ canvas, run, view, fleet, onSelect, onMenu }: BarsProps) {
  const { lanes, nowMs, lateMs, live, whatIf } = run;
  const { place } = view;
  const [hovered, setHovered] = useState<(At & { text: string }) | null>(null);
  const barUnder = (x: number, y: number) => barAt(lanes, place, x, y, nowMs, run.expectedOf);
  const ghostUnder = (x: number, y: number) => ghostAt(lanes.ghosts, ahead(place, lateMs), x, y);

  /** Opens the menu of the lane whose name stands there. */
  const askAbout = (x: number, y: number, at: At): boolean => {
    const lane = laneAt(lanes, place, x, y);
    if (!live || lane?.kind !== "device" || copyOf(lane.device) !== null) return false;
    whatIf.open(at, [lane.device]);
    return true;
  };
  const menuAt = (at: At) => {
    const box = canvas.current?.getBoundingClientRect();
    const bar = box && barUnder(at.x - box.left, at.y - box.top);
    if (bar) onMenu(bar.span.task, at);
    else if (box) askAbout(at.x - box.left, at.y - box.top, at);
  };
  const pointAt = (x: number, y: number) => {
    const text = wordsAt(x, y);
    const box = canvas.current?.getBoundingClientRect();
    setHovered(text && box ? { text, x: box.left + x, y: box.top + y } : null);
  };
  const wordsAt = (x: number, y: number): string => {
    const bar = barUnder(x, y);
    if (bar) return barWords(fleet, bar, run.causeOf(bar), nowMs);
    const ghost = ghostUnder(x, y);
    if (ghost) return `${taskNamed(fleet, ghost.task)}: ${ghostWords(fleet, lanes.lanes, ghost, nowMs - lateMs)}`;
    return momentAt(run.ticks, place, x, y)
      .map((moment) => momentWords(fleet, moment))
      .join("; ");
  };
  const longPress = useLongPress((_, at) => menuAt(at));
  const gestures = useGestures(canvas, {
    zoom: view.zoom,
    move: (dx, dy) => {
      view.pan(msAt(place, 0) - msAt(place, dx));
      view.scroll(-dy);
      setHovered(null);
    },
    press: (x, y) => {
      const bar = longPress.held.current ? null : barUnder(x, y);
      const task = bar?.span.task ?? (bar ? null : ghostUnder(x, y)?.task);
      const box = canvas.current?.getBoundingClientRect();
      if (task) onSelect(task);
      else if (!(box && askAbout(x, y, { x: box.left + x, y: box.top + y }))) pointAt(x, y);
    },
    hover: pointAt,
    leave: () => setHovered(null),
    scrolls: () => view.over > 0,
  });

  return (
    <>
      <div className={`bars ${hovered ? "over" : ""}`} aria-hidden="true" {...longPress.handlers}>
        <canvas
          ref={canvas}
          {...gestures}
          onContextMenu={(event: MouseEvent) => {
            event.preventDefault();
            if (!longPress.held.current) menuAt({ x: event.clientX, y: event.clientY });
          }}
        />
        {run.report && run.isPlaced && lanes.bars.length + lanes.ghosts.length === 0 && (
          <Empty title="No task has begun.">Bars come as soon as a device has one.</Empty>
        )}
      </div>
      {hovered && (
        <span className="hovered" style={{ left: Math.min(hovered.x + 12, innerWidth - 260), top: hovered.y + 16 }}>
          {hovered.text}
        </span>
      )}
    </>
  );
}

/** Paints the run whenever it, the part of it that is shown, or the colours have changed. */
function usePainting(
  canvas: RefObject<HTMLCanvasElement | null>,
  run: ShownRun,
  { place }: View,
  { model, fleet, selected }: TimelineProps,
) {
  const paint = () => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || !place.width) return;
    const ratio = devicePixelRatio || 1;
    const [wide, high] = [Math.round(place.width * ratio), Math.round(place.height * ratio)];
    if (element.width !== wide) element.width = wide;
    if (element.height !== high) element.height = high;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const names = run.lanes.lanes.map((lane) => laneName(fleet, lane));
    const nameOf = (task: string) => taskNamed(fleet, task);
    paintLanes(context, readPaint(), { ...run, names, nameOf, selected, ghosts: run.lanes.ghosts }, place);
  };
  useRepaint(model, fleet, paint);
  // Several wheel events of one frame are one picture.
  useEffect(() => {
    const frame = requestAnimationFrame(paint);
    return () => cancelAnimationFrame(frame);
  });
}

/** What a screen reader says of a task: its phases so far and to come. */
function taskWords(model: StreamModel, fleet: StreamModel, run: ShownRun, task: string): string {
  const { lanes, nowMs, lateMs } = run;
  const parts = (lanes.ofTask.get(task) ?? []).map(
    (bar) => `${phaseWords(fleet, bar, run.causeOf(bar))} for ${duration(lengthOf(bar, nowMs))}`,
  );
  const coming = (lanes.ghostsOf.get(task) ?? []).map((ghost) => ghostWords(fleet, lanes.lanes, ghost, nowMs - lateMs));
  const state = taskView(model, fleet, task)?.shown.word;
  return [taskNamed(fleet, task), state, ...parts, ...coming, run.onPath.has(task) && "on the critical path"]
    .filter(Boolean)
    .join(", ");
}
