/** The part of a result that stands beside a question, so that a person sees for what the answer is. */
import type { Question } from "../../../model/types.ts";
import { parseExact } from "../../../model/words/exact.ts";
import { ValueView } from "../../answer/values/ValueView.tsx";

type Shown = NonNullable<Question["shown"]>;

const placeOf = ({ source, output }: Shown): string =>
  output ? `${output.slice(1).replaceAll("/", " ").replaceAll("_", " ")} of ${source}` : source;

/** The fields of a file that its path, its size and its time say as well. */
const SAID_BY_PATH = new Set(["below", "media", "mode", "name"]);

/** The entries of a list that was cut after a whole one; null for a text. */
function rowsOf(text: string): unknown[] | null {
  try {
    const value = parseExact(text);
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** Files by path, size and time, the path first; any other list as it is. */
function legible(text: string, rows: unknown[] | null): string {
  const isFile = (row: unknown) => typeof row === "object" && row !== null && "path" in row && "bytes" in row;
  if (!rows?.length || !rows.every(isFile)) {
    return text;
  }
  const fields = rows.map((row) => {
    const { path, ...more } = row as Record<string, unknown>;
    return { path, ...Object.fromEntries(Object.entries(more).filter(([name]) => !SAID_BY_PATH.has(name))) };
  });
  return JSON.stringify(fields);
}

export function ShownResult({ shown }: { shown: Shown }) {
  const place = placeOf(shown);
  const rows = rowsOf(shown.value);
  return (
    <section className="wide shown" aria-label={`Shown: ${place}`}>
      <p className="small dim">Shown: {place}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by the keyboard. */}
      <div className="box" tabIndex={0}>
        <ValueView text={legible(shown.value, rows)} table exact />
      </div>
      {(shown.left_out ?? 0) > 0 && (
        <p className="small dim">
          {rows === null
            ? `${shown.left_out} more characters are`
            : `These are the first ${rows.length}; the others are`}{" "}
          not shown here. The whole is the result of {shown.source}.
        </p>
      )}
    </section>
  );
}
