import { describe, expect, it } from "vitest";
import { StreamModel } from "../stream/stream.ts";
import type { Sketch, TaskSpec } from "../types.ts";
import { lookWords, sketchNow, sketchWords, thinkingLines, writingNow } from "./thinking.ts";

const fleet = new StreamModel("fleet");
fleet.readSnapshot({ seq: 1, entities: { "device/d-1": { id: "d-1", name: "attic" } } });

const HEAD = { id: "c1", state: "planning", version: 0, request: "count" };
const JOB = { id: "plan-1", kind: "plan", opened_ms: 1000, claimed_by: "w", expires_ms: 20_000, state: "open" };
const SKETCH: Sketch = { call: 1, job: "plan-1", since_ms: 2000, worker: "w", kind: "plan", tasks: [{ id: "a" }] };

function stream(entities: Record<string, object>, sketch: Sketch | null = SKETCH): StreamModel {
  const model = new StreamModel("c1");
  model.readSnapshot({ seq: 1, entities: entities as never });
  if (sketch) model.readBeside([{ about: "sketch/plan-1", kind: "sketch", stream: "c1", value: sketch }]);
  return model;
}
const planning = (job: object = {}, head: object = {}) =>
  stream({ head: { ...HEAD, ...head }, "job/plan-1": { ...JOB, ...job } });

describe("the sketch of a plan", () => {
  it("is shown while its job is open and claimed by its worker", () => {
    expect(sketchNow(planning(), 3000)).toEqual(SKETCH);
  });
  it("ends with the claim, with the job, with another worker and with the planning", () => {
    expect(sketchNow(planning(), 20_000)).toBeNull();
    expect(sketchNow(planning({ state: "done" }), 3000)).toBeNull();
    expect(sketchNow(planning({ claimed_by: "other" }), 3000)).toBeNull();
    expect(sketchNow(planning({ claimed_by: null }), 3000)).toBeNull();
    expect(sketchNow(planning({}, { state: "active", version: 1 }), 3000)).toBeNull();
    expect(sketchNow(stream({ head: HEAD }), 3000)).toBeNull();
  });
});

describe("what a model writes behind the plan", () => {
  const answering = { ...JOB, id: "answer-1", kind: "answer" };
  const words: Sketch = {
    call: 1,
    job: "answer-1",
    since_ms: 2000,
    worker: "w",
    kind: "answer",
    answer: "Nord [1] has {1",
  };
  const running = (job: object, sketch: Sketch | null = words) =>
    stream({ head: { ...HEAD, state: "active", version: 1 }, "job/answer-1": { ...answering, ...job } }, sketch);

  it("is the answer, word by word, without cites and places", () => {
    expect(writingNow(running({}), 3000)).toEqual({
      line: "Writing the answer …",
      words: "Nord has …",
      ms: 1000,
      size: "",
    });
    expect(sketchNow(running({}), 3000)).toBeNull();
  });
  it("is a line where nothing is streamed, and nothing once the job is over", () => {
    expect(writingNow(running({}, null), 3000)).toMatchObject({ line: "Writing the answer …", words: "", ms: 2000 });
    expect(writingNow(running({ state: "done" }), 3000)).toBeNull();
    expect(writingNow(running({}), 20_000)).toBeNull();
    expect(writingNow(running({ claimed_by: "other" }), 3000)?.words).toBe("");
  });
  it("is a review by what it comes to", () => {
    const review = { ...words, kind: "edit", answer: "" };
    expect(writingNow(running({ kind: "review" }, review), 3000)?.line).toBe("Writing a change of the plan");
    expect(writingNow(running({ kind: "review" }, null), 3000)?.line).toBe("Reviewing what has ended");
  });
});

describe("the lines of a planner", () => {
  const lines = (model: StreamModel, now = 3000) =>
    thinkingLines(model, fleet, now).map(({ text, mark }) => `${mark}: ${text}`);

  it("begin with a worker and the request", () => {
    const job = { ...JOB, claimed_by: null, expires_ms: 0 };
    expect(lines(stream({ head: HEAD, "job/plan-1": job }, null))).toEqual(["now: Waits for a worker"]);
    expect(lines(stream({ head: HEAD, "job/plan-1": JOB }, null))).toEqual(["now: Reads the request"]);
    expect(lines(planning(), 20_001)).toEqual(["now: Waits for a worker"]);
  });
  it("say what is written, with its time and size", () => {
    const model = stream({ head: HEAD, "job/plan-1": JOB }, { ...SKETCH, chars: 1400 });
    expect(thinkingLines(model, fleet, 3500)).toEqual([
      { key: "plan-1 now", mark: "now", ms: 1500, size: "1,400 characters", text: "Writes the plan: 1 task so far" },
    ]);
    const counted = stream({ head: HEAD, "job/plan-1": JOB }, { ...SKETCH, chars: 1400, tokens: 300 });
    expect(thinkingLines(counted, fleet, 3500)[0]?.size).toBe("300 tokens");
  });
  it("have each call and look of the log, in order", () => {
    const look = { round: 1, at_ms: 2000, why: "to know the size", tasks: ["look-1-1", "look-1-2"] };
    const model = stream(
      {
        head: HEAD,
        "job/plan-1": { ...JOB, state: "done", look },
        "job/plan-2": { ...JOB, id: "plan-2", opened_ms: 5000 },
        "call/plan-1/1": {
          job: "plan-1",
          number: 1,
          asked_ms: 1200,
          took_ms: 800,
          output_tokens: 40,
          stage: "planning",
        },
        "spec/look-1-1": {
          id: "look-1-1",
          tool: "disk.usage",
          args: '{"path":"Photos"}',
          device: { id: "d-1" },
          look: 1,
        },
        "task/look-1-1": { state: "succeeded", attempt: 1 },
        "attempt/look-1-1/1": { leased_ms: 2000, started_ms: 2100, ended_ms: 2400 },
        "spec/look-1-2": { id: "look-1-2", tool: "odd.tool", args: "{}", device: { id: "d-1" }, look: 1 },
        "task/look-1-2": { state: "failed", attempt: 1 },
        "attempt/look-1-2/1": { leased_ms: 2000, started_ms: 2100, ended_ms: 2200 },
      },
      { ...SKETCH, job: "plan-2", kind: "", tasks: [], thought_chars: 9 },
    );
    expect(lines(model, 6000)).toEqual([
      "done: Looks first: to know the size",
      "done: Looks at the size of Photos on attic",
      "failed: Looks: odd.tool on attic: failed",
      "now: Thinks about the request",
    ]);
    expect(thinkingLines(model, fleet, 6000).map((line) => line.ms)).toEqual([800, 300, 100, 4000]);
  });
  it("tell an answer that is being checked, and one that is asked for again", () => {
    const call = { job: "plan-1", number: 1, asked_ms: 1, took_ms: 5, stage: "planning" };
    const checked = stream({ head: HEAD, "job/plan-1": JOB, "call/plan-1/1": call });
    expect(lines(checked)).toEqual(["done: Answered, and is asked again", "now: Checks the answer"]);
    const again = stream({ head: HEAD, "job/plan-1": JOB, "call/plan-1/1": call }, { ...SKETCH, call: 2 });
    expect(lines(again)).toEqual(["done: Answered, and is asked again", "now: Writes the plan: 1 task so far"]);
  });
  it("tell a question with its answer, and a call without an answer", () => {
    const model = stream({
      head: HEAD,
      "job/plan-1": { ...JOB, state: "done" },
      "job/plan-2": { ...JOB, id: "plan-2", opened_ms: 9000 },
      "call/plan-1/1": { job: "plan-1", number: 1, asked_ms: 1, took_ms: 5, stage: "planning", fault: "it hung up" },
      "call/plan-1/2": { job: "plan-1", number: 2, asked_ms: 6, took_ms: 5, stage: "planning" },
      "question/plan-question-1": {
        id: "plan-question-1",
        kind: "planner",
        text: "Which?",
        answer: "Photos",
        opened_ms: 20,
      },
    });
    expect(lines(model)).toEqual([
      "failed: Got no answer: it hung up",
      "done: Asked: Which? Answer: Photos",
      "now: Reads the request",
    ]);
  });
});

describe("a question that is open", () => {
  it("is said, and nothing else goes on", () => {
    const model = stream({
      head: HEAD,
      "job/plan-1": { ...JOB, state: "done" },
      "call/plan-1/1": { job: "plan-1", number: 1, asked_ms: 6, took_ms: 5, stage: "planning" },
      "question/plan-question-1": { id: "plan-question-1", kind: "planner", text: "Which?", opened_ms: 20 },
    });
    expect(thinkingLines(model, fleet, 3000).map((line) => line.text)).toEqual(["Asks you, and waits for your answer"]);
  });
});

describe("words", () => {
  const words = (tool: string, args: object = {}) =>
    lookWords({ id: "l", tool, args: JSON.stringify(args), device: { id: "d-1" } } as TaskSpec, fleet);

  it("of a look are plain, whatever the tool is called", () => {
    expect(words("fs.list", { path: "Photos" })).toBe("Lists Photos on attic");
    expect(words("system.info")).toBe("Looks at the machine on attic");
    expect(words("__proto__")).toBe("Looks: __proto__ on attic");
    expect(words("constructor", { path: "x".repeat(90) })).toBe(`Looks: constructor, ${"x".repeat(60)}… on attic`);
  });
  it("of an answer follow its kind", () => {
    const of = (more: Partial<Sketch>) => sketchWords({ ...SKETCH, tasks: [], ...more });
    expect(of({})).toBe("Begins to write the plan");
    expect(of({ tasks: [{ id: "a" }], left_out: 9 })).toBe("Writes the plan: 10 tasks so far");
    expect(of({ kind: "look", looks: [{ tool: "t" }] })).toBe("Chooses where to look first: 1 look so far");
    expect(of({ kind: "recipe", words: "echo" })).toBe("Takes the recipe echo");
    expect(of({ kind: "question" })).toBe("Writes a question to you");
    expect(of({ kind: "", chars: 3 })).toBe("Begins to write");
    expect(of({ kind: "" })).toBe("Reads the request");
  });
});
