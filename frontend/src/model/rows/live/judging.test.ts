import { describe, expect, it } from "vitest";
import type { Fields } from "../document.ts";
import { isReviewedAt, judgeOf, removed, renamed, withJudge, withReviewAt } from "../edit.ts";
import { changesOf, rebased } from "./changes.ts";

const PLAN: Fields = {
  tasks: [
    { id: "a", tool: "t.pure" },
    { id: "b", tool: "t.pure" },
  ],
  policy: { partial: true, review_at: ["a"] },
};

describe("a point of review", () => {
  it("comes, goes and follows its row", () => {
    const both = withReviewAt(PLAN, "b", true);
    expect(both.policy).toEqual({ partial: true, review_at: ["a", "b"] });
    expect(withReviewAt(both, "b", false)).toEqual(PLAN);
    expect(renamed(PLAN, "a", "first").policy).toEqual({ partial: true, review_at: ["first"] });
    expect(removed(PLAN, "a").policy).toEqual({ partial: true });
    expect(removed(withReviewAt({ tasks: PLAN.tasks ?? [] }, "a", true), "a")).not.toHaveProperty("policy");
  });

  it("is an edit of the policy, and is kept over a newer plan", () => {
    const draft = withReviewAt(PLAN, "b", true);
    expect(changesOf(PLAN, draft).operations).toEqual([{ set_policy: { partial: true, review_at: ["a", "b"] } }]);
    const newer = { ...PLAN, tasks: [...(PLAN.tasks as Fields[]), { id: "c", tool: "t.pure" }] };
    expect(isReviewedAt(rebased(PLAN, draft, newer), "b")).toBe(true);
    expect(rebased(PLAN, PLAN, newer).policy).toEqual(PLAN.policy);
  });
});

describe("a question to a judge", () => {
  it("keeps what becomes of an unclear verdict, and goes with its text", () => {
    expect(withJudge({ id: "a" }, "Is it so?")).toEqual({ id: "a", judge: "Is it so?" });
    const strict = { id: "a", judge: { question: "Old?", unclear: "fail" } };
    expect(judgeOf(strict)).toBe("Old?");
    expect(withJudge(strict, "New?").judge).toEqual({ question: "New?", unclear: "fail" });
    expect(withJudge(strict, "")).toEqual({ id: "a" });
  });
});
