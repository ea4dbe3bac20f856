import { describe, expect, it } from "vitest";
import { taskActions } from "../../../app/actions/actions.ts";
import { CONTROLS } from "../../../generated/protocol.ts";
import type { Hub } from "../../../link/endpoints.ts";
import type { TaskView } from "../../../model/tasks/selectors.ts";
import type { Head } from "../../../model/types.ts";
import { waysOut } from "./waysOut.ts";

describe("ways out", () => {
  it("names the buttons of this page, and keeps sentences and lines", () => {
    expect(waysOut(["switch on nas, and the task goes on", "reassign", "edit", "cancel"], "ready")).toEqual([
      "switch on nas, and the task goes on",
      "press Edit plan and choose another device for this task",
      "press Cancel",
    ]);
    expect(waysOut(["retry", "skip"], "failed")).toEqual(["press Retry", "press Go on without it"]);
    expect(waysOut(["starloom edit c-1 --editor --retry read", "retry"], "failed")).toEqual([
      "press Plan in rows and change its values there",
      "press Retry",
    ]);
    expect(waysOut(["starloom retry-from send.1 c-1"], "failed")).toEqual(["open send.1 and press Retry from here"]);
    expect(waysOut(["mark", "retry"], "unknown")).toEqual(["press It happened or It did not happen", "press Retry"]);
  });
});

describe("buttons of a task", () => {
  it("are those that the hub accepts in its state", () => {
    const offeredEver: string[] = [];
    for (const [state, allowed] of Object.entries(CONTROLS)) {
      const view = { id: "a", record: { state }, spec: { id: "a" } } as unknown as TaskView;
      const buttons = taskActions({} as Hub, { id: "c", state: "active" } as Head, view);
      const offered = buttons.filter((button) => button.why === null).map((button) => button.id);
      const controls = offered.map((id) => id.replace(/^mark-.*/, "mark"));
      expect(controls.filter((id) => !allowed.includes(id))).toEqual([]);
      offeredEver.push(...controls);
    }
    expect([...new Set(offeredEver)].sort()).toEqual(["cancel", "hold", "mark", "retry", "retry-from", "skip"]);
  });

  it("let the rest go on without a task that failed", () => {
    const view = { id: "a", record: { state: "failed" }, spec: { id: "a" } } as unknown as TaskView;
    const skip = taskActions({} as Hub, { id: "c", state: "failed" } as Head, view).find(({ id }) => id === "skip");
    expect([skip?.label, skip?.why]).toEqual(["Go on without it", null]);
  });

  it("leave one waiting row of a list out, after a question that says what follows", () => {
    const row = { id: "send.3", record: { state: "waiting" }, spec: { id: "send.3", key: "3" } } as unknown as TaskView;
    const skip = taskActions({} as Hub, { id: "c", state: "active" } as Head, row).find(({ id }) => id === "skip");
    expect([skip?.label, skip?.why]).toEqual(["Leave out", null]);
    expect(skip?.asks).toContain("the other rows go on");
    expect(waysOut(["skip"], "waiting", true)).toEqual(["press Leave out"]);
    expect(waysOut(["skip"], "waiting")).toEqual(["press Skip"]);
  });

  it("of a look never repeat it", () => {
    const offered = Object.keys(CONTROLS).flatMap((state) => {
      const view = { id: "look-1-1", record: { state }, spec: { id: "look-1-1", look: 1 } } as unknown as TaskView;
      const buttons = taskActions({} as Hub, { id: "c", state: "looking" } as Head, view);
      return buttons.filter((button) => button.why === null).map((button) => button.id);
    });
    expect(new Set(offered.filter((id) => !id.startsWith("mark-")))).toEqual(new Set(["cancel", "skip"]));
  });
});
