/** Which answers a question offers. */
import { describe, expect, it } from "vitest";
import type { Question } from "../../../model/types.ts";
import { choicesOf } from "./Questions.tsx";

const asked = (fields: Partial<Question>): string[] =>
  choicesOf({ id: "q", kind: "approval", opened_ms: 0, text: "Run it?", ...fields }).map((choice) => choice.value);

describe("the answers of a question", () => {
  it("offers `always` only where the hub named the calls that it would allow", () => {
    expect(asked({})).toEqual(["deny", "allow"]);
    expect(asked({ once_because: "its policy asks each time" })).toEqual(["deny", "allow"]);
    expect(asked({ calls: [{ task: "a", tool: "service.restart" }] })).toEqual(["deny", "always", "allow"]);
  });
  it("offers a task's own choices, or done and cannot", () => {
    expect(asked({ kind: "person" })).toEqual(["done", "cannot"]);
    expect(asked({ kind: "person", choices: [{ value: "go", label: "Go" }] })).toEqual(["go"]);
    expect(asked({ kind: "planner" })).toEqual(["answer"]);
  });
  it("offers a planner's choices beside words of one's own", () => {
    const choices = [{ value: "Photos", label: "Photos" }];
    expect(asked({ kind: "planner", choices })).toEqual(["Photos", "answer"]);
  });
});
