/** What the hub says of the tasks that do not move. */
import { useEffect } from "react";
import { STUCK } from "../../../app/waiting/waiting.ts";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import { boardOf } from "../../../model/tasks/board.ts";
import type { Reason, WhyAll, WhyRow } from "../../../model/types.ts";
import type { Run } from "./useRun.ts";

/**
 * What the hub says about the tasks that stand still, read while their constellation asks for attention, none of its
 * tasks is at work, or one has failed. No event has the reason of a task that no device may take, so the board is given
 * it here: the page decides nothing about devices.
 */
export function useStops({ head, model, fleet, idle, failed }: Run): WhyAll | null {
  const { hub } = useWorkspace();
  const attention = head.attention ?? [];
  const key = attention.length || idle || failed.length ? `stuck/${head.id}/${attention.join()}` : null;
  const why = useResource(key, (signal) => hub.whyAll(head.id, signal), ["constellations", "tasks", "devices"], 2000);
  const found = key === null ? null : why.value;
  useEffect(() => boardOf(model, fleet).join(reasonsOf(found?.items ?? [])), [found, model, fleet]);
  return found;
}

function reasonsOf(items: readonly WhyRow[]): Map<string, Reason> {
  const found = new Map<string, Reason>();
  for (const { task, state, reason } of items)
    if (task && reason && state === "ready" && STUCK.has(reason)) found.set(task, reason);
  return found;
}
