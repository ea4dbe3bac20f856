import { describe, expect, it } from "vitest";
import type { ActivityRow } from "../../model/types.ts";
import { deedText, filesText, stretches, stretchText, whoDid } from "./deeds.ts";

const deed = (more: Partial<ActivityRow>): ActivityRow => ({
  pos: 1,
  stream: "c-1",
  seq: 1,
  at: "2026-11-25T10:00:00Z",
  by: "device:d-1",
  by_name: "",
  kind: "task_succeeded",
  category: "work",
  about: "tell",
  about_name: "",
  note: "",
  stream_name: "",
  files: [],
  files_count: 0,
  ...more,
});
const names = (id: string) => (id === "d-1" ? "wolke7" : id);
const said = (more: Partial<ActivityRow>) => deedText(deed(more), names).text;

describe("a deed in words", () => {
  it("names the task in its sentence", () => {
    expect(said({})).toBe("finished \u201ctell\u201d");
    expect(said({ kind: "task_retried", by: "engine" })).toBe("retried \u201ctell\u201d");
    expect(said({ kind: "task_failed" })).toBe("failed at \u201ctell\u201d");
  });
  it("names its author by name, and the parts of the hub as the hub", () => {
    expect(whoDid(deed({}), names)).toBe("wolke7");
    expect(whoDid(deed({ by: "expand", by_name: "the hub" }), names)).toBe("the hub");
    expect(whoDid(deed({ by: "person:ines#t-1", by_name: "ines" }), names)).toBe("ines");
  });
  it("names a few of the files that it changed", () => {
    expect(filesText([deed({})])).toBe("");
    expect(filesText([deed({ files: ["a", "b"], files_count: 2 })])).toBe("changed a, b");
    const many = [deed({ files: ["a", "b"], files_count: 9 }), deed({ files: ["c", "d"], files_count: 2 })];
    expect(filesText(many)).toBe("changed a, b, c and 8 more");
  });
  it("puts the name of a task in quotes, and no device or person", () => {
    expect(said({ kind: "task_skipped", about: "after", by: "engine" })).toBe("skipped \u201cafter\u201d");
    expect(said({ kind: "device_drain", category: "devices", about: "d-1", by: "engine" })).not.toContain("\u201c");
  });
  it("leaves out ids that say nothing", () => {
    expect(said({ kind: "request_accepted", category: "plans", about: "c-xyz" })).toBe("asked for a constellation");
    expect(said({ kind: "schedule_fired", category: "schedules", about: "s-xyz" })).toBe("ran the schedule");
    expect(said({ kind: "approval_asked", category: "approvals", about: "approve-plan" })).toBe("asked for approval");
    expect(said({ kind: "approval_asked", category: "approvals", about: "approve-plan-2" })).toBe("asked for approval");
    expect(said({ kind: "recovery_asked", category: "approvals", about: "" })).toBe("asked how to go on");
  });
  it("names a device once", () => {
    expect(said({ kind: "device_online", category: "devices", about: "d-1" })).toBe("came online");
    expect(said({ kind: "device_online", category: "devices", about: "d-1", by: "engine" })).toBe(
      "came online: wolke7",
    );
    const silent = { kind: "device_offline", category: "devices", about: "d-1", by: "engine" } as const;
    expect(said({ ...silent, by_name: "wolke7" }), "noted by the hub").toBe("went offline");
    expect(said({ kind: "device_drain", category: "devices", about: "d-1", by: "person:ann" })).toBe("drained wolke7");
    expect(said({ kind: "device_joined", category: "devices", about: "d-1" })).toBe("joined");
    expect(said({ kind: "device_joined", category: "devices", about: "d-1", by: "person:ann" })).toBe(
      "let wolke7 join",
    );
  });
  it("names a proposed recipe by its title, and shows the id of none", () => {
    const about = "47bd".repeat(6);
    const proposed = { kind: "recipe_proposed", category: "recipes", about, by: "engine" } as const;
    expect(said(proposed)).toBe("proposed a recipe");
    expect(said({ ...proposed, about_name: "Copy notes" })).toBe("proposed a recipe: Copy notes");
  });
  it("names a secret, and no other id of access", () => {
    expect(said({ kind: "secret_set", category: "access", about: "db-key", by: "person:ann" })).toBe(
      "set the secret db-key",
    );
    expect(said({ kind: "token_added", category: "access", about: "t-1", by: "person:ann" })).toBe("made a token");
    expect(
      said({ kind: "token_added", category: "access", about: "t-1", about_name: "bo (viewer)", by: "person:ann" }),
    ).toBe("made a token: bo (viewer)");
  });
});

describe("work of one constellation in the record", () => {
  const work = (kind: string, seq: number, more: Partial<ActivityRow> = {}) => deed({ kind, seq, ...more });
  const run = [
    work("task_succeeded", 8),
    work("task_failed", 7, { about: "send" }),
    work("task_started", 6),
    work("task_leased", 5, { by: "engine" }),
  ];
  it("is one line where four deeds follow each other", () => {
    const [first, ...rest] = stretches(run);
    expect(first).toEqual(run);
    expect(rest).toEqual([]);
  });
  it("stands alone where there are few of them, or something else came between", () => {
    expect(stretches(run.slice(1)).map((one) => one.length)).toEqual([1, 1, 1]);
    const between = deed({ kind: "plan_edited", category: "plans" });
    expect(stretches([...run.slice(0, 2), between, ...run.slice(2)]).map((one) => one.length)).toEqual([1, 1, 1, 1, 1]);
  });
  it("never mixes two constellations, and loses no deed", () => {
    const other = run.map((one) => ({ ...one, stream: "c-2" }));
    const found = stretches([...run, ...other]);
    expect(found.map((one) => one.length)).toEqual([4, 4]);
    expect(found.flat()).toEqual([...run, ...other]);
  });
  it("tells how its tasks ended and where, with the mark of the worst", () => {
    const [first] = stretches(run);
    expect(first && stretchText(first, names)).toEqual({
      glyph: "cross",
      tone: "vermilion",
      text: "1 task failed, 1 finished",
      who: "wolke7",
    });
  });
  it("names all devices where there are several", () => {
    const [first] = stretches([work("task_succeeded", 9, { by: "device:d-2" }), ...run]);
    expect(first && stretchText(first, names)).toMatchObject({
      who: "2 devices",
      text: "1 task failed, 2 finished, on d-2, wolke7",
    });
  });
  it("tells what began where nothing has ended", () => {
    const [first] = stretches([1, 2, 3, 4].map((seq) => work("task_started", seq)));
    expect(first && stretchText(first, names).text).toBe("4 tasks begun");
  });
});

describe("a deed of a person about that person", () => {
  it("does not name the person again", () => {
    expect(said({ kind: "signed_in", category: "access", about: "p-1", about_name: "ann", by: "person:ann#t1" })).toBe(
      "signed in",
    );
  });
});
