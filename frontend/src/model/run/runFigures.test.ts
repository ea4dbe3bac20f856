/** The row of figures leaves out what did not happen, and says the rest in short. */
import { describe, expect, it } from "vitest";
import type { RunReport } from "../types.ts";
import { figuresOf } from "./runFigures.ts";

const REPORT = {
  ended: true,
  makespan_ms: 41_000,
  gain: 0.627,
  one_at_a_time_ms: 110_000,
  path_ms: 38_000,
  work_ms: 109_000,
  parallelism: 2.87,
  width_mean: 2.7,
  width_most: 5,
  for_person_ms: 9_000,
  waits: [
    { cause: "queue", tasks: 8, total_ms: 41_000, wall_ms: 12_000 },
    { cause: "person", tasks: 1, total_ms: 9_000, wall_ms: 9_000 },
  ],
  recoveries: { retried: 2, moved: 1 },
  model: { calls: 3, micros: 31_000, time_ms: 8_000, tokens: 12_400 },
} as unknown as RunReport;

const said = (report: RunReport) => figuresOf(report).map(({ name, value }) => `${name}: ${value}`);

describe("figuresOf", () => {
  it("says each figure once", () => {
    expect(said(REPORT)).toEqual([
      "Took: 41 s",
      "One at a time: 1 min 50 s (63 % saved)",
      "Critical path: 38 s",
      "Work: 1 min 49 s",
      "At once: 2.7 on average, 5 at most",
      "Waited for you: 9.0 s",
      "Waited for a free device: 12 s, 8 tasks",
      "Recovered: 3",
      "Model: 8.0 s, $0.03",
    ]);
  });
  it("tells a wait for a device that is away from one for a busy device", () => {
    expect(figuresOf(REPORT, true).map(({ name }) => name)).toContain("Waited for a device that is away");
  });
  it("names no model where none was asked", () => {
    const { model: _, ...rest } = REPORT;
    expect(said({ ...rest, model: { calls: 0, time_ms: 1_800 } } as RunReport).at(-1)).toBe("Planned in: 1.8 s");
  });
  it("counts the calls of the planner that other calls saved", () => {
    expect(said({ ...REPORT, model: { spared: 2, time_ms: 0 } } as RunReport).at(-1)).toBe("Planner calls saved: 2");
  });
  it("tells turns of goals by tier", () => {
    const used = { ...REPORT.model, turns: { small: 4, worker: 2 }, escalations: 1 };
    const told = figuresOf({ ...REPORT, model: used }).find((one) => one.name === "Turns of goals");
    expect([told?.value, told?.about]).toEqual(["4 by small, 2 by worker", "How often a next tier went on: 1."]);
  });
  it("leaves out what did not happen", () => {
    const quiet = { ...REPORT, ended: false, gain: 0, for_person_ms: 0, waits: [], recoveries: {}, model: {} };
    expect(said(quiet).map((line) => line.split(":")[0])).toEqual(["So far", "Critical path", "Work", "At once"]);
  });
});
