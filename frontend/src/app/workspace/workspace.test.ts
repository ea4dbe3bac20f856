import { expect, it } from "vitest";
import { boardOf } from "../../model/tasks/board.ts";
import { Workspace } from "./workspace.ts";

const TASKS = 5000;

it("works out the tasks of a large snapshot in the pauses of its reading, and none when it is drawn", () => {
  const workspace = new Workspace(() => {});
  const model = workspace.acquire("c-1");
  let read = 0;
  const entities: Record<string, object> = { head: { id: "c-1", state: "active" } };
  for (let at = 0; at < TASKS; at += 1) {
    const spec = { id: `t${at}`, changed_in: 1 };
    const get = () => {
      read += 1;
    };
    entities[`spec/t${at}`] = Object.defineProperty(spec, "device", { enumerable: true, get });
    entities[`task/t${at}`] = { state: "waiting", since_ms: 1 };
  }
  const steps = model.snapshotSteps({ entities: entities as never, seq: 1 });
  let pauses = 0;
  let most = 0;
  for (let before = 0; !steps.next().done; before = read) {
    pauses += 1;
    most = Math.max(most, read - before);
  }
  expect(pauses).toBeGreaterThan(50);
  expect(most).toBeLessThan(TASKS / 10);
  read = 0;
  expect(boardOf(model, workspace.fleet).all()).toHaveLength(TASKS);
  expect(read).toBe(0);
});
