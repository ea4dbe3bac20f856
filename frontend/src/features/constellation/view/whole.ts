/** The retry of each failure of a constellation at once. */
import type { taskActions } from "../../../app/actions/actions.ts";
import type { TaskView } from "../../../model/tasks/selectors.ts";

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
    run: async (confirm?: string[]) => {
      for (const view of failed)
        await hub.taskControl(constellation.id, view.id, "retry", confirm?.length ? { confirm } : {});
    },
  };
}
