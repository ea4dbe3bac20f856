/** The retries of each failure of a constellation at once: with the files that it had, or with these read again. */
import type { Action, taskActions } from "../../../app/actions/actions.ts";
import type { Hub } from "../../../link/endpoints.ts";
import type { TaskView } from "../../../model/tasks/selectors.ts";
import type { Head } from "../../../model/types.ts";

export function retryFailed(
  hub: Parameters<typeof taskActions>[0],
  constellation: Parameters<typeof taskActions>[1],
  failed: TaskView[],
) {
  if (failed.length === 0 || constellation.state === "cancelled") return null;
  return {
    id: "retry",
    label: failed.length === 1 ? `Retry ${failed[0]?.name}` : `Retry ${failed.length} failed`,
    why: null,
    // One request, which the hub takes whole: hundreds of them would begin one task after the other.
    run: (confirm?: string[]) =>
      hub.retryTasks(
        constellation.id,
        constellation.version ?? 0,
        failed.map(({ id }) => id),
        confirm,
      ),
  };
}

/** Retries from the tasks that brought files to what failed, so that it gets these as they are now. */
export function readAgain(hub: Hub, constellation: Pick<Head, "id">, broughtBy: readonly string[]): Action | null {
  if (broughtBy.length === 0) return null;
  return {
    id: "retry-from",
    label: "Read the files again",
    why: null,
    said: "The files are read again, and what failed with them is tried again.",
    run: async (confirm?: string[]) => {
      for (const task of broughtBy)
        await hub.taskControl(constellation.id, task, "retry-from", confirm?.length ? { confirm } : {});
    },
  };
}
