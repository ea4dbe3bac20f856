/** The part of a result that stands beside a question, so that a person sees for what the answer is. */
import type { Question } from "../../../model/types.ts";
import { ValueView } from "../../answer/values/ValueView.tsx";

type Shown = NonNullable<Question["shown"]>;

const placeOf = ({ source, output }: Shown): string =>
  output ? `${output.slice(1).replaceAll("/", " ").replaceAll("_", " ")} of ${source}` : source;

/** How many entries a list has that was cut after a whole one; null for a text. */
function rowsOf(text: string): number | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.length : null;
  } catch {
    return null;
  }
}

export function ShownResult({ shown }: { shown: Shown }) {
  const place = placeOf(shown);
  const rows = rowsOf(shown.value);
  return (
    <section className="wide shown" aria-label={`Shown: ${place}`}>
      <p className="small dim">Shown: {place}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by the keyboard. */}
      <div className="box" tabIndex={0}>
        <ValueView text={shown.value} table exact />
      </div>
      {(shown.left_out ?? 0) > 0 && (
        <p className="small dim">
          {rows === null ? `${shown.left_out} more characters are` : `These are the first ${rows}; the others are`} not
          shown here. The whole is the result of {shown.source}.
        </p>
      )}
    </section>
  );
}
