import { act, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { StreamModel } from "../../../model/stream/stream.ts";
import type { StreamEvent } from "../../../model/types.ts";
import { Feed } from "./Feed.tsx";

const fleet = new StreamModel("fleet");
const ended = (seq: number, at_ms = seq) =>
  ({
    seq,
    at_ms,
    by: "engine",
    kind: "task_succeeded",
    stream: "s",
    puts: { [`task/t${seq}`]: { state: "succeeded", since_ms: at_ms } },
  }) as unknown as StreamEvent;

afterEach(() => {
  vi.useRealTimers();
});

it("draws the first events at once, and a stream of them twice a second", () => {
  vi.useFakeTimers();
  const events = [ended(1)];
  const feed = () => <Feed events={events} revision={events.length} most={40} fleet={fleet} onSelect={() => {}} />;
  const { rerender } = render(feed());
  expect(screen.getByRole("listitem").textContent).toContain("t1");
  const first = screen.getByRole("listitem");
  let drawn = 0;
  const watch = new MutationObserver((found) => {
    drawn += found.length;
  });
  watch.observe(document.body, { childList: true, characterData: true, subtree: true });
  for (let seq = 2; seq <= 60; seq += 1) {
    events.push(ended(seq));
    rerender(feed());
  }
  drawn += watch.takeRecords().length;
  expect(drawn).toBeLessThan(20);
  act(() => vi.advanceTimersByTime(600));
  expect(screen.getByRole("listitem").textContent).toContain("t1, t2, t3, t4 and 56 more");
  expect(screen.getByRole("listitem")).toBe(first);
});
