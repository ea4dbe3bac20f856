/** The retry of what failed is named as people name the task. */
import { expect, it, vi } from "vitest";
import type { TaskView } from "../../../model/tasks/selectors.ts";
import { retryFailed } from "./whole.ts";

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
