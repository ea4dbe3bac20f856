import { describe, expect, test } from "vitest";
import { haunted, lateBy } from "./ghosts.ts";
import { type Arranged, arrangedSteps } from "./lanes.ts";
import type { Span } from "./spans.ts";

const span = (task: string, device: string, fromMs: number, toMs: number): Span => ({
  task,
  phase: "working",
  device,
  attempt: 1,
  fromMs,
  toMs,
  hedge: false,
});

function arranged(spans: Span[]): Arranged {
  const steps = arrangedSteps(spans, 1_000);
  for (;;) {
    const next = steps.next();
    if (next.done) return next.value;
  }
}

const RUN = arranged([span("a", "one", 0, 400), span("b", "two", 0, 0)]);
const expected = (task: string, device: string, begin_ms: number, end_ms: number) => ({
  task,
  device,
  begin_ms,
  end_ms,
});

describe("ghosts", () => {
  test("tasks to come stand below the bars of their device, in rows that no two share", () => {
    const now = [expected("b", "two", 0, 900), expected("c", "one", 900, 1_500), expected("d", "one", 1_200, 2_000)];
    const made = haunted(RUN, { atMs: 500, now, changed: [] });
    expect(made.ghosts.map(({ task, lane, row }) => [task, lane, row])).toEqual([
      ["c", 0, 1],
      ["d", 0, 2],
    ]);
    expect(made.lanes.map(({ top, rows }) => [top, rows])).toEqual([
      [0, 3],
      [3, 1],
    ]);
    expect(made.bars.find((bar) => bar.span.task === "b")?.row).toBe(3);
    expect(made.ofTask.get("b")?.[0]?.row).toBe(3);
    expect(RUN.bars.find((bar) => bar.span.task === "b")?.row).toBe(1);
  });

  test("after a change both pictures are there, and another device has a lane", () => {
    const now = [expected("c", "one", 900, 1_500)];
    const changed = [expected("c", "one-copy", 600, 1_200)];
    const made = haunted(RUN, { atMs: 500, now, changed });
    expect(made.lanes.map((lane) => lane.device)).toEqual(["one", "two", "one-copy"]);
    expect(made.ghosts.map(({ lane, changed: after }) => [lane, after])).toEqual([
      [0, false],
      [2, true],
    ]);
  });

  test("tasks that are late stand after the present, with their distances", () => {
    const now = [expected("c", "one", 900, 1_500), expected("d", "one", 1_500, 2_000)];
    const made = haunted(RUN, { atMs: 500, now, changed: [] });
    expect([made.firstMs, made.lastMs, lateBy(made, 800), lateBy(made, 1_900)]).toEqual([900, 2_000, 0, 1_000]);
    expect(lateBy(haunted(RUN, { atMs: 500, now: [], changed: [] }), 1_900)).toBe(0);
  });

  test("those of a task are found without a look at the others", () => {
    const now = [expected("c", "one", 900, 1_500), expected("d", "one", 1_500, 2_000)];
    const changed = [expected("c", "one", 600, 1_200)];
    const made = haunted(RUN, { atMs: 500, now, changed });
    expect(made.ghostsOf.get("c")).toEqual(made.ghosts.filter(({ task }) => task === "c"));
    expect(made.ghostsOf.get("c")).toHaveLength(2);
    expect(made.ghostsOf.get("a")).toBeUndefined();
  });

  test("five thousand ghosts of one device keep the bound of rows, and nothing to come changes nothing", () => {
    const many = Array.from({ length: 5_000 }, (_, at) => expected(`t${at}`, "one", 600, 700 + at));
    const made = haunted(RUN, { atMs: 500, now: many, changed: [] });
    expect(made.ghosts).toHaveLength(5_000);
    expect(made.lanes[0]?.rows).toBe(25);
    const none = haunted(RUN, { atMs: 500, now: [expected("b", "two", 0, 900)], changed: [] });
    expect(none.bars).toBe(RUN.bars);
  });
});
