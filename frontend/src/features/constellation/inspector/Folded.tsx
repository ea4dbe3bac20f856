/**
 * A text of any length in little room: its first lines, the rest behind a press. Several lines are output, in mono. The
 * last line of a traceback is its cause, and is shown with the first ones.
 */
import { useState } from "react";
import { plural } from "../../../model/words/words.ts";
import { Said } from "../../../ui/Said.tsx";

const LINES_MAX = 4;
/** The button takes a line: so few lines behind it are shown at once. */
const HIDDEN_MIN = 4;
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
  const few = lines.length < LINES_MAX + HIDDEN_MIN && trimmed.length <= 2 * CHARS_MAX;
  const start = few ? trimmed : lines.slice(0, LINES_MAX).join("\n").slice(0, CHARS_MAX);
  const longer = start.length < trimmed.length;
  const cause = longer ? causeOf(lines) : "";
  const left = lines.length - LINES_MAX - (cause ? 1 : 0);
  return (
    <div className="folded">
      <pre className={lines.length > 1 ? "log small" : "said"} tabIndex={open ? 0 : undefined}>
        {open ? trimmed.slice(0, WHOLE_CHARS_MAX) : start}
        {!open && longer && (cause ? `\n  ...\n${cause}` : " ...")}
      </pre>
      {longer && (
        <button type="button" className="link small" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Show less" : left > 0 ? `Show ${plural(left, "more line")}` : "Show all of it"}
        </button>
      )}
    </div>
  );
}

/** The last line of a traceback of Python, which says what went wrong; empty for any other text. */
function causeOf(lines: readonly string[]): string {
  const traced =
    lines.length > LINES_MAX && lines.some((line) => line.startsWith("Traceback (most recent call last):"));
  return traced ? (lines.at(-1) ?? "").slice(0, CHARS_MAX) : "";
}
