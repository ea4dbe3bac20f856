/** The clock of fences, deadlines and the watch over a silent hub: no date that is set stops it. */
import { describe, expect, it } from "vitest";
import { awakeClock } from "./clock.ts";

function clock() {
  const at = { date: 5_000_000, passed: 700 };
  const read = awakeClock(
    () => at.date,
    () => at.passed,
  );
  const goOn = (ms: number, more: { asleep?: number; set?: number } = {}) => {
    at.passed += ms;
    at.date += ms + (more.asleep ?? 0) + (more.set ?? 0);
    return read();
  };
  return { read, goOn };
}

describe("the clock of a tab", () => {
  it("begins with the date and goes on with the time that passes", () => {
    const { read, goOn } = clock();
    expect(read()).toBe(5_000);
    expect(goOn(250)).toBe(5_000.25);
  });

  it("goes on where the date is set back, and through a sleep after that", () => {
    const { goOn } = clock();
    expect(goOn(1_000, { set: -3_600_000 })).toBe(5_001);
    expect(goOn(1_000)).toBe(5_002);
    expect(goOn(1_000, { asleep: 60_000 })).toBe(5_063);
  });

  it("does not gain from a date that is drawn forth and back a little", () => {
    const { goOn } = clock();
    for (let turn = 0; turn < 1_000; turn += 1) goOn(1, { set: turn % 2 === 0 ? 20 : -20 });
    expect(goOn(0)).toBe(5_001);
  });
});
