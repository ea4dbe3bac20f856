import { expect, it } from "vitest";
import type { Bar } from "../../../model/run/lanes.ts";
import { barAt } from "./hits.ts";
import { AXIS_PX, type Place } from "./paintLanes.ts";

const PLACE: Place = { width: 1108, height: 300, gutter: 100, window: { fromMs: 0, toMs: 10_000 }, top: 0, rowPx: 20 };
const bar: Bar = {
  span: { task: "copy", phase: "working", device: "d1", attempt: 1, fromMs: 0, toMs: 0, hedge: false },
  fromMs: 0,
  toMs: 4_000,
  row: 0,
  lane: 0,
};
const lanes = { lanes: [], bars: [bar], rows: 1 };

it("finds a task where its bar is, and in the dashed part that is expected of it", () => {
  const at = (share: number, expectedMs: number) =>
    barAt(lanes, PLACE, 100 + share * 1000, AXIS_PX + 12, 4_000, () => expectedMs)?.span.task;
  expect(at(0.3, 0)).toBe("copy");
  expect(at(0.7, 0)).toBeUndefined();
  expect(at(0.7, 8_000)).toBe("copy");
  expect(at(0.9, 8_000)).toBeUndefined();
});
