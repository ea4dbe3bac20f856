/** While a running plan is edited here, nobody else edits the same rows. The hub grants that for a time; it is renewed. */
import { useCallback, useEffect, useRef, useState } from "react";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { asProblem } from "../../../app/workspace/resource.ts";

/** A browser that is gone keeps others from these rows no longer than this. */
const HELD_S = 60;
/** The share of the granted time after which it is renewed, so that one lost renewal does not end it. */
const RENEWED_AT = 3 / 8;
const ROWS_MOST = 200;

/**
 * Holds rows for as long as the page stands and returns why they are not held, if so. Applying judges the version in
 * any case, so what is not held is never lost, only perhaps refused.
 */
export function useHold(constellation: string, rows: readonly string[]): string {
  const { hub, live } = useWorkspace();
  const [why, setWhy] = useState("");
  const named = rows.slice(0, ROWS_MOST).join("\n");
  /** What was asked last: the hub takes a hold and its end in the order in which they were made. */
  const last = useRef<Promise<unknown>>(Promise.resolve());
  const held = useRef(false);
  const close = useCallback(() => {
    if (!held.current) return;
    held.current = false;
    last.current = last.current.then(() =>
      hub.closeDraft(constellation).catch(() => {
        // The hub ends it after its time, and the page that would say so is gone.
      }),
    );
  }, [hub, constellation]);
  useEffect(() => {
    if (!named) {
      close();
      setWhy("");
      return;
    }
    let left = false;
    let renewal: ReturnType<typeof setTimeout> | undefined;
    const tell = (reason: string) => {
      if (!left) setWhy(reason);
    };
    const ask = async () => {
      if (left) return;
      try {
        await hub.holdDraft(constellation, named.split("\n"), HELD_S);
        tell("");
      } catch (error) {
        tell(asProblem(error).reason);
      }
    };
    const hold = () => {
      clearTimeout(renewal);
      if (document.hidden || left) return;
      renewal = setTimeout(hold, HELD_S * 1000 * RENEWED_AT);
      held.current = true;
      last.current = last.current.then(ask);
    };
    hold();
    document.addEventListener("visibilitychange", hold);
    // A hub that was away could not be asked, and one that is back may have forgotten.
    const stop = live.onStatus(() => live.readStatus().state === "live" && hold());
    return () => {
      left = true;
      stop();
      clearTimeout(renewal);
      document.removeEventListener("visibilitychange", hold);
    };
  }, [hub, live, constellation, named, close]);
  useEffect(() => close, [close]);
  return why;
}
