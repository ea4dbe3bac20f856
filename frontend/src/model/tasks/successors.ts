/** Tasks that may count as having done the work of one that did not succeed. Pure; whether one may, the hub decides. */
import type { StreamModel } from "../stream/stream.ts";
import type { GroupRecord, TaskRecord, TaskSpec } from "../types.ts";

const ENDED_BADLY: ReadonlySet<string> = new Set(["failed", "cancelled", "skipped"]);

/** Whether another task may be named for this one. */
export function mayCountAsDone(spec: TaskSpec, state: string | undefined): boolean {
  return ENDED_BADLY.has(state ?? "") && !spec.look && !spec.person && !spec.verifies && !spec.undoes;
}

/** The tasks and groups to choose from: of the same level, not ended badly, those with the same tool first. */
export function successorsOf(model: Pick<StreamModel, "kind" | "of">, task: TaskSpec): string[] {
  const fit = [...model.kind<TaskSpec>("spec").values()].filter((spec) => {
    if (spec.id === task.id || spec.group !== task.group || spec.superseded_by === task.id) return false;
    if (spec.look || spec.person || spec.verifies || spec.undoes) return false;
    const record = model.of<TaskRecord>("task", spec.id) ?? model.of<GroupRecord>("group", spec.id);
    return record !== undefined && !ENDED_BADLY.has(record.state);
  });
  const rank = (spec: TaskSpec) => (spec.tool === task.tool ? 0 : 1);
  return fit.sort((a, b) => rank(a) - rank(b) || a.id.localeCompare(b.id)).map((spec) => spec.id);
}
