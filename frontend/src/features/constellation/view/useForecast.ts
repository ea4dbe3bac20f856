/**
 * The forecast of a running constellation: asked for once, and again after something has happened, once a second at
 * most, and not before the hub would give another answer. Its tasks, which are most of it, come where they are drawn. It is also out of date once a task is later than it says. Draws nothing.
 */
import { useEffect, useState } from "react";
import { useWorkspace } from "../../../app/workspace/context.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import type { RunWhatIf } from "../../../model/types.ts";

const AGAIN_MS = 1_000;
/** A late task is looked at again after this time; each forecast gives it as long again as it is late. */
const LATE_MS = 2_000;
/** A browser runs a later timer at once. */
const TIMER_MOST_MS = 2_147_483_647;

export function useForecast(id: string, model: StreamModel, wanted: boolean, tasks: boolean): RunWhatIf | null {
  const workspace = useWorkspace();
  const { hub } = workspace;
  const [found, setFound] = useState<RunWhatIf | null>(null);

  useEffect(() => {
    if (!wanted) {
      setFound(null);
      return;
    }
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | null = null;
    let late: ReturnType<typeof setTimeout> | null = null;
    let reading = false;
    let heard = false;
    let standsMs = 0;
    const read = async () => {
      timer = null;
      if (reading) {
        heard = true;
        return;
      }
      reading = true;
      heard = false;
      if (late) clearTimeout(late);
      late = null;
      try {
        const next = await hub.runForecast(id, tasks, abort.signal);
        standsMs = next.stands_ms;
        setFound(next);
        const firstMs = Math.min(...(next.now?.tasks ?? []).slice(0, 200).map((task) => task.end_ms));
        const dueMs = Math.min(Math.max(LATE_MS, firstMs - next.at_ms + LATE_MS), TIMER_MOST_MS);
        if (Number.isFinite(firstMs)) late = setTimeout(hear, dueMs);
      } catch {
        // Without an answer there is no number; the next event asks again.
        if (!abort.signal.aborted) setFound(null);
      } finally {
        reading = false;
        if (heard && !abort.signal.aborted) hear();
      }
    };
    const hear = () => {
      timer ??= setTimeout(() => void read(), Math.max(AGAIN_MS, standsMs));
    };
    void read();
    const stop = model.subscribe(hear);
    return () => {
      abort.abort();
      stop();
      if (timer) clearTimeout(timer);
      if (late) clearTimeout(late);
    };
  }, [hub, id, model, wanted, tasks]);
  return found;
}
