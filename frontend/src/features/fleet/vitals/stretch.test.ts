import { describe, expect, it } from "vitest";
import { beginningAt, clipped, decade, decades, stepAt, zoomed } from "./stretch.ts";

const STEP = 30_000;
const HOUR = { fromMs: 0, toMs: 119 * STEP };
const steps = (from: number, to: number) => ({ fromMs: from * STEP, toMs: to * STEP });

describe("a stretch of the hour", () => {
  it("begins and ends on a step", () => {
    expect(clipped({ fromMs: 20 * STEP - 900, toMs: 60 * STEP + 900 }, HOUR, STEP)).toEqual(steps(20, 60));
  });
  it("has four steps at least, at both ends of the hour too", () => {
    expect(clipped(steps(50, 51), HOUR, STEP)).toEqual(steps(49, 53));
    expect(clipped(steps(0, 1), HOUR, STEP)).toEqual(steps(0, 4));
    expect(clipped(steps(119, 119), HOUR, STEP)).toEqual(steps(115, 119));
  });
  it("begins where something is known, on a step", () => {
    expect(beginningAt(60 * STEP + 4, HOUR, STEP)).toEqual(steps(60, 119));
    expect(beginningAt(118 * STEP, HOUR, STEP)).toEqual(steps(109, 119));
    expect(beginningAt(-5 * STEP, HOUR, STEP)).toEqual(HOUR);
  });
  it("is none without a choice or when it has left the hour", () => {
    expect(clipped(null, HOUR, STEP)).toBeNull();
    expect(clipped(steps(-20, 0), HOUR, STEP)).toBeNull();
  });
  it("halves about the moment and stays inside, until too few steps are left", () => {
    expect(zoomed(steps(0, 80), 40 * STEP, STEP)).toEqual(steps(20, 60));
    expect(zoomed(steps(0, 80), null, STEP)).toEqual(steps(40, 80));
    expect(zoomed(steps(0, 7), null, STEP)).toBeNull();
  });
});

describe("scales", () => {
  it("find the step of a moment, in points that end now", () => {
    expect(stepAt(120, 119 * STEP, 119 * STEP, 30)).toBe(119);
    expect(stepAt(120, 100 * STEP + 4, 119 * STEP, 30)).toBe(100);
  });
  it("end at powers of ten", () => {
    expect(decades([35, 4_200])).toEqual([10, 10_000]);
    expect(decades([100])).toEqual([100, 1_000]);
    expect(decades([0])).toEqual([1, 10]);
    expect([10, 1_000, 100_000].map(decade)).toEqual(["10 ms", "1 s", "100 s"]);
  });
});
