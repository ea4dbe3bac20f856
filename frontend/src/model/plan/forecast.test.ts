import { describe, expect, it } from "vitest";
import type { Course, RunWhatIf } from "../types.ts";
import { budgetWords, courseWords, ghostBars, rangeOfChance } from "./forecast.ts";

const COURSE: Course = { expected_ms: 40_000, low_ms: 25_000, high_ms: 50_000, chance: null, plays: 200 };

describe("a chance", () => {
  it("has the range of its plays, narrower with more of them, and is never certain", () => {
    const [few, many] = [rangeOfChance(0.84, 100), rangeOfChance(0.84, 2000)];
    expect([few.low, few.high].map((one) => Math.round(one * 100))).toEqual([76, 90]);
    expect(many.high - many.low).toBeLessThan(few.high - few.low);
    expect(rangeOfChance(1, 200).low).toBeLessThan(1);
    expect(rangeOfChance(0, 0)).toEqual({ low: 0, high: 1 });
  });
});

describe("the budget of a run", () => {
  it("has its chance in a few words, and none where it is not known", () => {
    const found = (chance: number | null) => ({ budget: { chance } }) as RunWhatIf;
    expect(budgetWords(found(0.874))).toBe("87 % within budget");
    expect(["", "", ""]).toEqual([budgetWords(found(null)), budgetWords({} as RunWhatIf), budgetWords(null)]);
  });
});

describe("a course", () => {
  it("is a time with its range, and with a deadline one chance with its range", () => {
    expect(courseWords(COURSE, null)).toBe("about 40 s (25 s to 50 s)");
    expect(courseWords({ ...COURSE, chance: 0.84 }, 45_000)).toBe(
      "about 40 s (25 s to 50 s); within 45 s with 84 % (78-88)",
    );
    expect(courseWords(COURSE, 45_000)).toBe("about 40 s (25 s to 50 s)");
  });
  it("stands on one line with the others and the deadline", () => {
    const { bars, deadline } = ghostBars([COURSE, { ...COURSE, high_ms: 100_000 }, null], 50_000);
    expect(bars).toEqual([{ from: 0.25, to: 0.5, at: 0.4 }, { from: 0.25, to: 1, at: 0.4 }, null]);
    expect(deadline).toBe(0.5);
  });
});
