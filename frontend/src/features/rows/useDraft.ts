/** The document under the editor, with undo and redo, and kept in the browser from the first change on. */
import { useCallback, useEffect, useState } from "react";
import { type Draft, documentOf, isFields, same } from "../../model/rows/document.ts";
import { draftOfText, type Read } from "../../model/rows/text.ts";
import { begun, moved, redone, stepped, undone } from "../../model/rows/undo.ts";

/** A document, and the text in which somebody writes it. A text with a fault stands beside the document before it. */
export interface Written {
  draft: Draft;
  text: { typed: string; fault: Read["fault"] } | null;
}

export interface Drafting extends Written {
  /** Takes the next document; steps with the same `about` that follow closely are one step. */
  change: (next: Draft | ((draft: Draft) => Draft), about?: string) => void;
  /** Takes the next text, and the document that it means where it can be read. */
  type: (typed: string) => void;
  /** Moves the draft and all its steps onto another ground; no step of its own. */
  rebase: (move: (draft: Draft) => Draft) => void;
  undo: (() => void) | null;
  redo: (() => void) | null;
}

export function useDraft(first: () => Written, keep: (written: Written) => void): Drafting {
  const [line, setLine] = useState(() => begun(first()));
  const touched = line.past.length + line.future.length > 0;
  useEffect(() => {
    if (touched) keep(line.now);
  }, [keep, line.now, touched]);
  const change = useCallback(
    (next: Draft | ((draft: Draft) => Draft), about = "") =>
      setLine((held) => {
        const draft = typeof next === "function" ? next(held.now.draft) : next;
        return draft === held.now.draft ? held : stepped(held, { draft, text: null }, about, performance.now());
      }),
    [],
  );
  const type = useCallback((typed: string) => {
    const { draft: read, fault } = draftOfText(typed);
    setLine((held) => {
      const { draft } = held.now;
      const next = read && !same(documentOf(read), documentOf(draft)) ? read : draft;
      return stepped(held, { draft: next, text: { typed, fault } }, "text", performance.now());
    });
  }, []);
  return {
    ...line.now,
    change,
    type,
    rebase: useCallback(
      (move: (draft: Draft) => Draft) =>
        // A text that could be read stands for the plan before; one with a fault is still to be mended.
        setLine((held) => moved(held, ({ draft, text }) => ({ draft: move(draft), text: text?.fault ? text : null }))),
      [],
    ),
    undo: line.past.length ? () => setLine(undone) : null,
    redo: line.future.length ? () => setLine(redone) : null,
  };
}

/** As the browser has it: the fields of the document, and beside them the text where there is one. */
export interface KeptDraft extends Draft {
  typed?: string;
}

export const keptOf = ({ draft, text }: Written): KeptDraft => ({ ...draft, ...(text ? { typed: text.typed } : {}) });

/** What was kept, if it can be read; an older page may have written it. */
export function writtenIn(kept: KeptDraft | null | undefined): Written | null {
  if (!kept || !isFields(kept.plan)) return null;
  const draft = { head: isFields(kept.head) ? kept.head : null, plan: kept.plan };
  const { typed } = kept;
  return { draft, text: typeof typed === "string" ? { typed, fault: draftOfText(typed).fault } : null };
}
