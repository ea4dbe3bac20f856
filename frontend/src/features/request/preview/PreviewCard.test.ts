import { describe, expect, it } from "vitest";
import type { TaskPreviewRow } from "../../../model/types.ts";
import { askedWords, heldWords, isTyped, ruleWords, tasksNow, unaskedWords } from "./PreviewCard.tsx";

const task = (id: string, more: Partial<TaskPreviewRow> = {}) =>
  ({ id, each: null, goal: null, ...more }) as TaskPreviewRow;

describe("the count of a preview", () => {
  it("is that of the constellation when it begins: groups and goals are counted apart", () => {
    const tasks = [task("list"), task("copy", { each: "folders" }), task("tell"), task("find", { goal: "find it" })];
    expect(tasksNow({ tasks })).toBe("2 tasks now; copy repeats for each item found");
    expect(tasksNow({ tasks: [task("list", { each: "turn 1 of 3" })] })).toBe("1 task now");
  });
});

describe("a plan without an approval", () => {
  it("says that it asks a person on its way", () => {
    expect(unaskedWords({ tasks: [task("list"), task("vote", { judged: true, person: "which one?" })] })).toBe(
      "Runs without asking",
    );
    expect(unaskedWords({ tasks: [task("list"), task("ask", { person: "move them?" })] })).toBe(
      "Starts without asking, then asks a person",
    );
  });
});

describe("a rule of a plan", () => {
  it("is said with the calls that it may add", () => {
    const rule = { name: "late", task: "copy", reason: "the copy failed", calls: ["tell: notify"] };
    expect(ruleWords(rule)).toBe("Rule late after copy: the copy failed. It may run tell: notify.");
    expect(ruleWords({ ...rule, task: null, calls: [] })).toBe("Rule late: the copy failed.");
  });
});

describe("what holds a plan", () => {
  it("is named with the first tasks that wait for it, and is not there where nothing is missing", () => {
    expect(heldWords({})).toBe("");
    expect(heldWords({ held: [] })).toBe("");
    expect(heldWords({ held: ["look"] })).toBe("Held until somebody gives what is missing: look");
    expect(heldWords({ held: ["a", "b", "c", "d", "e"] })).toBe(
      "Held until somebody gives what is missing: a, b, c and 2 more",
    );
  });
});

describe("who answers a question", () => {
  it("is a judge where the plan names one", () => {
    expect(askedWords({ person: "Which is best?", judged: true })).toBe("asks a judge");
    expect(askedWords({ person: "Go on?", judged: false })).toBe("asks a person");
    expect(askedWords({ person: null, judged: false })).toBe("");
  });
});

describe("a way to give a grant", () => {
  it("is a line to type where it begins with the agent's program", () => {
    expect(isTyped("starloom-agent grant files:read ~/Papers")).toBe(true);
    expect(isTyped("'/home/a b/bin/starloom-agent' grant files:read")).toBe(true);
    expect(isTyped("Camera is switched off on this device; open its page and switch it on")).toBe(false);
    expect(isTyped("the join code allowed less; type there: starloom-agent leave, and join again")).toBe(false);
  });
});
