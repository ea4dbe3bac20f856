import { describe, expect, it } from "vitest";
import { changedLines } from "./ChangeView.tsx";

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `line ${at}\n`).join("");

describe("the lines of a change", () => {
  it("are those that differ with a few around them, and how many are left out", () => {
    const before = numbered(40);
    const lines = changedLines(before, before.replace("line 20\n", "line twenty\n"));
    expect(lines).toEqual([
      17,
      ...[17, 18, 19].map((at) => ({ sign: " ", text: `line ${at}` })),
      { sign: "-", text: "line 20" },
      { sign: "+", text: "line twenty" },
      ...[21, 22, 23].map((at) => ({ sign: " ", text: `line ${at}` })),
      16,
    ]);
  });

  it("are all of a new and of an emptied text", () => {
    expect(changedLines("", "a\nb\n")).toEqual([
      { sign: "+", text: "a" },
      { sign: "+", text: "b" },
    ]);
    expect(changedLines("a\n", "")).toEqual([{ sign: "-", text: "a" }]);
  });

  it("are not worked out where nearly all of very long texts differs", () => {
    const other = Array.from({ length: 5000 }, (_, at) => `other ${at}\n`).join("");
    expect(changedLines(numbered(5000), other)).toBeNull();
  });
});
