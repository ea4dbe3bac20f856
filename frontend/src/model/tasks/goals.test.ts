import { expect, test } from "vitest";
import { StreamModel } from "../stream/stream.ts";
import type { StreamEvent, TaskSpec } from "../types.ts";
import { goalSeen, isOfGoal } from "./goals.ts";
import { allViews, counted } from "./selectors.ts";

function model(turns: unknown[], job: Record<string, unknown> = {}): StreamModel {
  const made = new StreamModel("c1");
  made.readSnapshot({ entities: {}, seq: 0 });
  const puts = {
    head: { id: "c1", author: "person:ann", created_ms: 1, name: "Why", state: "active", version: 2 },
    "spec/why": { id: "why", changed_in: 1, goal: { aim: "Find out why.", steps: 4 } },
    "group/why": { state: "expanded", since_ms: 1 },
    "spec/why.1": { id: "why.1", changed_in: 2, group: "why", tool: "fs.read", args: '{"path":"a.log"}' },
    "job/goal-1": {
      id: "goal-1",
      kind: "goal",
      opened_ms: 1,
      state: "stepping",
      tasks: ["why/1"],
      tokens: 1200,
      goal: { due_ms: 9, turns },
      ...job,
    },
  };
  made.readEvents([{ seq: 1, puts, kind: "k", stream: "c1" }] as unknown as StreamEvent[]);
  return made;
}

test("a goal shows its steps with note and call, and what was not taken", () => {
  const seen = goalSeen(
    model([
      { kind: "refused", note: "outside of the folders", at_ms: 1 },
      { kind: "step", note: "to see", tasks: ["why.1"], at_ms: 2 },
      { kind: "hint", note: "look at b", by: "person:ann", at_ms: 3 },
    ]),
    "why",
  );
  expect(seen?.spent).toBe("1 of 4 steps, 1,200 tokens");
  expect(seen?.lines.map((line) => [line.mark, line.note])).toEqual([
    ["not taken", "outside of the folders"],
    ["1", "to see"],
    ["hint", "look at b"],
  ]);
  expect(seen?.lines[1]?.calls).toEqual([{ task: "why.1", text: 'fs.read {"path":"a.log"}' }]);
  expect(seen?.open).toBe(true);
});

test("the line of an escalation names the tier that goes on, and so does the goal", () => {
  const turns = [
    { kind: "escalated", note: "3 like errors in a row", by: "engine", tier: "worker", at_ms: 1 },
    { kind: "handed", note: "who owns it?", at_ms: 2 },
  ];
  const seen = goalSeen(
    model(turns, { goal: { due_ms: 9, turns, tier: "worker", tiers: ["small", "worker"] } }),
    "why",
  );
  expect(seen?.spent).toBe("0 of 4 steps, 1,200 tokens, tier worker");
  expect(seen?.lines.map((line) => [line.mark, line.note])).toEqual([
    ["next tier", "3 like errors in a row; worker goes on"],
    ["hands over to a person", "who owns it?"],
  ]);
});

test("a goal that has ended takes no hint and says why it was not reached", () => {
  const seen = goalSeen(
    model([], { state: "done", fault: { code: "goal_unmet", reason: "a person stopped it" } }),
    "why",
  );
  expect([seen?.open, seen?.unmet]).toEqual([false, "a person stopped it"]);
});

test("only the calls and the answer of a goal are its own", () => {
  const made = model([]);
  const spec = (id: string) => made.one<TaskSpec>(`spec/${id}`) as TaskSpec;
  expect(isOfGoal(made, spec("why.1"))).toBe(true);
  expect(isOfGoal(made, spec("why"))).toBe(false);
  expect(goalSeen(made, "why.1")).toBeNull();
});

test("a goal without an answer counts as a task beside its steps", () => {
  const made = model([{ kind: "step", note: "to see", tasks: ["why.1"], at_ms: 2 }]);
  const fleet = new StreamModel("fleet");
  fleet.readSnapshot({ entities: {}, seq: 0 });
  const steps = allViews(made, fleet);
  expect(counted(made, fleet, steps).map((view) => view.id)).toEqual([...steps.map((view) => view.id), "why"]);
  made.readEvents([
    { seq: 2, puts: { "spec/why.answer": { id: "why.answer", changed_in: 3, group: "why" } }, kind: "k", stream: "c1" },
  ] as unknown as StreamEvent[]);
  const whole = allViews(made, fleet);
  expect(counted(made, fleet, whole)).toBe(whole);
});
