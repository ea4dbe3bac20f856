import { describe, expect, it } from "vitest";
import type { TaskView } from "../tasks/selectors.ts";
import { Tally } from "../tasks/tally.ts";
import type { Answer, Head, Reason, TaskState } from "../types.ts";
import { presentation } from "../words/presentation.ts";
import { headShown, roundBeganMs, sentenceNow } from "./soFar.ts";

const head = (more: Partial<Head>): Head => ({ name: "Copy", state: "active", ...more }) as Head;
const view = (id: string, state: TaskState, more: { reason?: Reason; device?: string; detail?: string } = {}) =>
  ({
    id,
    name: id,
    spec: { id },
    record: { state, since_ms: 1 },
    attempt: { detail: more.detail },
    deviceName: more.device ?? "",
    shown: presentation(state, more.reason),
  }) as unknown as TaskView;
const tallied = (views: readonly TaskView[]): Tally => new Tally().of(views);
const FAILED: Answer = { items: [], sentence: "Copy failed: 0 of 3 tasks succeeded.", state: "final" };

describe("the sentence", () => {
  it("has the counts of this moment while it runs, whatever the last answer said", () => {
    const views = [view("a", "succeeded", { device: "nas" }), view("b", "running"), view("c", "waiting")];
    const partial: Answer = { items: [], sentence: "Copy: 0 of 3 tasks done so far.", state: "partial" };
    expect(sentenceNow(head({}), partial, tallied(views))).toBe("Copy: 1 of 3 tasks done so far on nas.");
  });

  it("tells many failures by cause, the most frequent first", () => {
    const failed = ["disk", "loss at 3", "loss at 14", "loss at 15"].map((detail, at) =>
      view(`run.${at}`, "failed", { detail }),
    );
    expect(sentenceNow(head({}), FAILED, tallied(failed))).toBe(
      "Copy: 0 of 4 tasks done so far. Causes of 4 failures: loss at 3 (3, run.1 first); disk (run.0).",
    );
    const alike = [1, 2, 3].map((at) => view(`run.${at}`, "failed", { detail: `run.${at}: no GPU` }));
    expect(sentenceNow(head({}), FAILED, tallied(alike))).toContain("run.1 failed: run.1: no GPU; 2 more failed.");
  });

  it("forgets a failure that is tried again", () => {
    const failed = view("a", "failed", { detail: "no room.\nline two" });
    expect(sentenceNow(head({}), FAILED, tallied([failed]))).toBe("Copy: 0 of 1 task done so far. a failed: no room.");
    expect(sentenceNow(head({}), FAILED, tallied([view("a", "running")]))).toBe("Copy: 0 of 1 task done so far.");
  });

  it("says that there is no plan yet while looks go on", () => {
    const looking = head({ name: "", state: "looking" });
    expect(sentenceNow(looking, undefined, tallied([view("look-1-1", "running")]))).toBe(
      "There is no plan yet. 1 look so far; a look only reads.",
    );
    expect(
      sentenceNow(
        { ...looking, version: 1, state: "active", name: "Copy" },
        undefined,
        tallied([view("a", "running")]),
      ),
    ).toBe("Copy: 0 of 1 task done so far.");
  });

  it("is the hub's once it has ended", () => {
    expect(sentenceNow(head({ state: "failed" }), FAILED, tallied([view("a", "failed")]))).toBe(FAILED.sentence);
  });
});

describe("the pill", () => {
  it("says which part was checked, and that an answer is an alarm", () => {
    const done = head({ state: "succeeded" });
    const ended = (id: string, checked: boolean) => {
      const made = view(id, "succeeded");
      return { ...made, record: { ...made.record, checked }, spec: { id, checks: checked ? [{}] : [] } } as TaskView;
    };
    const some = tallied([ended("a", true), ended("b", false), ended("c", false)]);
    expect(headShown(done, some)).toMatchObject({ word: "Done, 1 of 3 checked", glyph: "tick" });
    expect(headShown(done, tallied([ended("a", true)]))).toMatchObject({ word: "Done, checked", glyph: "double_tick" });
    expect(headShown(done, some, { alarm: true })).toMatchObject({ word: "Done, alarm raised", glyph: "alarm" });
    expect(headShown(head({ state: "failed" }), some, { alarm: true }).word).toBe("Failed");
  });

  it("says that done work was taken back, in part or whole", () => {
    const done = head({ state: "succeeded" });
    const work = (id: string, spec: object) => ({ ...view(id, "succeeded"), spec: { id, ...spec } }) as TaskView;
    const [copy, send] = [work("copy", { undo: { tool: "fs.trash" } }), work("send", { undo: { tool: "fs.trash" } })];
    const back = work("undo-copy", { undoes: "copy" });
    expect(headShown(done, tallied([copy, send])).word).toBe("Done");
    expect(headShown(done, tallied([copy, send, back])).word).toBe("Partly taken back");
    expect(headShown(done, tallied([copy, back]))).toMatchObject({ word: "Taken back", tone: "grey" });
  });

  it("says that a person is needed where nothing else goes on", () => {
    const stuck = [view("a", "ready", { reason: "no_capable_device" })];
    expect(headShown(head({ attention: ["no_capable_device"] }), tallied(stuck)).word).toBe("Needs you");
    expect(headShown(head({ attention: ["no_capable_device"] }), tallied([...stuck, view("b", "running")])).word).toBe(
      "Running",
    );
    expect(headShown(head({}), tallied(stuck)).word).not.toBe("Running");
    expect(headShown(head({ state: "failed", attention: ["undo_failed"] }), tallied([])).word).toBe("Failed");
  });

  it("counts the time of the last round, which a retry or an undo begins", () => {
    expect(roundBeganMs(head({ created_ms: 1_000 }))).toBe(1_000);
    expect(roundBeganMs(head({ created_ms: 1_000, reopened_ms: 9_000 }))).toBe(9_000);
  });

  it("calls a request withdrawn that a person cancelled before it had a plan", () => {
    const cancelled = { state: "cancelled", cancelled_by: "person:ann" } as const;
    expect(headShown(head(cancelled), tallied([])).word).toBe("Withdrawn");
    expect(headShown(head({ ...cancelled, version: 1 }), tallied([])).word).toBe("Cancelled");
    expect(headShown(head({ ...cancelled, cancelled_by: "deadline" }), tallied([])).word).toBe("Cancelled");
  });
});
