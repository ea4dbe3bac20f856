/** Facts of the plan as a whole: whether all of it is checked, and the retry of each failure. */
import type { taskActions } from "../../../app/actions/actions.ts";
import type { TaskView } from "../../../model/tasks/selectors.ts";

/** Whether every task that declares checks met them; a plan without checks is never shown as checked. */
export const checkedWhole = (views: TaskView[]): boolean => {
  const asked = views.filter((view) => (view.spec.checks?.length ?? 0) > 0);
  return asked.length > 0 && asked.every((view) => view.record?.checked || view.record?.state === "skipped");
};

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
