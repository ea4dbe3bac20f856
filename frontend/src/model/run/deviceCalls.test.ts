import { describe, expect, it } from "vitest";
import { callCounts, callsAt, callsOf, callsSentence, callsWords } from "./deviceCalls.ts";

const at = (second: number): string => new Date(1_000_000 + second * 1000).toISOString();
const ms = (second: number): number => 1_000_000 + second * 1000;
const deed = (kind: string, second: number, about = "send", stream = "c-1") => ({
  kind,
  at: at(second),
  stream,
  stream_name: "Photos",
  about,
});

describe("the calls of a device", () => {
  it("begin when the device has started them and end as the record tells, newest first or not", () => {
    const calls = callsOf([
      deed("task_failed", 9, "list"),
      deed("task_started", 4, "list"),
      deed("task_succeeded", 3),
      deed("task_started", 1),
      deed("task_leased", 0),
    ]);
    expect(calls.map(({ task, fromMs, toMs, end }) => [task, fromMs, toMs, end])).toEqual([
      ["send", ms(1), ms(3), "done"],
      ["list", ms(4), ms(9), "failed"],
    ]);
    expect(callCounts(calls)).toBe("2 calls, 1 failed");
  });

  it("are told apart by constellation, and a second start ends the first", () => {
    const calls = callsOf([
      deed("task_started", 1),
      deed("task_started", 1, "send", "c-2"),
      deed("task_started", 5),
      deed("task_succeeded", 6),
    ]);
    expect(calls.map(({ constellation, toMs, end }) => [constellation, toMs, end])).toEqual([
      ["c-1", ms(5), "stopped"],
      ["c-2", 0, null],
      ["c-1", ms(6), "done"],
    ]);
  });

  it("stand at their end where the beginning is not told, without a length", () => {
    const calls = callsOf([deed("task_succeeded", 3), deed("task_failed", 4, "list"), deed("task_leased", 2)]);
    expect(calls.map(({ task, fromMs, toMs, whole }) => [task, fromMs, toMs, whole])).toEqual([
      ["send", ms(3), ms(3), false],
      ["list", ms(4), ms(4), false],
    ]);
    expect(callsWords(calls, ms(9))).toBe("send done; list failed");
    expect(callsSentence(calls, ms(9))).toMatch(/^Calls: 2 calls, 1 failed, failed at/);
  });

  it("say what was under way at a moment, failures first, and count the rest", () => {
    const calls = callsOf([
      deed("task_started", 1, "a"),
      deed("task_started", 2, "b"),
      deed("task_failed", 4, "b"),
      deed("task_started", 3, "c"),
      deed("task_started", 3, "d"),
    ]);
    const found = callsAt(calls, ms(3), ms(5));
    expect(callsWords(found, ms(11))).toBe("b failed after 2.0 s; a running for 10 s; c running for 8.0 s; and 1 more");
    expect(callsAt(calls, ms(0), ms(1))).toEqual([]);
    expect(callsSentence(calls, ms(11))).toMatch(/^Calls: 4 calls, 1 failed, from 2.0 s to 10 s, failed at \d\d:\d\d$/);
  });
});
