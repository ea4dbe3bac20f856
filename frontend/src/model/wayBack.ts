/** The call that takes back the work of a task, as the hub chooses it (tools/ways_back.py of the protocol). */
import { WAYS_BACK } from "../generated/protocol.ts";
import type { TaskSpec } from "./types.ts";

type Call = NonNullable<TaskSpec["undo"]>;

/** The one that its plan names, or else that of its tool, where the tool's result tells all that the task changed. */
export function wayBack(spec: TaskSpec): Call | null {
  if (spec.undo) return spec.undo;
  if (spec.files_out?.length || spec.any_of?.length || spec.undoes) return null;
  return (spec.tool && WAYS_BACK[spec.tool]) || null;
}
