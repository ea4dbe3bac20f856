/** While a running plan is edited here, nobody else edits the same rows: the hub is told so, again and again. */
import { useEffect, useState } from "react";
import { useWorkspace } from "../app/context.ts";
import { asProblem } from "../app/resource.ts";

const HELD_S = 120;
const AGAIN_MS = 45_000;
const ROWS_MOST = 200;

/**
 * Holds rows for as long as the page stands and returns why they are not held, if so. Applying judges the version all
 * the same, so what is not held is never lost, only perhaps refused.
 */
export function useHold(constellation: string, rows: readonly string[]): string {
  const { hub } = useWorkspace();
  const [why, setWhy] = useState("");
  const named = rows.slice(0, ROWS_MOST).join("\n");
  useEffect(() => {
    if (!named) return;
    let left = false;
    const tell = (reason: string) => {
      if (!left) setWhy(reason);
    };
    const hold = () => {
      if (document.hidden) return;
      hub.holdDraft(constellation, named.split("\n"), HELD_S).then(
        () => tell(""),
        (error) => tell(asProblem(error).reason),
      );
    };
    hold();
    const timer = setInterval(hold, AGAIN_MS);
    document.addEventListener("visibilitychange", hold);
    return () => {
      left = true;
      clearInterval(timer);
      document.removeEventListener("visibilitychange", hold);
      hub.closeDraft(constellation).catch(() => {
        // It ends by itself after its time, and the page that would say so is gone.
      });
    };
  }, [hub, constellation, named]);
  return why;
}
