import { describe, expect, it } from "vitest";
import type { StreamModel } from "../stream/stream.ts";
import { findingTaken } from "./findings.ts";
import type { TaskView } from "./selectors.ts";

const finding = { at_ms: 1_000, by: "look", hash: "h", task: "look", topic: "free room" };
const model = { one: (key: string) => (key === "finding/1" ? finding : undefined) } as unknown as StreamModel;
const view = (took?: Record<string, string>) =>
  ({ record: { took, since_ms: 9_000 }, attempt: { leased_ms: 5_000 } }) as unknown as TaskView;

describe("the finding that an input took", () => {
  it("has its source and its age at the moment of the lease", () => {
    const taken = findingTaken(model, view({ rows: "1" }), "rows");
    expect(taken?.finding).toBe(finding);
    expect(taken?.age).toBe("4.0 s");
  });

  it("is none where the value of the plan stands in its place", () => {
    expect(findingTaken(model, view({ rows: "" }), "rows")).toEqual({ age: "" });
  });

  it("is not there before the task may begin", () => {
    expect(findingTaken(model, view(), "rows")).toBeUndefined();
  });
});
