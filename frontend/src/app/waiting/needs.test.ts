// @vitest-environment jsdom
/** What waits for a person: with its dangers, and in its place for a moment after the answer. */
import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import type { InboxQuestion } from "../../link/endpoints.ts";
import type { Question } from "../../model/types.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { answeredHere, useNeeds, watchNeeds, withDangers } from "./needs.ts";
import { STAYS_MS } from "./waiting.ts";

afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

const OPEN = [{ id: "q", kind: "person", text: "Remove them?" }] as Question[];
const NEEDS = [{ ...OPEN[0], constellation: "c-1", takes_away: ["go"] }] as InboxQuestion[];

it("shows a question together with the answers that take files away", () => {
  expect(withDangers("c-1", OPEN, NEEDS, false)).toMatchObject([{ id: "q", takes_away: ["go"] }]);
});

it("holds a question back until the hub has said which of its answers take files away", () => {
  expect(withDangers("c-1", OPEN, [], false)).toEqual([]);
  expect(withDangers("c-2", OPEN, NEEDS, false)).toEqual([]);
});

it("shows all questions where the hub is away, since none can be answered", () => {
  expect(withDangers("c-1", OPEN, [], true)).toMatchObject([{ id: "q", takes_away: undefined }]);
});

it("leaves an answered question in its place for a moment, whatever an older reading says", async () => {
  const need = (id: string) => ({ id, constellation: "c-1", kind: "person", text: id, opened_ms: 1 }) as InboxQuestion;
  let listed = ["a", "b", "c"].map(need);
  let told = () => {};
  const workspace = {
    hub: { approvals: async () => listed },
    live: { status: { state: "live" } },
    fleet: { ready: false, subscribe: () => () => {} },
    changes: {
      on: (kinds: string[], hear: () => void) => {
        if (kinds.includes("approvals")) told = hear;
        return () => {};
      },
    },
  } as unknown as Workspace;
  const end = watchNeeds(workspace);
  const { result } = renderHook(() => useNeeds());
  const shown = () => result.current.shown.map(({ id, said }) => (said ? `${id}: ${said}` : id));
  await waitFor(() => expect(shown()).toEqual(["a", "b", "c"]));
  vi.useFakeTimers();
  act(() => answeredHere("c-1", "b", "Done"));
  expect(shown()).toEqual(["a", "b: Done", "c"]);
  expect(result.current.count).toBe(2);
  await act(async () => told());
  expect(shown(), "read before the hub had the answer").toEqual(["a", "b: Done", "c"]);
  expect(withDangers("c-1", [need("c")], result.current.shown, false).map(({ id, said }) => [id, said])).toEqual([
    ["b", "Done"],
    ["c", undefined],
  ]);
  listed = ["a", "c", "d"].map(need);
  await act(async () => told());
  expect(shown()).toEqual(["a", "b: Done", "c", "d"]);
  act(() => vi.advanceTimersByTime(STAYS_MS));
  expect(shown()).toEqual(["a", "c", "d"]);
  act(() => answeredHere("c-1", "a", "Done"));
  act(end);
  act(() => vi.advanceTimersByTime(STAYS_MS));
  expect(result.current).toMatchObject({ shown: [], read: false });
});
