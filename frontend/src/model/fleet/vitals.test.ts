import { describe, expect, it } from "vitest";
import type { Vitals } from "../types.ts";
import { figure, gaps, keptWords, linesOf, runs, sentenceOf, tableOf, withLoad } from "./vitals.ts";

const UNTIL = 1_790_000_000_000;
const vitals = (lines: Vitals["items"][number]["lines"], more: Partial<Vitals> = {}): Vitals => ({
  hub: "",
  items: [{ device: "d", heard_ms: UNTIL, lines }],
  since_ms: UNTIL - 3_600_000,
  slots: 6,
  step_s: 30,
  until_ms: UNTIL,
  ...more,
});
const line = (points: (number | null)[]) => {
  const [found] = linesOf(vitals({ load_percent: points } as never), "d");
  if (!found) throw new Error("there is no line");
  return found;
};

describe("lines of a device", () => {
  it("end now, and are empty before the first word", () => {
    expect(line([10, 20]).points).toEqual([null, null, null, null, 10, 20]);
    expect(line([10, 20]).now).toBe(20);
  });

  it("have no value of now when the last one is older than a step", () => {
    expect(line([10, 20, null]).now).toBe(20);
    expect(line([10, 20, null, null]).now).toBeNull();
  });

  it("are none for a device that said nothing, and for one that was not asked about", () => {
    expect(linesOf(vitals({} as never), "d")).toEqual([]);
    expect(linesOf(vitals({} as never), "other")).toEqual([]);
    expect(linesOf(null, "d")).toEqual([]);
  });

  it("never lead across a time at which nothing was heard", () => {
    const points = [1, null, null, 2, 3, null];
    expect(runs(points)).toEqual([
      [0, [1]],
      [3, [2, 3]],
    ]);
    expect(gaps(points)).toEqual([[1, 2]]);
    expect(gaps([null, 1, 2])).toEqual([]);
  });

  it("have a scale that holds every value", () => {
    expect(line([40]).most).toBe(100);
    expect(line([140]).most).toBe(200);
    expect(line([10_000]).most).toBe(10_000);
  });
});

describe("words of a line", () => {
  it("say now, the range and the silence", () => {
    expect(sentenceOf(line([10, null, null, 30, 20]), 30)).toBe(
      "Load 20 %, from 10 % to 30 % in 3 min, nothing was heard for 1 min of it",
    );
    expect(sentenceOf(line([10, 718]), 30)).toContain("Load 718 % (7 times what its processors can do at once)");
    expect(figure(1200, "ms")).toBe("1.2 s");
    expect(figure(null, "%")).toBe("not heard");
  });

  it("say the bound and the figure of a disk that is nearly full", () => {
    const idle = { word: "Idle" };
    const full = linesOf(vitals({ disk_percent: [88, 93] } as never), "d");
    expect(sentenceOf(full[0] as never, 30)).toContain("Disk 93 % (nearly full from 90 % on)");
    expect(withLoad(idle, full).word).toBe("Idle, disk 93 % full");
    expect(withLoad(idle, linesOf(vitals({ disk_percent: [93, 89] } as never), "d"))).toBe(idle);
    const both = linesOf(vitals({ disk_percent: [93], load_percent: [700] } as never), "d");
    expect(withLoad(idle, both).word).toBe("Idle, high load, disk 93 % full");
    expect(withLoad({ word: "Busy, 1 of 4" }, both).word).toBe("Busy, 1 of 4");
  });

  it("say since when figures are kept, and by which of two hubs", () => {
    const at = (ms: number) => (ms === UNTIL - 60_000 ? "12:59" : "another time");
    expect(keptWords(vitals({} as never, { since_ms: 0 }), at)).toContain("No figure has been heard yet");
    expect(keptWords(vitals({} as never, { since_ms: UNTIL - 60_000, hub: "https://b:1" }), at)).toBe(
      "Since 12:59, when this hub began to listen; what was before is not kept. Gaps are times without a word. Kept by the hub at https://b:1.",
    );
    expect(keptWords(vitals({} as never), at)).toBe("The last hour. Gaps are times without a word.");
  });

  it("are a table, the newest first, without rows of silence", () => {
    expect(tableOf([line([10, null, 30])], UNTIL, 30, 1)).toEqual([
      { atMs: UNTIL, values: [30] },
      { atMs: UNTIL - 60_000, values: [10] },
    ]);
  });
});
