/** Rows of a running plan are held while they are edited: said at once, again and again, and taken back at the end. */
import { act, cleanup, render } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { WorkspaceContext } from "../../../app/workspace/context.ts";
import type { Workspace } from "../../../app/workspace/workspace.ts";
import { useHold } from "./useHold.ts";

const AGAIN_MS = 22_500;
const holdDraft = vi.fn(async () => null);
const closeDraft = vi.fn(async () => null);
let comesBack = () => {};
const live = {
  onStatus: (heard: () => void) => {
    comesBack = heard;
    return () => (comesBack = () => {});
  },
  readStatus: () => ({ state: "live" }),
};
const workspace = { hub: { holdDraft, closeDraft }, live } as unknown as Workspace;

function Editing({ rows }: { rows: string[] }) {
  return <p>{useHold("c-1", rows)}</p>;
}
const page = (rows: string[]) => (
  <WorkspaceContext value={workspace}>
    <Editing rows={rows} />
  </WorkspaceContext>
);

const passed = (ms: number) => act(async () => void (await vi.advanceTimersByTimeAsync(ms)));

beforeEach(() => {
  vi.useFakeTimers();
  holdDraft.mockClear();
  closeDraft.mockClear();
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

it("holds the rows at once and before the hold ends", async () => {
  render(page(["a", "b"]));
  await passed(0);
  expect(holdDraft).toHaveBeenCalledExactlyOnceWith("c-1", ["a", "b"], 60);
  await passed(2 * AGAIN_MS);
  expect(holdDraft).toHaveBeenCalledTimes(3);
});

it("asks again when the hub is back, and says no more that it was away", async () => {
  holdDraft.mockRejectedValueOnce(new Error("The hub cannot be reached."));
  const shown = render(page(["a"]));
  await passed(0);
  expect(shown.container.textContent).toContain("The hub cannot be reached.");
  comesBack();
  await passed(0);
  expect(shown.container.textContent).toBe("");
  expect(holdDraft).toHaveBeenCalledTimes(2);
});

it("asks nothing where no row is edited", async () => {
  const shown = render(page([]));
  await passed(AGAIN_MS);
  shown.unmount();
  await passed(0);
  expect(closeDraft).not.toHaveBeenCalled();
  expect(holdDraft).not.toHaveBeenCalled();
});

it("lets go when the page is left, and asks no more", async () => {
  const shown = render(page(["a"]));
  await passed(0);
  shown.unmount();
  await passed(0);
  expect(closeDraft).toHaveBeenCalledExactlyOnceWith("c-1");
  await passed(AGAIN_MS);
  expect(holdDraft).toHaveBeenCalledTimes(1);
});

it("holds other rows without an end between, and lets go where none is edited any more", async () => {
  const shown = render(page(["a"]));
  await passed(0);
  shown.rerender(page(["a", "b"]));
  await passed(0);
  expect(holdDraft).toHaveBeenLastCalledWith("c-1", ["a", "b"], 60);
  expect(closeDraft).not.toHaveBeenCalled();
  shown.rerender(page([]));
  await passed(0);
  expect(closeDraft).toHaveBeenCalledExactlyOnceWith("c-1");
});

it("goes on by itself where somebody else holds a row", async () => {
  holdDraft.mockRejectedValueOnce(new Error("held by mara"));
  const shown = render(page(["a"]));
  await act(async () => void (await vi.advanceTimersByTimeAsync(0)));
  expect(shown.container.textContent).toContain("held by mara");
  await act(async () => void (await vi.advanceTimersByTimeAsync(AGAIN_MS)));
  expect(holdDraft).toHaveBeenCalledTimes(2);
  expect(shown.container.textContent).toBe("");
});
