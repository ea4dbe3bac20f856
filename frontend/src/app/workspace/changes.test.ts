// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Changes } from "./changes.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  hide(false);
});

function hide(hidden: boolean): void {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}

const changed = (about: string) => [{ about, kind: "changed", stream: "fleet", value: null }];

it("reads a list when it has changed, and not otherwise", () => {
  const changes = new Changes();
  const run = vi.fn();
  changes.on(["approvals"], run);
  changes.take([...changed("schedules"), { about: "approvals", kind: "progress", stream: "fleet", value: null }]);
  vi.advanceTimersByTime(60_000);
  expect(run).not.toHaveBeenCalled();
  changes.take(changed("approvals"));
  expect(run).toHaveBeenCalledTimes(1);
});

it("reads at most once in a pause, and once more for what came in it", () => {
  const changes = new Changes();
  const run = vi.fn();
  changes.on(["tasks", "devices"], run, 1000);
  for (let turn = 0; turn < 100; turn++) changes.take([...changed("tasks"), ...changed("devices")]);
  expect(run).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1000);
  expect(run).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(60_000);
  expect(run).toHaveBeenCalledTimes(2);
});

it("waits while the page is hidden, and reads once when it is seen again", () => {
  const changes = new Changes();
  const run = vi.fn();
  changes.on(["tasks"], run, 1000);
  hide(true);
  changes.take(changed("tasks"));
  changes.take(changed("tasks"));
  expect(run).not.toHaveBeenCalled();
  hide(false);
  expect(run).toHaveBeenCalledTimes(1);
});

it("reads everything once when the link is back, and nothing after its end", () => {
  const changes = new Changes();
  const run = vi.fn();
  const end = changes.on(["tasks", "approvals"], run);
  changes.sayAll();
  expect(run).toHaveBeenCalledTimes(1);
  end();
  vi.advanceTimersByTime(5000);
  changes.sayAll();
  expect(run).toHaveBeenCalledTimes(1);
});

it("marks a constellation anew when it was named, or when any may have changed", () => {
  const changes = new Changes();
  const named = (value: string | null, about = "tasks") =>
    changes.take([{ about, kind: "changed", stream: "fleet", value }]);
  const marks = [changes.markOf("c-1")];
  const note = () => marks.push(changes.markOf("c-1"));
  for (const value of ["c-2", "pace"]) named(value);
  named(null, "activity");
  note();
  expect(new Set(marks).size).toBe(1);
  for (const change of [() => named("c-1"), () => named(null), () => named(null, "devices"), () => changes.sayAll()]) {
    change();
    note();
  }
  expect(new Set(marks).size).toBe(5);
});
