import { describe, expect, it } from "vitest";
import type { Steps } from "../model/stream/steps.ts";
import { inSlices } from "./slices.ts";

/** Counts its steps, each of which takes so long by this clock. */
class Work {
  at = 0;
  done = 0;
  waiting: (() => void)[] = [];
  now = () => this.at;
  soon = (run: () => void) => void this.waiting.push(run);
  *steps(count: number, ms: number): Steps<string> {
    for (let step = 0; step < count; step += 1) {
      this.done += 1;
      this.at += ms;
      yield;
    }
    return "all";
  }
}

describe("work in slices", () => {
  it("pauses after half of a frame and goes on until its end", () => {
    const work = new Work();
    const ends: string[] = [];
    inSlices(work.steps(10, 3), (value) => ends.push(value), work);
    const seen = [work.done];
    expect(seen).toEqual([0]);
    while (work.waiting.length > 0) {
      work.waiting.shift()?.();
      seen.push(work.done);
    }
    expect(seen).toEqual([0, 3, 6, 9, 10]);
    expect(ends).toEqual(["all"]);
  });

  it("takes one slice when it is short", () => {
    const work = new Work();
    const ends: string[] = [];
    inSlices(work.steps(2, 1), (value) => ends.push(value), work);
    work.waiting.shift()?.();
    expect([ends, work.waiting]).toEqual([["all"], []]);
  });

  it("does no more once it is stopped", () => {
    const work = new Work();
    const stop = inSlices(work.steps(10, 3), () => expect.unreachable(), work);
    work.waiting.shift()?.();
    stop();
    for (const run of work.waiting) run();
    expect(work.done).toBe(3);
  });
});
