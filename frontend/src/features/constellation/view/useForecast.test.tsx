// @vitest-environment jsdom
import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { WorkspaceContext } from "../../../app/workspace/context.ts";
import type { Workspace } from "../../../app/workspace/workspace.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { useForecast } from "./useForecast.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

async function askedInAMinute(standsMs: number, tasks: boolean): Promise<boolean[]> {
  const asked: boolean[] = [];
  const listeners = new Set<() => void>();
  const subscribe = (run: () => void) => {
    listeners.add(run);
    return () => listeners.delete(run);
  };
  const runForecast = async (_: string, all: boolean) => {
    asked.push(all);
    return { at_ms: 0, now: null, stands_ms: standsMs };
  };
  const workspace = { hub: { runForecast } } as unknown as Workspace;
  const model = { subscribe } as unknown as StreamModel;
  renderHook(() => useForecast("c1", model, true, tasks), {
    wrapper: ({ children }) => <WorkspaceContext value={workspace}>{children}</WorkspaceContext>,
  });
  for (let tenth = 0; tenth < 600; tenth++) {
    for (const run of listeners) run();
    await act(() => vi.advanceTimersByTimeAsync(100));
  }
  return asked;
}

it("asks again once the hub would give another answer, and for tasks only where they are drawn", async () => {
  const asked = await askedInAMinute(17_000, false);
  expect(asked.length).toBeLessThanOrEqual(5);
  expect(new Set(asked)).toEqual(new Set([false]));
});

it("asks once a second for a run of few tasks", async () => {
  const asked = await askedInAMinute(900, true);
  expect(asked.length).toBeGreaterThan(45);
  expect(new Set(asked)).toEqual(new Set([true]));
});
