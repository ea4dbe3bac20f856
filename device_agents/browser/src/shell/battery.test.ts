import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { watchBattery } from "./battery.ts";

describe("the charge of a tab's device", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("is said at once, again and again, and no more after the end", async () => {
    const battery = { level: 0.846 };
    const said: number[] = [];
    const stop = watchBattery((percent) => said.push(percent), { getBattery: async () => battery });
    await vi.advanceTimersByTimeAsync(0);
    battery.level = 0.5;
    await vi.advanceTimersByTimeAsync(20_000);
    stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(said).toEqual([85, 50]);
  });

  it("is not said where the browser does not tell it, forbids it or tells no number", async () => {
    const said: number[] = [];
    const say = (percent: number) => said.push(percent);
    watchBattery(say, {});
    watchBattery(say, { getBattery: () => Promise.reject(new Error("not allowed")) });
    watchBattery(say, { getBattery: async () => ({ level: Number.NaN }) });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(said).toEqual([]);
  });
});
