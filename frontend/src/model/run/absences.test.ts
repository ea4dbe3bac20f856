/** A wait counts as one for a device that was away only where the record of its connections says so. */
import { describe, expect, it } from "vitest";
import { absencesOf, wasAway } from "./absences.ts";

const at = (second: number) => new Date(second * 1000).toISOString();
const DEEDS = [
  { kind: "device_online", at: at(60) },
  { kind: "device_offer", at: at(61) },
  { kind: "device_offline", at: at(20) },
  { kind: "device_offline", at: at(90) },
];

describe("absencesOf", () => {
  it("pairs each leaving with the next return, and leaves the last one open", () => {
    expect(absencesOf(DEEDS)).toEqual([
      { fromMs: 20_000, toMs: 60_000 },
      { fromMs: 90_000, toMs: Number.POSITIVE_INFINITY },
    ]);
  });
});

describe("wasAway", () => {
  const absences = absencesOf(DEEDS);
  it("needs half of the wait", () => {
    expect(wasAway(absences, 25_000, 61_000)).toBe(true);
    expect(wasAway(absences, 50_000, 80_000)).toBe(false);
    expect(wasAway(absences, 100_000, 130_000)).toBe(true);
  });
  it("knows nothing of a device without a record", () => {
    expect(wasAway([], 0, 10_000)).toBe(false);
  });
});
