/** Undo as a button that says why the hub would refuse it before it is pressed: others' work is not everybody's. */
import { useEffect, useState } from "react";
import { history } from "../../link/history.ts";
import { Problem } from "../../link/rest.ts";
import type { TaskView } from "../../model/tasks/selectors.ts";
import type { Head } from "../../model/types.ts";
import { whyNotBy } from "../../ui/away.tsx";
import type { Workspace } from "../workspace/workspace.ts";
import type { Action } from "./actions.ts";
import { undoWork } from "./goingBack.ts";

const FORBIDDEN = "forbidden";

/** The action of `undoWork`, blocked with the hub's reason. Who may approve is never refused, so nothing is asked. */
export function useUndo(
  workspace: Workspace,
  head: Head,
  all: readonly TaskView[],
  task: TaskView | null,
): Action | null {
  const { session, hub } = workspace;
  const action = undoWork(workspace, head, all, task);
  const doubted = Boolean(action && !action.why && session && !session.approves && !whyNotBy(session, true));
  const asked = `${head.id} ${task?.id ?? ""}`;
  const [refused, setRefused] = useState<{ asked: string; why: string } | null>(null);
  useEffect(() => {
    if (!doubted) return;
    let left = false;
    const [constellation = "", one = ""] = asked.split(" ");
    history.wouldUndo(hub.rest, constellation, one ? [one] : []).then(
      () => !left && setRefused(null),
      (error: unknown) => {
        // Any other problem is told when it is pressed: it may be over by then.
        if (left || !(error instanceof Problem) || error.code !== FORBIDDEN) return;
        setRefused({ asked, why: `${error.reason}. ${error.hint}`.trim() });
      },
    );
    return () => {
      left = true;
    };
  }, [doubted, asked, hub]);
  return action && doubted && refused?.asked === asked ? { ...action, why: refused.why } : action;
}
