/** A constellation on paper: its facts, its answer with all parts, and its tasks as a table. */

import { PRINTED_MAX } from "../../app/workspace/printing.ts";
import type { AnswerPart } from "../../model/answer/parts.ts";
import type { StreamModel } from "../../model/stream/stream.ts";
import { elapsedMs, readingOrder, type TaskView } from "../../model/tasks/selectors.ts";
import type { Answer, Head } from "../../model/types.ts";
import { duration } from "../../model/words/words.ts";
import { PartView } from "./Answer.tsx";
import { AnswerBand } from "./AnswerBand.tsx";
import { PrintedFacts } from "./PrintedFacts.tsx";

interface Props {
  of: Head;
  answer: Answer | undefined;
  sentence: string;
  parts: readonly AnswerPart[];
  views: readonly TaskView[];
  devices: readonly string[];
  fleet: StreamModel;
  nowMs: number;
}

export function PrintedAnswer({ of, answer, sentence, parts, views, devices, fleet, nowMs }: Props) {
  return (
    <div className="printed">
      <PrintedFacts of={of} devices={devices} />
      <AnswerBand of={of} sentence={sentence} answer={answer} label={null} fleet={fleet} />
      {parts.map((part) => (
        <section key={part.key} aria-label={part.title}>
          <h2 className="head">{part.title}</h2>
          <PartView part={part} />
        </section>
      ))}
      {views.length > 0 && <Tasks views={views} nowMs={nowMs} />}
    </div>
  );
}

function Tasks({ views, nowMs }: { views: readonly TaskView[]; nowMs: number }) {
  return (
    <section aria-label="Tasks">
      <h2 className="head">Tasks</h2>
      <table>
        <thead>
          <tr>
            {["Task", "State", "Device", "Time"].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {readingOrder(views)
            .slice(0, PRINTED_MAX)
            .map((view) => {
              const took = elapsedMs(view, nowMs);
              return (
                <tr key={view.id}>
                  <td>{view.name}</td>
                  <td>{view.shown.word}</td>
                  <td>{view.deviceName || (view.spec.person ? "a person" : "")}</td>
                  <td className="num nowrap">{took === null ? "" : duration(took)}</td>
                </tr>
              );
            })}
        </tbody>
      </table>
      {views.length > PRINTED_MAX && (
        <p className="small">
          The first {PRINTED_MAX} of {views.length} tasks.
        </p>
      )}
    </section>
  );
}
