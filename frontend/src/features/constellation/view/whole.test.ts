/** The retry of what failed is named as people name the task. */
import { expect, it, vi } from "vitest";
import { Problem } from "../../../link/rest.ts";
import type { TaskView } from "../../../model/tasks/selectors.ts";
import { readAgain, retryFailed } from "./whole.ts";

type Args = Parameters<typeof retryFailed>;
const HUB = { taskControl: async () => undefined } as unknown as Args[0];
const HEAD = { id: "c-1", state: "failed" } as unknown as Args[1];
const view = (id: string, name: string) => ({ id, name }) as TaskView;

it("names the one task by its device, and counts several", () => {
  const one = view("run.d-i4j7", "run on Große Kiste");
  expect(retryFailed(HUB, HEAD, [one])?.label).toBe("Retry run on Große Kiste");
  expect(retryFailed(HUB, HEAD, [one, view("pack", "pack")])?.label).toBe("Retry 2 failed");
});

it("asks the hub once, however many failed", async () => {
  const retryTasks = vi.fn(async () => undefined);
  const failed = Array.from({ length: 300 }, (_, at) => view(`read.${at}`, `read.${at}`));
  const head = { ...HEAD, version: 2 };
  await retryFailed({ retryTasks } as unknown as Args[0], head, failed)?.run(["read.1"]);
  expect(retryTasks).toHaveBeenCalledTimes(1);
  expect(retryTasks).toHaveBeenCalledWith(
    "c-1",
    2,
    failed.map(({ id }) => id),
    ["read.1"],
  );
});

it("reads the files of what failed again, and asks once for all that would run twice", async () => {
  const taskControl = vi.fn(async (_id: string, task: string, _action: string, body: { confirm?: string[] }) => {
    if (task !== "send.1" && !body.confirm) throw new Problem(409, { repeats: [`${task}-run`] });
  });
  const hub = { taskControl } as unknown as Args[0];
  expect(readAgain(hub, HEAD, [])).toBeNull();
  const action = readAgain(hub, HEAD, ["send.1", "send.2", "send.3"]);
  const asked = await action?.run().catch((error: Problem) => error.more.repeats);
  expect(asked).toEqual(["send.2-run", "send.3-run"]);
  taskControl.mockClear();
  await action?.run(asked as string[]);
  expect(taskControl.mock.calls).toEqual([
    ["c-1", "send.2", "retry-from", { confirm: ["send.2-run"] }],
    ["c-1", "send.3", "retry-from", { confirm: ["send.3-run"] }],
  ]);
});
