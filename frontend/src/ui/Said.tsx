import { useState } from "react";
import { ownTimes } from "../model/words/clock.ts";
import { typed } from "../model/words/commands.ts";
import { readable } from "../model/words/readable.ts";

/** What the hub says, with its times on the reader's clock, in which commands and names stand between backticks: those are shown as code. */
export function Said({ text }: { text: string | null | undefined }) {
  const words = readable(ownTimes(text ?? ""));
  const parts = words.split("`");
  if (parts.length % 2 === 0) return <>{words}</>; // one that stands alone is a letter like any other
  let at = 0;
  return (
    <>
      {parts.map((part, index) => {
        const key = at;
        at += part.length + 1;
        if (index % 2 === 0) return part;
        const line = typed(part);
        // The name alone is short; a path of the program, with a folder before it, is for those who open a terminal.
        return line === part ? <code key={key}>{part}</code> : <Folded key={key} line={line} />;
      })}
    </>
  );
}

/** A line for a terminal: its place in the sentence is kept by words until somebody wants it. */
function Folded({ line }: { line: string }) {
  const [open, setOpen] = useState(false);
  if (open) return <code>{line}</code>;
  return (
    <button type="button" className="link" aria-expanded={false} onClick={() => setOpen(true)}>
      this command
    </button>
  );
}

/** The same words where only plain text goes: a tooltip, one clamped line. */
export const plain = (text: string): string => readable(text.split("`").length % 2 ? text.replaceAll("`", "") : text);
