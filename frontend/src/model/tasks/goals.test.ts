import { expect, test } from "vitest";
import { StreamModel } from "../stream/stream.ts";
import type { StreamEvent, TaskSpec } from "../types.ts";
import { goalSeen, isOfGoal } from "./goals.ts";
import { allViews, counted } from "./selectors.ts";

const fleet = new StreamModel("fleet");
fleet.readSnapshot({ entities: {}, seq: 0 });

function model(turns: unknown[], job: Record<string, unknown> = {}, more: Record<string, unknown> = {}): StreamModel {
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
    ...more,
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
    fleet,
    "why",
  );
  expect(seen?.spent).toBe("1 of 4 steps, 1,200 tokens");
  expect(seen?.lines.map((line) => [line.mark, line.note])).toEqual([
    ["not taken", "outside of the folders"],
    ["1", "to see"],
    ["hint", "look at b"],
  ]);
  expect(seen?.lines[1]?.calls).toEqual([{ task: "why.1", text: 'fs.read {"path":"a.log"}', card: "Waiting" }]);
  expect(seen?.open).toBe(true);
});

test("the line of an escalation names the tier that goes on, and so does the goal", () => {
  const turns = [
    { kind: "escalated", note: "3 like errors in a row", by: "engine", tier: "worker", at_ms: 1 },
    { kind: "handed", note: "who owns it?", at_ms: 2 },
  ];
  const seen = goalSeen(
    model(turns, { goal: { due_ms: 9, turns, tier: "worker", tiers: ["small", "worker"] } }),
    fleet,
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
    fleet,
    "why",
  );
  expect([seen?.open, seen?.unmet]).toEqual([false, "a person stopped it"]);
});

const CALLED = { job: "goal-1", stage: "working", model: "m" };
const ENDED = { state: "succeeded", attempt: 1, round: 1, since_ms: 3 };

test("a step shows what came back and what its turn cost", () => {
  const seen = goalSeen(
    model(
      [
        { kind: "step", note: "to see", tasks: ["why.1"], at_ms: 20 },
        { kind: "hint", note: "look at b", by: "person:ann", at_ms: 25 },
        { kind: "refused", note: "no such folder", at_ms: 40 },
      ],
      { state: "done", tokens: 1450, micros: 3100 },
      {
        "task/why.1": ENDED,
        "attempt/why.1/1": { device: "d1", end: "ok", value: '{"lines":4,"text":"  a  \\n b"}', ended_ms: 3 },
        "call/goal-1/1": { ...CALLED, number: 1, asked_ms: 10, took_ms: 800, input_tokens: 1000, output_tokens: 200 },
        "call/goal-1/2": { ...CALLED, number: 2, asked_ms: 24, took_ms: 10, input_tokens: 90, micros: 3100 },
        "call/goal-1/3": { ...CALLED, number: 3, asked_ms: 30, took_ms: 10, input_tokens: 10 },
        "call/goal-1/4": { ...CALLED, number: 4, asked_ms: 50, took_ms: 20, input_tokens: 150 },
        "call/judge-1/1": { ...CALLED, job: "judge-1", stage: "judging", asked_ms: 15, input_tokens: 9000 },
        "spec/why.answer": { id: "why.answer", changed_in: 3, group: "why" },
        "task/why.answer": { ...ENDED, attempt: 0, marked: '{"cause":"a full disk"}' },
      },
    ),
    fleet,
    "why",
  );
  expect(seen?.spent).toBe("1 of 4 steps, 1,450 tokens, 0.0031 dollars");
  expect(seen?.lines.map((line) => [line.mark, line.cost, line.calls.map((call) => call.card)])).toEqual([
    ["1", "1,200 tokens, 0.8 s", ['{"lines":4,"text":"  a  \\n b"}']],
    ["hint", "", []],
    ["not taken", "100 tokens, 0.0031 dollars, 20 ms", []],
    ["answer", "150 tokens, 20 ms", ['{"cause":"a full disk"}']],
  ]);
});

test("the head of a card is one line: the start of a long value, a file's size, or why it failed", () => {
  const card = (attempt: Record<string, unknown>, state = "succeeded") => {
    const more = {
      "task/why.1": { ...ENDED, state },
      "attempt/why.1/1": { device: "d1", ended_ms: 3, ...attempt },
    };
    const step = { kind: "step", note: "to see", tasks: ["why.1"], at_ms: 2 };
    return goalSeen(model([step], {}, more), fleet, "why")?.lines[0]?.calls[0]?.card;
  };
  expect(card({ end: "ok", value: `"${"x".repeat(500)}"` })).toBe(`"${"x".repeat(139)}…`);
  expect(card({ end: "ok", artifact: "a".repeat(64), bytes: 3200 })).toBe("a file of 3.2 kB");
  expect(card({ end: "ok", facts: { "/lines": "4" } })).toBe('{"/lines":4}');
  expect(card({ end: "error", detail: "no such file\nb", code: "file_not_found" }, "failed")).toBe(
    "Failed: no such file b",
  );
});

test("only the calls and the answer of a goal are its own", () => {
  const made = model([]);
  const spec = (id: string) => made.one<TaskSpec>(`spec/${id}`) as TaskSpec;
  expect(isOfGoal(made, spec("why.1"))).toBe(true);
  expect(isOfGoal(made, spec("why"))).toBe(false);
  expect(goalSeen(made, fleet, "why.1")).toBeNull();
});

test("a goal without an answer counts as a task beside its steps", () => {
  const made = model([{ kind: "step", note: "to see", tasks: ["why.1"], at_ms: 2 }]);
  const steps = allViews(made, fleet);
  expect(counted(made, fleet, steps).map((view) => view.id)).toEqual([...steps.map((view) => view.id), "why"]);
  made.readEvents([
    { seq: 2, puts: { "spec/why.answer": { id: "why.answer", changed_in: 3, group: "why" } }, kind: "k", stream: "c1" },
  ] as unknown as StreamEvent[]);
  const whole = allViews(made, fleet);
  expect(counted(made, fleet, whole)).toBe(whole);
});
