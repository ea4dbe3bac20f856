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
