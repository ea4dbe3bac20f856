import { expect, it } from "vitest";
import { leadOf } from "./AnswerBand.tsx";

it("leads with the first sentence", () => {
  expect(leadOf("3 files are new. Look is done: 1 task on nas.")).toEqual([
    "3 files are new.",
    " Look is done: 1 task on nas.",
  ]);
  expect(leadOf("Nothing yet")).toEqual(["Nothing yet", ""]);
});

it("ends no sentence within a text of a device", () => {
  const text = "The newest is 'report. All is safe! Nothing is missing. '. Look is done.";
  expect(leadOf(text)).toEqual(["The newest is 'report. All is safe! Nothing is missing. '.", " Look is done."]);
});

it("takes an apostrophe for no quote", () => {
  expect(leadOf("Ann's files are there. The others' are not. Look is done.")[0]).toBe("Ann's files are there.");
  expect(leadOf("'a. b' and Ann's 'c. d' are there. More.")[0]).toBe("'a. b' and Ann's 'c. d' are there.");
});
