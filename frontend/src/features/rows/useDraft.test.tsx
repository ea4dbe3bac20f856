/** Steps of a draft: what was taken in from others is part of each, so that no step back reverts it. */
import { act, renderHook } from "@testing-library/react";
import { expect, it } from "vitest";
import { type Fields, tasksOf } from "../../model/rows/document.ts";
import { rebased } from "../../model/rows/live/changes.ts";
import { useDraft } from "./useDraft.ts";

const plan = (mine: string, theirs: string): Fields => ({
  tasks: [
    { id: "mine", args: { value: mine } },
    { id: "theirs", args: { value: theirs } },
  ],
});
const values = (of: Fields) => tasksOf(of).map((task) => (task.args as Fields).value);

it("moves each step onto the newer plan", () => {
  const old = plan("a", "OLD");
  const newer = plan("a", "NEW");
  const { result } = renderHook(() =>
    useDraft(
      () => ({ draft: { head: null, plan: old }, text: null }),
      () => {},
    ),
  );
  act(() => result.current.change((held) => ({ ...held, plan: plan("b", "OLD") })));
  act(() => result.current.rebase((held) => ({ ...held, plan: rebased(old, held.plan, newer) })));
  expect(values(result.current.draft.plan)).toEqual(["b", "NEW"]);
  act(() => result.current.undo?.());
  expect(values(result.current.draft.plan)).toEqual(["a", "NEW"]);
  expect(result.current.undo).toBeNull();
  act(() => result.current.redo?.());
  expect(values(result.current.draft.plan)).toEqual(["b", "NEW"]);
});
