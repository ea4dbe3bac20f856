/**
 * The lanes of a run, placed again in slices whenever its spans have changed; the ones before stand meanwhile. A placing
 * that has begun is finished first, so that a run that changes all the time is drawn too. Draws nothing.
 */
import { useEffect, useRef, useState } from "react";
import { inSlices } from "../../../link/slices.ts";
import { type Arranged, arrangedSteps } from "../../../model/run/lanes.ts";
import type { SpanBook } from "../../../model/run/spans.ts";

/** The end of what goes on, for rows: nothing else finds room behind it. The drawing ends it at the present. */
const OPEN_MS = Number.MAX_SAFE_INTEGER;
/** What is shown before the first placing has ended. */
export const NOT_PLACED: Arranged = { lanes: [], bars: [], rows: 0, ofTask: new Map() };

export function useLanes(book: SpanBook | null, revision: number): Arranged {
  const [made, setMade] = useState(NOT_PLACED);
  const placing = useRef<{ stop: (() => void) | null; wanted: SpanBook | null }>({ stop: null, wanted: null });

  // biome-ignore lint/correctness/useExhaustiveDependencies: the book is changed in place; its revision says so.
  useEffect(() => {
    const now = placing.current;
    const begin = (from: SpanBook) => {
      now.wanted = null;
      now.stop = inSlices(arrangedSteps([...from.spans], OPEN_MS), (value) => {
        now.stop = null;
        setMade(value);
        if (now.wanted) begin(now.wanted);
      });
    };
    if (!book) return;
    if (now.stop) now.wanted = book;
    else begin(book);
  }, [book, revision]);

  useEffect(() => {
    const now = placing.current;
    return () => {
      now.stop?.();
      now.stop = null;
      now.wanted = null;
    };
  }, []);
  return made;
}
