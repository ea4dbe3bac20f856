/** The sentence of a proposal says the person's words with the values in their slots. */
import { expect, it } from "vitest";
import { saidOf, sentenceOf } from "./proposal.ts";

it("fills the slots with the values of the plan", () => {
  const phrase = "count papers below {root} at {nas}";
  const parts = sentenceOf({ phrase, request: "x", values: { root: "Invoices", nas: { name: "nas" } } });
  expect(parts.map((part) => part.text).join("")).toBe("count papers below Invoices at nas");
  expect(parts.filter((part) => part.slot).map((part) => part.slot)).toEqual(["root", "nas"]);
  expect(new Set(parts.map((part) => part.key)).size).toBe(parts.length);
});

it("says the words as typed where they make no phrase", () => {
  expect(sentenceOf({ phrase: "", request: "do {it}", values: {} })).toEqual([{ key: "0", text: "do {it}", slot: "" }]);
});

it("says numbers and lists as they are written", () => {
  expect([saidOf(20), saidOf(["a", "b"]), saidOf("x")]).toEqual(["20", '["a","b"]', "x"]);
});

it("says a choice of devices in words", () => {
  expect(saidOf({ any: [{ name: "nas" }, { os: "linux" }, { labels: ["photos"] }] })).toBe(
    "nas or any linux device or any photos device",
  );
  expect(saidOf({ any: [{ name: "nas" }, { id: "d-1" }] })).toBe("nas or d-1");
});
