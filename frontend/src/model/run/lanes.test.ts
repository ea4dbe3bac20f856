/** Bars find rows in which nothing overlaps, and a window in time stays within the run. */
import { describe, expect, it } from "vitest";
import { whole as allSteps } from "../stream/steps.ts";
import type { Phase } from "../types.ts";
import { type Arranged, arrangedSteps, axisOf, axisWords, expectedEnd, moved, ROWS_MOST, zoomed } from "./lanes.ts";
import type { Span } from "./spans.ts";

const lanesOf = (spans: readonly Span[], nowMs: number): Arranged => allSteps(arrangedSteps(spans, nowMs));

const span = (task: string, phase: Phase, fromMs: number, toMs: number, device = ""): Span => ({
  task,
  phase,
  device,
  attempt: 1,
  fromMs,
  toMs,
  hedge: false,
});

describe("the lanes", () => {
  it("puts people first, then devices as they began, then the queue and the model", () => {
    const { lanes } = lanesOf(
      [
        span("", "model", 0, 5),
        span("b", "working", 9, 20, "d-2"),
        span("a", "working", 10, 20, "d-1"),
        span("c", "queue", 10, 0),
        span("gone", "queue", 10, 12),
        span("ask", "person", 5, 10),
      ],
      90,
    );
    expect(lanes.map((lane) => lane.device || lane.kind)).toEqual(["you", "d-2", "d-1", "queue", "model"]);
  });

  it("keeps a wait and the bar it leads to in one row", () => {
    const { bars, lanes } = lanesOf(
      [
        span("a", "starting", 0, 10, "d"),
        span("b", "queue", 0, 10),
        span("b", "starting", 10, 12, "d"),
        span("b", "working", 12, 0, "d"),
      ],
      20,
    );
    expect(lanes.map((lane) => [lane.kind, lane.rows])).toEqual([["device", 2]]);
    const rows = new Set(bars.filter((bar) => bar.span.task === "b").map((bar) => bar.row));
    expect(rows.size).toBe(1);
    expect(bars.find((bar) => bar.span.phase === "working")?.toMs).toBe(20);
  });

  it("never lets two bars of a row overlap, for a thousand tasks on few slots", () => {
    const spans: Span[] = [];
    for (let at = 0; at < 1000; at += 1) {
      const begin = 10 + Math.floor(at / 4) * 10;
      spans.push(span(`t${at}`, "queue", 1, begin), span(`t${at}`, "working", begin, begin + 10, "d"));
    }
    const { lanes, bars } = lanesOf(spans, 2500);
    expect(lanes).toHaveLength(1);
    expect(lanes[0]).toMatchObject({ rows: 4, crowded: false });
    const ends = new Map<number, number>();
    for (const bar of bars.filter((one) => one.span.phase === "working")) {
      expect(bar.fromMs).toBeGreaterThanOrEqual(ends.get(bar.row) ?? 0);
      ends.set(bar.row, bar.toMs);
    }
  });

  it("says where more wait than there are rows", () => {
    const spans = Array.from({ length: 100 }, (_, at) => span(`t${at}`, "queue", 0, 0));
    expect(lanesOf(spans, 500).lanes[0]).toMatchObject({ kind: "queue", rows: ROWS_MOST, crowded: true });
  });
});

describe("a window in time", () => {
  const whole = { fromMs: 1000, toMs: 11_000 };
  it("zooms around a moment and stays within the run", () => {
    expect(zoomed(whole, whole, 6000, 2)).toEqual({ fromMs: 3500, toMs: 8500 });
    expect(zoomed({ fromMs: 1000, toMs: 2000 }, whole, 1000, 0.0001)).toEqual(whole);
    const small = zoomed(whole, whole, 11_000, 1e9);
    expect(small.toMs).toBe(11_000);
    expect(small.toMs - small.fromMs).toBe(50);
  });
  it("stops at the ends of the run", () => {
    expect(moved({ fromMs: 2000, toMs: 3000 }, whole, -9000)).toEqual({ fromMs: 1000, toMs: 2000 });
    expect(moved({ fromMs: 2000, toMs: 3000 }, whole, 90_000)).toEqual({ fromMs: 10_000, toMs: 11_000 });
  });
  it("has few marks with short words", () => {
    const marks = axisOf({ fromMs: 0, toMs: 90_000 }, 0, 8);
    expect(marks.map((mark) => axisWords(mark.atMs, mark.stepMs))).toEqual([
      "0",
      "15 s",
      "30 s",
      "45 s",
      "1:00",
      "1:15",
      "1:30",
    ]);
    expect(axisOf({ fromMs: 0, toMs: 400 * 864e5 }, 0, 6).length).toBeLessThan(8);
    expect(axisWords(250, 50)).toBe("0.25 s");
    expect(axisWords(7_800_000, 600_000)).toBe("2 h 10");
  });
});

describe("the end that is expected", () => {
  const span = (more: Partial<Span>): Span => ({
    ...{ task: "a", phase: "working", device: "d1", attempt: 1, fromMs: 2_000, toMs: 0, hedge: false },
    ...more,
  });
  it("is that of what is at work, counted from when it was given away", () => {
    expect(expectedEnd(span({}), { leased_ms: 1_500, expects_ms: 4_000 })).toBe(5_500);
    expect(expectedEnd(span({ phase: "starting" }), { leased_ms: 1_500, expects_ms: 4_000 })).toBe(5_500);
  });
  it("is none of what has ended, waits, or has no pace", () => {
    const attempt = { leased_ms: 1_500, expects_ms: 4_000 };
    expect(expectedEnd(span({ toMs: 3_000 }), attempt)).toBe(0);
    expect(expectedEnd(span({ phase: "queue" }), attempt)).toBe(0);
    expect(expectedEnd(span({}), { leased_ms: 1_500, expects_ms: 0 })).toBe(0);
    expect(expectedEnd(span({}), undefined)).toBe(0);
  });
});
