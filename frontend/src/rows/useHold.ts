/** While a running plan is edited here, nobody else edits the same rows: the hub is told so, again and again. */
import { useEffect } from "react";
import { useWorkspace } from "../app/context.ts";

const HELD_S = 120;
const AGAIN_MS = 45_000;
const ROWS_MOST = 200;

/** Holds rows for as long as the page stands; a failure holds nothing, and applying still judges the version. */
export function useHold(constellation: string, rows: readonly string[]): void {
  const { hub } = useWorkspace();
  const named = rows.slice(0, ROWS_MOST).join("\n");
  useEffect(() => {
    if (!named) return;
    const hold = () => {
      if (!document.hidden) hub.holdDraft(constellation, named.split("\n"), HELD_S).catch(unheld);
    };
    hold();
    const timer = setInterval(hold, AGAIN_MS);
    document.addEventListener("visibilitychange", hold);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", hold);
      hub.closeDraft(constellation).catch(unheld);
    };
  }, [hub, constellation, named]);
}

/** Somebody else holds a row, or the constellation has ended: applying is refused then, with the reason. */
const unheld = (): void => {};
