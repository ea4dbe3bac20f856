/** A wait counts as one for a device that was away only where the record of its connections says so. */
import { describe, expect, it } from "vitest";
import { absencesOf, absenceWords, awayTimes, silencesOf, wasAway } from "./absences.ts";

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

describe("silencesOf", () => {
  const silent = (...lines: (number | null)[][]) => silencesOf(lines, 300_000, 30);

  it("needs every line to be silent, and ends where one is heard again", () => {
    expect(silent([1, null, null, 4, 5], [1, 2, null, 4, 5])).toEqual([{ fromMs: 210_000, toMs: 270_000 }]);
    expect(silent([1, null, 3], [1, 2, 3])).toEqual([]);
  });
  it("begins with the first value, not before it", () => {
    expect(silent([null, null, 3, 4])).toEqual([]);
    expect(silent([null, null])).toEqual([]);
    expect(silent()).toEqual([]);
  });
  it("is open at the end, once it is longer than the step that has just begun", () => {
    expect(silent([1, 2, null])).toEqual([]);
    expect(silent([1, null, null])).toEqual([{ fromMs: 240_000, toMs: Number.POSITIVE_INFINITY }]);
  });
  it("takes lines of different lengths by their ends", () => {
    expect(silent([7, null, null, 9], [9])).toEqual([{ fromMs: 210_000, toMs: 300_000 }]);
  });
});

describe("awayTimes", () => {
  const told = [{ fromMs: 10, toMs: 50 }];
  it("takes the record, and a silence only where the record has nothing", () => {
    expect(
      awayTimes(
        told,
        [
          { fromMs: 40, toMs: 60 },
          { fromMs: 70, toMs: 90 },
        ],
        20,
      ),
    ).toEqual([
      { fromMs: 20, toMs: 50 },
      { fromMs: 70, toMs: 90 },
    ]);
    expect(awayTimes(told, [], 60)).toEqual([]);
  });
  it("is said with its length, or since when", () => {
    const timeOf = (ms: number) => `t${ms}`;
    expect(absenceWords({ fromMs: 0, toMs: 600_000 }, timeOf)).toBe("t0 to t600000 (10 min 00 s)");
    expect(absenceWords({ fromMs: 5, toMs: Number.POSITIVE_INFINITY }, timeOf)).toBe("since t5");
  });
});
