/** The lens that a constellation opens with. */
import { expect, it } from "vitest";
import { lensOf } from "./lens.ts";

const PHONE = { planning: false, answer: true, part: false, task: false, failed: false, listed: true };

it("opens with the answer once there is one", () => {
  expect(lensOf(null, PHONE)).toBe("answer");
  expect(lensOf(null, { ...PHONE, answer: false })).toBe("list");
  expect(lensOf("graph", PHONE)).toBe("graph");
});

it("opens at the tasks where the work failed or one of them is open, unless a part of the answer is", () => {
  for (const more of [{ failed: true }, { task: true }]) {
    expect(lensOf(null, { ...PHONE, ...more })).toBe("list");
    expect(lensOf(null, { ...PHONE, ...more, part: true })).toBe("answer");
    expect(lensOf("answer", { ...PHONE, ...more })).toBe("answer");
  }
});
