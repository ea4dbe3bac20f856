import { expect, test } from "vitest";
import type { FirstPrompt } from "../types.ts";
import { costWords, upTo, whereWords } from "./sharing.ts";

const PROMPT: FirstPrompt = {
  bytes: 24_310,
  dollars: 0.01234,
  host: "models.test",
  hub_share: "cards",
  local: false,
  model: "large",
  parts: [],
  share: "cards",
  tokens: 10_587,
};

test("a request shares at most what the hub does", () => {
  expect(upTo("names")).toEqual(["names"]);
  expect(upTo("cards")).toEqual(["names", "cards"]);
  expect(upTo("cards_and_file_heads")).toEqual(["names", "cards", "cards_and_file_heads"]);
});

test("the cost is told in tokens and dollars, or why not", () => {
  const size = "24,310 bytes, about 10,587 tokens with the form of an answer";
  expect(costWords(PROMPT)).toBe(`${size}, about 0.0123 dollars with a plan as the answer`);
  expect(costWords({ ...PROMPT, dollars: null })).toBe(`${size}; the price of this model is not known here`);
  expect(costWords({ ...PROMPT, dollars: 0, local: true })).toBe(
    `${size}; it costs no money, since the model is on this machine`,
  );
});

test("each host that may get the text is named", () => {
  expect(whereWords(PROMPT)).toBe("To large at models.test");
  expect(whereWords({ ...PROMPT, fallback: { host: "127.0.0.1:8", model: "tiny" } })).toBe(
    "To large at models.test, or to tiny at 127.0.0.1:8 where that cannot be reached",
  );
});
