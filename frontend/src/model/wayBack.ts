/** The call that takes back the work of a task, as the hub chooses it (tools/ways_back.py of the protocol). */
import { TAKES_AWAY, WAYS_BACK } from "../generated/protocol.ts";
import type { TaskSpec } from "./types.ts";

type Call = NonNullable<TaskSpec["undo"]>;

/** The one that its plan names, or else that of its tool and of the files that it saves, which its result names. */
export function wayBack(spec: TaskSpec): Call | null {
  if (spec.undo) return spec.undo;
  if (spec.any_of?.length || spec.undoes) return null;
  const ofTool = (spec.tool && WAYS_BACK[spec.tool]) || null;
  if (!spec.files_out?.length) return ofTool;
  return !ofTool || "paths" in (ofTool.outputs ?? {}) ? TAKES_AWAY : null;
}
