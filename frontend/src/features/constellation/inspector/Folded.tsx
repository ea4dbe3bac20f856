/** A text of any length in little room: its first lines, the rest behind a press. Several lines are output, in mono. */
import { useState } from "react";
import { plural } from "../../../model/words/words.ts";
import { Said } from "../../../ui/Said.tsx";

const LINES_MAX = 4;
const CHARS_MAX = 400;
/** Unfolded it scrolls; beyond this it is shown to its end by the log. */
const WHOLE_CHARS_MAX = 64 * 1024;

export function Folded({ text }: { text: string }) {
  const [open, setOpen] = useState(false);
  const trimmed = text.trim();
  const lines = trimmed.split("\n");
  if (lines.length === 1 && trimmed.length <= CHARS_MAX)
    return (
      <p className="strong">
        <Said text={trimmed} />
      </p>
    );
  const start = lines.slice(0, LINES_MAX).join("\n").slice(0, CHARS_MAX);
  const longer = start.length < trimmed.length;
  const left = lines.length - LINES_MAX;
  return (
    <div className="folded">
      <pre className={lines.length > 1 ? "log small" : "said"} tabIndex={open ? 0 : undefined}>
        {open ? trimmed.slice(0, WHOLE_CHARS_MAX) : start}
        {!open && longer && " ..."}
      </pre>
      {longer && (
        <button type="button" className="link small" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Show less" : left > 0 ? `Show ${plural(left, "more line")}` : "Show all of it"}
        </button>
      )}
    </div>
  );
}
