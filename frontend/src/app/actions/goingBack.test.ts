import { describe, expect, it } from "vitest";
import type { TaskView } from "../../model/tasks/selectors.ts";
import type { Head, Version } from "../../model/types.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { takeBack, undoneBy, undoWork } from "./goingBack.ts";

const version = (number: number, trigger = "edit"): Version =>
  ({ number, trigger, author: "person:ann", at_ms: 0 }) as Version;
const head = { id: "c1", state: "active" } as Head;
const offered = (one: Version, all: Version[]) => takeBack({} as Workspace, head, one, all)?.label ?? null;

describe("undoing a version", () => {
  it("is offered until a later version has done it, and again when that one is undone", () => {
    const [two, three, four] = [version(2), version(3, "undo:2"), version(4, "undo:3")];
    expect(offered(two, [version(1), two])).toBe("Undo v2");
    expect([undoneBy(2, [two, three]), offered(two, [two, three])]).toEqual([3, null]);
    expect([undoneBy(2, [two, three, four]), offered(two, [two, three, four])]).toEqual([null, "Undo v2"]);
    expect(offered(three, [two, three, four])).toBeNull();
  });

  it("says that it worked", () => {
    expect(takeBack({} as Workspace, head, version(2), [])?.said).toMatch(/^v2 is undone/);
  });
});

describe("undoing work", () => {
  const stored = (undo: object, value: object) =>
    ({
      id: "store",
      name: "store",
      deviceName: "Speicher",
      spec: { id: "store", undo },
      record: { state: "succeeded" },
      attempt: { value: JSON.stringify(value) },
    }) as unknown as TaskView;
  const asked = (view: TaskView) => undoWork({} as Workspace, head, [view], view)?.asks;

  it("says how many files go into which trash", () => {
    const undo = { args: "{}", outputs: { paths: "/added" }, tool: "fs.trash" };
    expect(asked(stored(undo, { added: ["a", "b"] }))).toBe(
      "It puts 2 files of store into the trash of Speicher; from there they can be taken back.",
    );
    expect(asked(stored(undo, {}))).toContain("the files of store into the trash of Speicher");
  });

  it("counts the files of all tasks for the trash of each device", () => {
    const undo = { args: "{}", outputs: { paths: "/added" }, tool: "fs.trash" };
    const views = ["folders", "copy.0", "copy.1"].map((id, at) => {
      const made = stored(undo, { added: Array(at).fill("a") });
      return { ...made, id, name: id, deviceName: at === 2 ? "nas" : "Speicher" } as TaskView;
    });
    expect(undoWork({} as Workspace, { id: "c1", state: "succeeded" } as Head, views, null)?.asks).toBe(
      "It puts 1 file of folders, copy.0 into the trash of Speicher, 2 files of copy.1 into the trash of nas; " +
        "from there they can be taken back.",
    );
  });

  it("says why a move that was found done has no way back, and leaves it out of the undo of all", () => {
    const moved = (id: string, put_back: string[]) => {
      const made = stored({ args: "{}", outputs: { put_back: "/put_back" }, tool: "fs.restore" }, { put_back });
      return { ...made, id, name: id } as TaskView;
    };
    const [found, done] = [moved("found", []), moved("done", ["t-1"])];
    const ended = { id: "c1", state: "succeeded" } as Head;
    const undo = (all: TaskView[], task: TaskView | null) => undoWork({} as Workspace, ended, all, task);
    expect(undo([found], found)?.why).toContain("nothing to put back");
    expect(undo([done], done)?.why).toBeNull();
    expect(undo([found], null)).toBeNull();
    expect(undo([found, done], null)?.deed).toBe("Undo done");
  });

  it("counts the files that came with an unpacked folder, and claims no number where they were not counted", () => {
    const undo = { args: "{}", outputs: { paths: "/added" }, tool: "fs.trash" };
    const unpacked = { path: "out", folder: true, holds: "1" };
    expect(asked(stored(undo, { added: [{ ...unpacked, files: 11 }] }))).toContain("11 files of");
    expect(asked(stored(undo, { added: [unpacked] }))).toContain("the files of");
  });

  it("is offered for work that was stopped in the middle, unless that began nothing or is taken back", () => {
    const copy = (attempt: object, state = "cancelled") =>
      ({
        ...stored({}, {}),
        spec: { id: "store", tool: "fs.copy" },
        record: { state },
        attempt: { effect: "maybe", end: "interrupted", started_ms: 1, ...attempt },
      }) as unknown as TaskView;
    expect(asked(copy({}))).toBe(
      "store was stopped in the middle: the files changed until then are taken back, as the device noted them.",
    );
    expect(asked(copy({ end: null }, "failed"))).toContain("stopped in the middle");
    expect([copy({ effect: "none" }), copy({ started_ms: 0 }), copy({}, "skipped")].map(asked)).toEqual(
      Array(3).fill(undefined),
    );
    const undo = { ...copy({}), id: "undo-store", record: { state: "succeeded" }, spec: { undoes: "store" } };
    expect(undoWork({} as Workspace, head, [copy({}), undo as unknown as TaskView], copy({}))).toBeNull();
  });

  it("counts files, and not the folders that a call made for them", () => {
    const added = [
      { path: "In", folder: true, on_way: true },
      { path: "In/a", wrote: "1" },
    ];
    expect(asked(stored({ args: "{}", outputs: { paths: "/added" }, tool: "fs.trash" }, { added }))).toContain(
      "1 file of",
    );
  });

  it("is offered for a call whose tool has a way back, and not where the task does more than that", () => {
    const written = (more: object) => {
      const made = stored({}, { added: ["a"] });
      return { ...made, spec: { id: "store", tool: "fs.write", ...more } } as unknown as TaskView;
    };
    expect(asked(written({}))).toContain("1 file of store into the trash");
    expect(asked(written({ tool: "fs.trash" }))).toBe(
      "It brings the files of store back from the trash of Speicher, to where they were.",
    );
    expect(asked(written({ tool: "fs.move" }))).toBe(
      "It moves back what store moved, where nobody has changed it since.",
    );
    expect(asked(written({ tool: "fs.restore" }))).toBeUndefined();
    expect(asked(written({ any_of: [{ tool: "fs.copy", args: "{}" }] }))).toBeUndefined();
  });

  it("is offered for saved files, unless one call could not take back all that the task did", () => {
    const saved = (more: object) => {
      const spec = { id: "store", files_out: [{ output: "/x", to: "x" }], ...more };
      return { ...stored({}, { added: ["a"] }), spec } as unknown as TaskView;
    };
    for (const tool of ["python.run", "fs.write"])
      expect(asked(saved({ tool }))).toContain("1 file of store into the trash");
    for (const tool of ["fs.move", "fs.trash"]) expect(asked(saved({ tool }))).toBeUndefined();
    const own = { args: "{}", outputs: {}, tool: "http.post" };
    expect(asked(saved({ tool: "python.run", undo: own }))).toBe(
      "It runs http.post for store, which cannot be undone itself.",
    );
  });

  it("says which call runs where that is no trash", () => {
    const undo = { args: "{}", outputs: {}, tool: "http.post" };
    expect(asked(stored(undo, {}))).toBe("It runs http.post for store, which cannot be undone itself.");
  });
});
