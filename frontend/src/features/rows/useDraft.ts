/** The document under the editor: undo, redo, and a copy in the browser that survives a reload. */
import { useCallback, useEffect, useState } from "react";
import type { Draft } from "../../model/rows/document.ts";
import { begun, moved, redone, stepped, undone } from "../../model/rows/undo.ts";

export interface Drafting {
  draft: Draft;
  /** Takes the next document; steps with the same `about` that follow closely are one step. */
  change: (next: Draft | ((draft: Draft) => Draft), about?: string) => void;
  /** Moves the draft and all its steps onto another ground; no step of its own. */
  rebase: (move: (draft: Draft) => Draft) => void;
  undo: (() => void) | null;
  redo: (() => void) | null;
}

export function useDraft(first: () => Draft, keep: (draft: Draft) => void): Drafting {
  const [line, setLine] = useState(() => begun(first()));
  useEffect(() => keep(line.now), [keep, line.now]);
  const change = useCallback(
    (next: Draft | ((draft: Draft) => Draft), about = "") =>
      setLine((held) => stepped(held, typeof next === "function" ? next(held.now) : next, about, performance.now())),
    [],
  );
  return {
    draft: line.now,
    change,
    rebase: useCallback((move: (draft: Draft) => Draft) => setLine((held) => moved(held, move)), []),
    undo: line.past.length ? () => setLine(undone) : null,
    redo: line.future.length ? () => setLine(redone) : null,
  };
}
