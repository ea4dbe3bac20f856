/** Before a call begins: is there such a tool, is it allowed, can it work here now. Starts nothing. */
import type { Dispatch } from "../generated/protocol.ts";
import type { Surroundings, Tool } from "../tools/interface.ts";
import { type CallEnd, ended } from "./call.ts";
import { decide, type Policy } from "./policy.ts";

/** Decide a call and `note` the decision; returns its end if it may not or cannot begin, else null. */
export function judge(
  dispatch: Dispatch,
  tool: Tool | undefined,
  policy: Policy,
  around: Surroundings,
  note: (allowed: boolean, reason: string) => void,
): CallEnd | null {
  if (tool === undefined) return unavailable(`this device has no tool ${dispatch.tool}`);
  const { allowed, reason } = decide(policy, tool);
  note(allowed, reason);
  if (!allowed) return ended("refused", { code: "missing_grant", detail: reason });
  const cannot = tool.probe(around);
  if (cannot !== null) return unavailable(cannot);
  if ((dispatch.files_out ?? []).length > 0) {
    return unavailable("a browser tab has no folders to put files into; use file.save, which asks its person");
  }
  return null;
}

function unavailable(detail: string): CallEnd {
  return ended("refused", { code: "tool_unavailable", detail });
}
