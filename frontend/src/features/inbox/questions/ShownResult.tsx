/** The part of a result that stands beside a question, so that a person sees for what the answer is. */
import type { Question } from "../../../model/types.ts";
import { ValueView } from "../../answer/values/ValueView.tsx";

type Shown = NonNullable<Question["shown"]>;

const placeOf = ({ source, output }: Shown): string =>
  output ? `${output.slice(1).replaceAll("/", " ").replaceAll("_", " ")} of ${source}` : source;

export function ShownResult({ shown }: { shown: Shown }) {
  const place = placeOf(shown);
  return (
    <section className="wide shown" aria-label={`Shown: ${place}`}>
      <p className="small dim">Shown: {place}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by the keyboard. */}
      <div className="box" tabIndex={0}>
        <ValueView text={shown.value} table exact />
      </div>
      {(shown.left_out ?? 0) > 0 && (
        <p className="small dim">
          {shown.left_out} more characters are not shown here; the whole is the result of {shown.source}.
        </p>
      )}
    </section>
  );
}
