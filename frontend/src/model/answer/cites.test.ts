import { expect, test } from "vitest";
import { citesIn } from "./cites.ts";

test("a mark with its cite is apart from the words", () => {
  expect(citesIn("It is db [1], not web [2].", 2)).toEqual([
    { at: 0, text: "It is db ", cite: null },
    { at: 9, text: "1", cite: 0 },
    { at: 12, text: ", not web ", cite: null },
    { at: 22, text: "2", cite: 1 },
    { at: 25, text: ".", cite: null },
  ]);
});

test("a mark without its cite stays a text", () => {
  expect(citesIn("It is db [3].", 2)).toEqual([{ at: 0, text: "It is db [3].", cite: null }]);
  expect(citesIn("[0]", 2)).toEqual([{ at: 0, text: "[0]", cite: null }]);
  expect(citesIn("", 2)).toEqual([]);
});
