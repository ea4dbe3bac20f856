import { renderHook, waitFor } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { Problem } from "../../link/rest.ts";
import type { TaskView } from "../../model/tasks/selectors.ts";
import type { Head } from "../../model/types.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { useUndo } from "./useUndo.ts";

const head = { id: "c1", state: "succeeded" } as Head;
const view = {
  id: "copy",
  name: "copy",
  spec: { id: "copy", tool: "fs.write" },
  record: { state: "succeeded" },
} as unknown as TaskView;
const refusal = { code: "forbidden", reason: "ann asked for this work", hint: "Ask ann." };

function at(approves: boolean, create: () => Promise<unknown>, role = "operator") {
  const workspace = { hub: { rest: { create } }, session: { role, approves, scopes: [] } } as unknown as Workspace;
  return renderHook(() => useUndo(workspace, head, [view], null));
}

describe("the undo of others' work", () => {
  it("is blocked with the hub's reason before it is pressed", async () => {
    const create = vi.fn(() => Promise.reject(new Problem(403, refusal)));
    const { result } = at(false, create);
    expect(result.current?.why).toBeNull();
    await waitFor(() => expect(result.current?.why).toBe("ann asked for this work. Ask ann."));
    expect(create).toHaveBeenCalledExactlyOnceWith("/constellations/{constellation}/undo", {
      path: { constellation: "c1" },
      body: { tasks: [], preview: true },
    });
  });

  it("stays open where the hub agrees, or has another reason that may be over by then", async () => {
    for (const answer of [
      () => Promise.resolve({ undoing: ["copy"] }),
      () => Promise.reject(new Problem(409, { ...refusal, code: "downstream_started" })),
    ]) {
      const create = vi.fn(answer);
      const { result } = at(false, create);
      await waitFor(() => expect(create).toHaveBeenCalledOnce());
      expect(result.current?.why).toBeNull();
    }
  });

  it("asks nothing for somebody who may approve, or may not run anything", () => {
    const create = vi.fn(() => Promise.reject(new Problem(403, refusal)));
    at(true, create);
    at(false, create, "viewer");
    expect(create).not.toHaveBeenCalled();
  });
});
