// @vitest-environment jsdom
import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Changes } from "../../../app/workspace/changes.ts";
import { WorkspaceContext } from "../../../app/workspace/context.ts";
import type { Workspace } from "../../../app/workspace/workspace.ts";
import type { BesideItem, Topic, Vitals } from "../../../model/types.ts";
import { useHour } from "./hour.ts";

const VITALS = { until_ms: 3_600_000, step_s: 30, slots: 120 } as Vitals;
const changed = (about: Topic): BesideItem[] => [{ kind: "changed", about } as BesideItem];

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function opened(role: string) {
  const asked: string[] = [];
  const get = async (_: string, { query }: { query: { kind: string } }) => {
    asked.push(query.kind);
    return { items: [] };
  };
  const changes = new Changes();
  const workspace = { hub: { rest: { get } }, session: { role }, changes } as unknown as Workspace;
  renderHook(() => useHour("d-nas", VITALS, []), {
    wrapper: ({ children }) => <WorkspaceContext value={workspace}>{children}</WorkspaceContext>,
  });
  return { asked, changes };
}

it("asks for work a few times a minute while tasks change, and for absences when a device changed", async () => {
  const { asked, changes } = opened("owner");
  for (let second = 0; second < 60; second++) {
    changes.take(changed("tasks"));
    await act(() => vi.advanceTimersByTimeAsync(1000));
  }
  expect(asked.filter((kind) => kind === "devices")).toHaveLength(1);
  expect(asked.filter((kind) => kind === "work").length).toBeLessThanOrEqual(6);
  changes.take(changed("devices"));
  await act(() => vi.advanceTimersByTimeAsync(1000));
  expect(asked.filter((kind) => kind === "devices")).toHaveLength(2);
});

it("asks nothing of the record for somebody who may not read it", async () => {
  const { asked, changes } = opened("operator");
  changes.take(changed("tasks"));
  await act(() => vi.advanceTimersByTimeAsync(60_000));
  expect(asked).toEqual([]);
});
