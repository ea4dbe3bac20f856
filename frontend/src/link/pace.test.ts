import { describe, expect, it } from "vitest";
import { type Pace, paced } from "./pace.ts";

/** A clock that stands still but for its timers and for what a turn is said to take. */
class Clock implements Pace {
  at = 0;
  waits: number[] = [];
  frames: (() => void)[] = [];
  now = () => this.at;
  setTimer = (run: () => void, ms: number) => {
    this.waits.push(ms);
    this.at += ms;
    run();
  };
  onFrame = (run: () => void) => void this.frames.push(run);
  afterFrame = (run: () => void) => run();
  draw(): void {
    for (const frame of this.frames.splice(0)) frame();
  }
}

describe("a paced link", () => {
  it("takes what came with the next frame", () => {
    const clock = new Clock();
    let taken = 0;
    paced(clock)(() => {
      taken += 1;
    });
    expect(taken).toBe(0);
    clock.draw();
    expect([taken, clock.waits]).toEqual([1, []]);
  });

  it("rests as long as the last turn took, and never longer than a quarter of a second", () => {
    const clock = new Clock();
    const take = paced(clock);
    for (const [costs, rest] of [
      [40, 40],
      [900, 250],
      [0, 0],
    ] as const) {
      take(() => {
        clock.at += costs;
      });
      clock.draw();
      clock.waits = [];
      take(() => {});
      expect(clock.waits).toEqual(rest ? [rest] : []);
      clock.draw();
    }
  });

  it("does not rest when the time has passed already", () => {
    const clock = new Clock();
    const take = paced(clock);
    take(() => {
      clock.at += 40;
    });
    clock.draw();
    clock.at += 41;
    take(() => {});
    expect(clock.waits).toEqual([]);
  });
});
