/** The retry of what failed is named as people name the task. */
import { expect, it, vi } from "vitest";
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

it("reads the files of what failed again from each task that brought them", async () => {
  const taskControl = vi.fn(async () => undefined);
  const hub = { taskControl } as unknown as Args[0];
  expect(readAgain(hub, HEAD, [])).toBeNull();
  await readAgain(hub, HEAD, ["send.1", "send.2"])?.run(["send.2"]);
  expect(taskControl.mock.calls).toEqual([
    ["c-1", "send.1", "retry-from", { confirm: ["send.2"] }],
    ["c-1", "send.2", "retry-from", { confirm: ["send.2"] }],
  ]);
});
