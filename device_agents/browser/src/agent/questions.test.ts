import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { dispatch } from "../../dev/fakeHub.ts";
import { Questions } from "./questions.ts";

const CALL = dispatch("ask", {}, { asked_by: "person:ann", asked_words: "ask whether to go on" });
const QUESTION = { kind: "line", text: "Go on?", withinS: 60 } as const;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

it("closes a question that nobody answers within its time, and says so", async () => {
  const questions = new Questions(() => {});
  const asked = questions.ask(CALL, QUESTION, new AbortController().signal);
  const failed = expect(asked).rejects.toMatchObject({
    code: "declined",
    detail: "nobody answered within 60 s: Go on?",
  });
  vi.advanceTimersByTime(59_000);
  expect(questions.open).toHaveLength(1);
  vi.advanceTimersByTime(1_000);
  expect(questions.open).toHaveLength(0);
  await failed;
});

it("lets no time run on once it is answered or taken back", async () => {
  const questions = new Questions(() => {});
  const call = new AbortController();
  const asked = questions.ask(CALL, QUESTION, call.signal);
  questions.open[0]?.answer("yes");
  void questions.ask(CALL, QUESTION, call.signal);
  call.abort();
  expect(vi.getTimerCount()).toBe(0);
  expect(await asked).toBe("yes");
});

it("keeps a question without a time for as long as its call", () => {
  const questions = new Questions(() => {});
  void questions.ask(CALL, { kind: "line", text: "Go on?" }, new AbortController().signal);
  expect(vi.getTimerCount()).toBe(0);
});

it("has with a question who asked for the work and the words, which an older hub leaves out", () => {
  const questions = new Questions(() => {});
  for (const call of [CALL, dispatch("ask", {})]) void questions.ask(call, QUESTION, new AbortController().signal);
  expect(questions.open.map(({ asked }) => asked)).toEqual([
    { by: "person:ann", words: "ask whether to go on" },
    { by: "", words: "" },
  ]);
});
