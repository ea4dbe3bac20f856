/** A recipe asks for what it needs first, in the order of its words, and says itself with values in place. */
import { describe, expect, it } from "vitest";
import type { RecipeRow } from "../types.ts";
import { ordered, paramsInOrder, wordsWith } from "./asked.ts";

const param = (optional: boolean) => ({ type: "text", title: "", optional, default: null, needs: [], spoken: false });
const BACKUP = {
  params: { folder: param(false), into: param(true), keep: param(true), source: param(false), target: param(false) },
  phrases: ["back up {folder} of {source} to {target}", "back up {folder} of {source} to {target}, keep {keep}"],
} as unknown as RecipeRow;

describe("paramsInOrder", () => {
  it("puts what must be given first, as the words name it", () => {
    expect(paramsInOrder(BACKUP).map(([name]) => name)).toEqual(["folder", "source", "target", "keep", "into"]);
  });
});

describe("ordered", () => {
  it("keeps values without a place behind the others", () => {
    expect(Object.keys(ordered({ other: 1, b: 2, a: 3 }, { a: 0, b: 0, c: 0 }))).toEqual(["a", "b", "other"]);
  });
});

describe("wordsWith", () => {
  it("takes the words that name the most values", () => {
    const values = { folder: "Tax", source: "laptop", target: "box", keep: "7" };
    expect(wordsWith(BACKUP.phrases ?? [], values)).toBe("back up Tax of laptop to box, keep 7");
    expect(wordsWith(BACKUP.phrases ?? [], { folder: "Tax" })).toBe("");
  });
});
