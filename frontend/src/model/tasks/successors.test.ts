import { describe, expect, it } from "vitest";
import type { TaskRecord, TaskSpec } from "../types.ts";
import { mayCountAsDone, successorsOf } from "./successors.ts";

const spec = (id: string, more: Partial<TaskSpec> = {}): TaskSpec => ({ id, tool: "t.pure", ...more }) as TaskSpec;

function model(...tasks: [TaskSpec, string][]) {
  const specs = new Map(tasks.map(([one]) => [one.id, one]));
  const records = new Map(tasks.map(([one, state]) => [one.id, { state } as TaskRecord]));
  return {
    kind: (kind: string) => (kind === "spec" ? specs : new Map()),
    of: (kind: string, id: string) => (kind === "task" ? records.get(id) : undefined),
  } as never;
}

describe("tasks that count as having done another one's work", () => {
  it("are offered for work that ended badly and is a plan's own", () => {
    expect(mayCountAsDone(spec("a"), "failed")).toBe(true);
    expect(mayCountAsDone(spec("a"), "succeeded")).toBe(false);
    expect(mayCountAsDone(spec("a", { look: 1 }), "failed")).toBe(false);
    expect(mayCountAsDone(spec("a", { person: "Yes?" }), "failed")).toBe(false);
  });

  it("have not ended badly and are on the same level, the same tool first", () => {
    const failed = spec("copy");
    const all = model(
      [failed, "failed"],
      [spec("another", { tool: "t.other" }), "waiting"],
      [spec("copy-2"), "running"],
      [spec("gone"), "skipped"],
      [spec("item", { group: "list" }), "succeeded"],
      [spec("look-1-1", { look: 1 }), "succeeded"],
      [spec("question", { person: "Yes?" }), "waiting"],
    );
    expect(successorsOf(all, failed)).toEqual(["copy-2", "another"]);
  });
});
