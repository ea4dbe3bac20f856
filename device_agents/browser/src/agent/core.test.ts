/**
 * The agent's decisions, in the words of `tests/device_agents/work/test_core.py`: fences, slots, stopping, resuming. The
 * script beside that test holds both cores to the same decisions.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { dispatch, lease } from "../../dev/fakeHub.ts";
import type { LeaseRef, Resume } from "../generated/protocol.ts";
import { type Action, type AgentEvent, type AgentState, FENCES_KEPT, newState, runningRefs, step } from "./core.ts";

const order = (task: string, attempt = 1, incarnation = 1, fence_after_s = 0) =>
  dispatch("t", {}, { at: lease(task, attempt, incarnation), fence_after_s, repeatability: "idempotent" });
const kinds = (actions: Action[]) => actions.map((action) => action.a);

function holding(...tasks: string[]): AgentState {
  const state = newState(2);
  for (const task of tasks) step(state, order(task));
  return state;
}

describe("dispatches", () => {
  it("start while there are slots, and wait in order after that", () => {
    const state = newState(1);
    expect(kinds(step(state, order("a")))).toEqual(["start"]);
    expect(step(state, order("b"))).toEqual([]);
    expect(step(state, order("c"))).toEqual([]);
    expect(runningRefs(state).map((at) => at.task)).toEqual(["a", "b", "c"]);
    const [said, start] = step(state, { t: "call_ended", at: lease("a"), stopped: false });
    expect(said).toMatchObject({ a: "say_end", at: lease("a") });
    expect(start).toMatchObject({ a: "start", dispatch: { at: lease("b") } });
  });

  it("that are repeated change nothing, and those not above the fence are answered from the ledger", () => {
    const state = holding("a");
    expect(step(state, order("a"))).toEqual([]);
    for (const [attempt, incarnation] of [
      [1, 0],
      [9, 0],
      [0, 1],
    ] as const) {
      const [answer] = step(state, order("a", attempt, incarnation));
      expect(answer).toMatchObject({ a: "answer_from_ledger", absent: { outcome: "refused", code: "fenced" } });
    }
  });

  it("of a newer attempt end the older one before they begin", () => {
    const state = holding("a");
    expect(step(state, order("a", 2))).toEqual([{ a: "stop", at: lease("a"), why: "replaced" }]);
    const after = step(state, { t: "call_ended", at: lease("a"), stopped: true });
    expect(kinds(after)).toEqual(["say_end", "start"]);
  });

  it("carry a fence counted from the last answered alive", () => {
    const state = newState(1);
    step(state, { t: "proved", at: 100 });
    expect(step(state, order("a", 1, 1, 13))).toMatchObject([{ a: "start", fenceAt: 113 }]);
    const renewed = step(state, { t: "renew", granted: [lease("a")], sent_ms: 105_000 });
    expect(renewed).toEqual([{ a: "move_fence", at: lease("a"), fenceAt: 118 }]);
    expect(step(state, { t: "renew", granted: [lease("a")], sent_ms: 101_000 })).toEqual([]);
    expect(step(state, { t: "proved", at: 1 })).toEqual([]);
    expect(state.baseAt).toBe(105);
  });

  it("fence themselves later the longer they have run", () => {
    const state = newState(1);
    step(state, { ...order("a", 1, 1, 13), patience_most_s: 12 });
    for (const [sentS, patienceS] of [
      [5, 0],
      [14, 0],
      [15, 1],
      [75, 7],
      [9000, 12],
    ] as const)
      expect(step(state, { t: "renew", granted: [lease("a")], sent_ms: sentS * 1000 })).toEqual([
        { a: "move_fence", at: lease("a"), fenceAt: sentS + 13 + patienceS },
      ]);
  });
});

describe("stopping", () => {
  it("gives a receipt for a cancel: at once if it waited, when it has ended if it ran", () => {
    const state = newState(1);
    step(state, order("a"));
    step(state, order("b"));
    const cancel = (task: string) => step(state, { t: "cancel", at: lease(task), reason: "" });
    expect(cancel("b")).toEqual([{ a: "say_receipt", at: lease("b"), known: true, effect: "none" }]);
    expect(cancel("a")).toEqual([{ a: "stop", at: lease("a"), why: "cancel" }]);
    expect(cancel("a")).toEqual([]);
    const ended = step(state, { t: "call_ended", at: lease("a"), stopped: true });
    expect(ended).toEqual([{ a: "say_receipt", at: lease("a"), known: true, effect: null }]);
    expect(step(state, { t: "call_ended", at: lease("a"), stopped: true })).toEqual([]);
  });

  it("of what is not held is answered from the ledger, and that attempt never begins afterwards", () => {
    const state = newState(1);
    const [answer] = step(state, { t: "cancel", at: lease("a"), reason: "" });
    expect(answer).toMatchObject({ a: "answer_from_ledger", absent: { a: "say_receipt", known: false } });
    expect(kinds(step(state, order("a")))).toEqual(["answer_from_ledger"]);
  });

  it("keeps the result of a call that ended by itself while it was told to stop", () => {
    const state = holding("a");
    step(state, { t: "cancel", at: lease("a"), reason: "" });
    expect(kinds(step(state, { t: "call_ended", at: lease("a"), stopped: false }))).toEqual(["say_end"]);
  });

  it("ends what the hub has taken back, and everything when the owner leaves", () => {
    const state = holding("a", "b", "c");
    const gone = { t: "renew", granted: [], gone: [lease("a"), lease("z")], sent_ms: 1 } as const;
    expect(step(state, { ...gone, gone: [...gone.gone], granted: [] })).toMatchObject([{ a: "stop", why: "gone" }]);
    const all = step(state, { t: "end_all", why: "agent_stopped" });
    expect(kinds(all)).toEqual(["stop", "say_result"]);
    expect(all[1]).toMatchObject({ outcome: "never_started" });
  });
});

describe("resuming", () => {
  it("continues what is held and cancels what it is told to", () => {
    const state = holding("a", "b");
    const plan = (task: string, action: Resume) =>
      step(state, { t: "resumed", entries: [{ at: lease(task), action }] });
    expect(plan("a", "continue")).toEqual([]);
    expect(kinds(plan("a", "cancel"))).toEqual(["stop"]);
    expect(plan("z", "continue")).toMatchObject([{ absent: { outcome: "interrupted", effect: "maybe" } }]);
    expect(plan("y", "resend")).toMatchObject([{ a: "answer_from_ledger", absent: null }]);
  });

  it("takes up an attempt of an earlier life: it holds its slot and its fence", () => {
    const state = newState(1);
    expect(step(state, { t: "taken_up", dispatch: order("a", 2), fenceAt: null })).toEqual([]);
    expect(step(state, order("b"))).toEqual([]);
    expect(kinds(step(state, order("a", 2)))).toEqual([]);
    expect(kinds(step(state, order("a", 1)))).toEqual(["answer_from_ledger"]);
    expect(kinds(step(state, { t: "call_ended", at: lease("a", 2), stopped: false }))).toEqual(["say_end", "start"]);
  });

  it("remembers a bounded number of fences, the longest unused go first", () => {
    const state = newState(1);
    for (let task = 0; task <= FENCES_KEPT; task += 1) step(state, { t: "cancel", at: lease(`t${task}`), reason: "" });
    expect(state.fences.size).toBe(FENCES_KEPT);
    expect(state.fences.has("c-1/t0")).toBe(false);
  });
});

interface Script {
  about: string;
  steps: [Record<string, unknown>, unknown[]][];
}

const place = new URL("../../../../tests/device_agents/work/core_script.json", import.meta.url);
const SCRIPTS: Script[] = JSON.parse(readFileSync(fileURLToPath(place), "utf8"));

/** A lease as the script writes it: `task/incarnation.attempt`. */
const text = (at: LeaseRef) => `${at.task}/${at.incarnation}.${at.attempt}`;

function read(name: unknown): LeaseRef {
  const [, task, incarnation, attempt] = /^(\w+)\/(\d+)\.(\d+)$/.exec(String(name)) as RegExpExecArray;
  return lease(String(task), Number(attempt), Number(incarnation));
}

function eventOf({ t, at, ...rest }: Record<string, unknown>): AgentEvent {
  if (t === "dispatch") return dispatch("x", {}, { at: read(at), ...rest });
  const refs = (names: unknown) => (names as string[]).map(read);
  if (t === "renew") return { ...rest, t, granted: refs(rest.granted), gone: refs(rest.gone) } as AgentEvent;
  const entries = (rest.entries as [Resume, string][] | undefined)?.map(([action, one]) => ({ action, at: read(one) }));
  // Of `proved` it is a moment.
  return { t, at: typeof at === "string" ? read(at) : at, ...rest, entries } as AgentEvent;
}

function written(action: Action): unknown[] {
  switch (action.a) {
    case "start":
      return [action.a, text(action.dispatch.at), action.fenceAt];
    case "stop":
      return [action.a, text(action.at), action.why];
    case "move_fence":
      return [action.a, text(action.at), action.fenceAt];
    case "say_receipt":
      return [action.a, text(action.at), action.known, action.effect];
    case "say_result":
      return [action.a, text(action.at), action.outcome, action.code, action.effect];
    case "say_end":
      return [action.a, text(action.at)];
    case "answer_from_ledger":
      return [action.a, text(action.at), action.absent === null ? null : written(action.absent)];
    case "say_begun":
      return [action.a, text(action.at), text(action.begun)];
  }
}

describe("both agents", () => {
  it.each(SCRIPTS)("decide alike: $about", ({ steps }) => {
    const state = newState(2);
    for (const [event, actions] of steps) expect(step(state, eventOf(event)).map(written)).toEqual(actions);
  });
});
