/**
 * The run behind a timeline: its report, read once, and its spans, which the events of the stream go on with. Figures are
 * read again only after something has happened, and not more often than `AGAIN_MS`. Draws nothing.
 */
import { useEffect, useState } from "react";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { asProblem } from "../../../app/workspace/resource.ts";
import type { Problem } from "../../../link/rest.ts";
import { SpanBook } from "../../../model/run/spans.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import type { RunReport } from "../../../model/types.ts";

const AGAIN_MS = 5_000;
/** A person sees a bar begin within this time; more often is not worth the work. */
const SEEN_MS = 200;

export interface Run {
  report: RunReport | null;
  book: SpanBook | null;
  /** Rises when a span has begun or ended. */
  revision: number;
  problem: Problem | null;
}

export function useRun(id: string, model: StreamModel): Run {
  const { hub } = useWorkspace();
  const [run, setRun] = useState<Run>({ report: null, book: null, revision: 0, problem: null });

  useEffect(() => {
    const abort = new AbortController();
    let book: SpanBook | null = null;
    let reading = false;
    let readMs = 0;
    let foldTimer: ReturnType<typeof setTimeout> | null = null;
    let figureTimer: ReturnType<typeof setTimeout> | null = null;

    const read = async (spans: boolean) => {
      reading = true;
      try {
        const report = await hub.report(id, spans, abort.signal);
        if (spans) book = SpanBook.of(report);
        setRun((before) => ({ report, book, revision: before.revision + 1, problem: null }));
      } catch (error) {
        if (!abort.signal.aborted) setRun((before) => ({ ...before, problem: asProblem(error) }));
      } finally {
        reading = false;
        readMs = performance.now();
        if (!abort.signal.aborted) hear();
      }
    };
    const fold = () => {
      foldTimer = null;
      if (!book || reading) return;
      const before = book.seq;
      const whole = book.add(model.events) && book.seq >= model.seq;
      if (!whole) void read(true);
      else if (book.seq !== before) {
        setRun((last) => ({ ...last, book, revision: last.revision + 1 }));
        figureTimer ??= setTimeout(
          () => {
            figureTimer = null;
            if (!reading) void read(false);
          },
          Math.max(0, readMs + AGAIN_MS - performance.now()),
        );
      }
    };
    const hear = () => {
      foldTimer ??= setTimeout(fold, SEEN_MS);
    };
    void read(true);
    const stop = model.subscribe(hear);
    return () => {
      abort.abort();
      stop();
      if (foldTimer) clearTimeout(foldTimer);
      if (figureTimer) clearTimeout(figureTimer);
    };
  }, [hub, id, model]);
  return run;
}
