/** One chart of the last hour, drawn by uPlot on a canvas: a line, or the calls of the device, over the times it was away. */
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useLook } from "../../../app/shell/theme.ts";
import type { Absence } from "../../../model/run/absences.ts";
import type { DeviceCall } from "../../../model/run/deviceCalls.ts";
import { timeOfDay } from "../../../model/words/words.ts";
import { readPaint } from "../../constellation/graph/canvas/paint.ts";

/** The slider below the charts has the same edges (`hour.css`). */
const AXIS_WIDE = 56;
const EDGE = 8;
/** Room for half of the last time. */
const RIGHT_EDGE = 20;
/** Whole minutes only: two marks never have the same words. */
const MARKS_S = [60, 120, 300, 600, 900, 1800, 3600];
const HIGH = 64;
const TIMES_HIGH = 24;
const LEAST_CALL_PX = 3;
const FAILED_PX = 4;
/** A drag of less is a press. */
const DRAG_PX = 8;

interface Stretch {
  fromMs: number;
  toMs: number;
}

export interface Shown {
  /** The times of the points in seconds. */
  times: number[];
  /** A line has a value or a gap for each time; the chart of calls has none. */
  points: readonly (number | null)[] | null;
  /** The scale, and how its ends are written. */
  least: number;
  most: number;
  figure: (value: number) => string;
  view: Stretch;
  momentMs: number | null;
  away: readonly Absence[];
  calls: readonly DeviceCall[];
  nowMs: number;
}

interface Heard {
  moment: (atMs: number | null) => void;
  stretch: (stretch: Stretch) => void;
  whole: () => void;
}

/** A browser without canvas shows the table below the charts. */
export const canDraw = (): boolean => typeof Path2D === "function";

export class Chart {
  private readonly plot: UPlot;
  private readonly place: HTMLElement;
  private readonly heard: Heard;
  private readonly stops: (() => void)[];
  private shown: Shown;

  constructor(place: HTMLElement, first: Shown, withTimes: boolean, heard: Heard) {
    this.shown = first;
    this.place = place;
    this.heard = heard;
    const high = HIGH + (withTimes ? TIMES_HIGH : 0);
    this.plot = new UPlot(this.options(high, withTimes), this.data(), place);
    const size = new ResizeObserver(() => {
      if (place.clientWidth !== this.plot.width) this.plot.setSize({ width: place.clientWidth, height: high });
    });
    size.observe(place);
    const repaint = () => this.plot.redraw(false);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", repaint);
    this.stops = [
      () => size.disconnect(),
      () => dark.removeEventListener("change", repaint),
      useLook.subscribe(repaint),
      this.follow(),
      () => this.plot.destroy(),
    ];
  }

  show(shown: Shown): void {
    const before = this.shown;
    this.shown = shown;
    const drawn = (["times", "points", "most", "least", "away", "calls"] as const).some(
      (part) => shown[part] !== before[part],
    );
    if (drawn) this.plot.setData(this.data(), false);
    const { fromMs, toMs } = shown.view;
    if (drawn || fromMs !== before.view.fromMs || toMs !== before.view.toMs) {
      this.plot.batch(() => {
        this.plot.setScale("x", { min: fromMs / 1000, max: toMs / 1000 });
        this.plot.setScale("y", { min: shown.least, max: shown.most });
      });
    }
    const left = shown.momentMs === null ? -EDGE : this.plot.valToPos(shown.momentMs / 1000, "x");
    this.plot.setCursor({ left, top: EDGE }, false);
  }

  end(): void {
    for (const stop of this.stops) stop();
  }

  private data(): UPlot.AlignedData {
    const { times, points } = this.shown;
    return [times, points ? [...points] : times.map(() => null)];
  }

  private options(height: number, withTimes: boolean): UPlot.Options {
    const { view, points } = this.shown;
    const blue = () => readPaint().tone.blue;
    return {
      width: this.place.clientWidth,
      height,
      padding: [EDGE, RIGHT_EDGE, withTimes ? 0 : EDGE, 0],
      legend: { show: false },
      cursor: {
        y: false,
        move: onPoint,
        points: { size: 7, fill: blue, stroke: blue },
        drag: { x: true, y: false, setScale: false, dist: DRAG_PX },
        bind: {
          dblclick: () => () => {
            this.heard.whole();
            return null;
          },
        },
      },
      scales: {
        x: { auto: false, min: view.fromMs / 1000, max: view.toMs / 1000 },
        // A call takes from milliseconds to minutes: each decade has the same height.
        y: { auto: false, distr: points ? 1 : 3, range: () => [this.shown.least, this.shown.most] },
      },
      axes: this.axes(withTimes),
      series: [{}, { stroke: blue, width: 1.5, points: { fill: blue, size: 4, filter: lone } }],
      hooks: {
        drawClear: [(plot) => this.shadeAway(plot)],
        draw: [(plot) => (points ? this.markFailures(plot) : this.drawCalls(plot))],
        setCursor: [({ cursor: { idx }, data }) => this.hear(idx == null ? null : data[0]?.[idx])],
        setSelect: [(plot) => this.select(plot)],
      },
    };
  }

  private axes(withTimes: boolean): UPlot.Axis[] {
    const colour = { stroke: () => readPaint().ink2, font: `12px ${getComputedStyle(document.body).fontFamily}` };
    const lines = { grid: { stroke: () => readPaint().line, width: 0.5 }, ticks: { show: false } };
    const time = (second: number) => timeOfDay(second * 1000).slice(0, 5);
    return [
      {
        ...colour,
        ...lines,
        size: withTimes ? TIMES_HIGH : 0,
        gap: 6,
        space: 64,
        incrs: MARKS_S,
        values: (_plot, splits) => (withTimes ? splits.map(time) : splits.map(() => "")),
      },
      {
        ...colour,
        ...lines,
        size: AXIS_WIDE,
        gap: 8,
        splits: () => this.splits(),
        // On a scale of decades uPlot would leave out all that are no powers of ten.
        filter: (_plot, splits) => splits,
        values: (_plot, splits) => splits.map((at, place) => (place === 1 ? "" : this.shown.figure(at))),
      },
    ];
  }

  private splits(): number[] {
    const { least, most, points } = this.shown;
    return [least, points ? (least + most) / 2 : Math.sqrt(least * most), most];
  }

  private hear(second: number | null | undefined): void {
    this.heard.moment(second == null ? null : second * 1000);
  }

  private select(plot: UPlot): void {
    const { left, width } = plot.select;
    if (width < DRAG_PX) return;
    const at = (px: number) => plot.posToVal(px, "x") * 1000;
    this.heard.stretch({ fromMs: at(left), toMs: at(left + width) });
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  /** uPlot hears the mouse; a finger that moves sideways shows the values below it, and one that moves up scrolls. */
  private follow(): () => void {
    const { over } = this.plot;
    const move = (event: PointerEvent) => {
      if (event.pointerType === "mouse") return;
      this.plot.setCursor({ left: event.clientX - over.getBoundingClientRect().left, top: EDGE });
    };
    over.addEventListener("pointerdown", move);
    over.addEventListener("pointermove", move);
    return () => {
      over.removeEventListener("pointerdown", move);
      over.removeEventListener("pointermove", move);
    };
  }

  private shadeAway(plot: UPlot): void {
    const { ctx, bbox } = plot;
    const { tint, edge } = readPaint();
    within(plot, () => {
      for (const { fromMs, toMs } of this.shown.away) {
        const from = plot.valToPos(fromMs / 1000, "x", true);
        const to = Number.isFinite(toMs) ? plot.valToPos(toMs / 1000, "x", true) : bbox.left + bbox.width;
        ctx.fillStyle = tint.grey;
        ctx.fillRect(from, bbox.top, Math.max(to - from, UPlot.pxRatio), bbox.height);
        ctx.fillStyle = edge;
        // The edges are dashed, so that the stretch is told by more than its shade.
        for (const x of [from, to]) {
          for (let y = bbox.top; y < bbox.top + bbox.height; y += 6 * UPlot.pxRatio) {
            ctx.fillRect(x - UPlot.pxRatio / 2, y, UPlot.pxRatio, 3 * UPlot.pxRatio);
          }
        }
      }
    });
  }

  /** A failure is seen in each line, so that its load or its silence is seen with it. */
  private markFailures(plot: UPlot): void {
    const { ctx, bbox } = plot;
    within(plot, () => {
      ctx.fillStyle = readPaint().tone.vermilion;
      for (const call of this.shown.calls) {
        if (call.end !== "failed") continue;
        ctx.fillRect(plot.valToPos(call.toMs / 1000, "x", true), bbox.top, UPlot.pxRatio, bbox.height);
      }
    });
  }

  /** Each call from its beginning to its end, as high as it was long; one that failed ends in a cross. */
  private drawCalls(plot: UPlot): void {
    const { ctx } = plot;
    const { calls, least, nowMs } = this.shown;
    const { tone } = readPaint();
    const px = UPlot.pxRatio;
    within(plot, () => {
      ctx.lineCap = "round";
      for (const call of calls) {
        const failed = call.end === "failed";
        const until = call.toMs || nowMs;
        const from = plot.valToPos(call.fromMs / 1000, "x", true);
        const to = Math.max(plot.valToPos(until / 1000, "x", true), from + LEAST_CALL_PX * px);
        const y = plot.valToPos(Math.max(until - call.fromMs, least), "y", true);
        ctx.strokeStyle = failed ? tone.vermilion : call.end === "done" ? tone.blue : tone.grey;
        ctx.lineWidth = (failed ? 2 : 3) * px;
        ctx.beginPath();
        ctx.moveTo(from, y);
        ctx.lineTo(to, y);
        if (failed) {
          const r = FAILED_PX * px;
          ctx.moveTo(to - r, y - r);
          ctx.lineTo(to + r, y + r);
          ctx.moveTo(to - r, y + r);
          ctx.lineTo(to + r, y - r);
        }
        ctx.stroke();
      }
    });
  }
}

/** Draws inside the frame of the chart. */
function within({ ctx, bbox }: UPlot, draw: () => void): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  draw();
  ctx.restore();
}

/** The cursor stands on the nearest point, as it does in the other charts. */
function onPoint(plot: UPlot, left: number, top: number): [number, number] {
  const second = left < 0 ? null : plot.data[0]?.[plot.posToIdx(left)];
  return [second == null ? left : plot.valToPos(second, "x"), top];
}

/** A value between two gaps is no line and would not be seen: it is a dot. */
function lone(plot: UPlot, series: number, all: boolean): number[] | null {
  if (all) return null;
  const values = plot.data[series] ?? [];
  const found: number[] = [];
  for (let at = 0; at < values.length; at += 1) {
    if (values[at] != null && values[at - 1] == null && values[at + 1] == null) found.push(at);
  }
  return found;
}
