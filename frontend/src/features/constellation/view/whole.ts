/** The retries of each failure of a constellation at once: with the files that it had, or with these read again. */
import type { Action, taskActions } from "../../../app/actions/actions.ts";
import type { Hub } from "../../../link/endpoints.ts";
import { Problem } from "../../../link/rest.ts";
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
  const left = new Set(broughtBy);
  const asked = new Map<string, string[]>();
  let refused: Problem | null = null;
  return {
    id: "retry-from",
    label: "Read the files again",
    why: null,
    said: "The files are read again, and what failed with them is tried again.",
    run: async (confirm?: string[]) => {
      // Each source asks for its own tasks that may not be repeated; a person is asked once, for all of them.
      for (const task of [...left]) {
        const names = (confirm && asked.get(task)) ?? [];
        try {
          await hub.taskControl(constellation.id, task, "retry-from", names.length ? { confirm: names } : {});
          left.delete(task);
        } catch (error) {
          const repeats = error instanceof Problem && !confirm ? error.more.repeats : null;
          if (!Array.isArray(repeats)) throw error;
          asked.set(task, repeats.map(String));
          refused = error as Problem;
        }
      }
      if (!confirm && refused)
        throw new Problem(refused.status, { ...refused.more, repeats: [...asked.values()].flat() });
    },
  };
}
