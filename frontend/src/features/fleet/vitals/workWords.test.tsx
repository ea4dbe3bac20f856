import { expect, it } from "vitest";
import { workParts, workWordsOf } from "./DeviceLines.tsx";

const work = (failed_here?: number) => ({ device: "d", constellations: { succeeded: 5, failed: 3 }, failed_here });
const parts = (failed_here?: number) => workParts(work(failed_here)).map(({ word, count }) => `${count} ${word}`);

it("counts a failure where the task failed, and tells the others apart", () => {
  expect(workWordsOf(work(1))).toBe("8 today, 1 failed");
  expect(workWordsOf(work(0))).toBe("8 today");
  expect(parts(1)).toEqual(["5 done", "1 failed", "2 failed elsewhere"]);
  expect(parts(3)).toEqual(["5 done", "3 failed"]);
  expect(parts(0)).toEqual(["5 done", "3 failed elsewhere"]);
});

it("takes the whole count of a hub that does not tell them apart", () => {
  expect(workWordsOf(work())).toBe("8 today, 3 failed");
});
