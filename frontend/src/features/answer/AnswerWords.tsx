/** The answer in a model's words: each mark opens the task that it cites, and unproved sentences are told apart. */
import { Fragment } from "react";
import { Link } from "wouter";
import { citesIn } from "../../model/answer/cites.ts";
import { taskNamed } from "../../model/fleet/fleet.ts";
import type { StreamModel } from "../../model/stream/stream.ts";
import type { Answer } from "../../model/types.ts";

interface Props {
  constellation: string;
  answer: Answer;
  fleet: StreamModel;
}

export function AnswerWords({ constellation, answer, fleet }: Props) {
  const cites = answer.cites ?? [];
  return (
    <>
      {citesIn(answer.words ?? "", cites.length).map((part) => {
        const cite = part.cite === null ? undefined : cites[part.cite];
        if (!cite) return <Fragment key={part.at}>{part.text}</Fragment>;
        const from = `${taskNamed(fleet, cite.task)}${cite.pointer ? ` ${cite.pointer}` : ""}`;
        return (
          <Link
            key={part.at}
            className="cite"
            href={`/constellations/${encodeURIComponent(constellation)}/t/${encodeURIComponent(cite.task)}?tab=result`}
            title={`From ${from}`}
            aria-label={`Source: ${from}`}
          >
            {part.text}
          </Link>
        );
      })}
    </>
  );
}

/** The sentences of the model that no cited result shows. */
export function Struck({ sentences }: { sentences: readonly string[] }) {
  if (sentences.length === 0) return null;
  return (
    <details className="struck small">
      <summary>
        {sentences.length === 1 ? "One sentence was" : `${sentences.length} sentences were`} left out: no cited result
        shows
        {sentences.length === 1 ? " it" : " them"}
      </summary>
      <ul>
        {sentences.map((sentence) => (
          <li key={sentence}>
            <s>{sentence}</s>
          </li>
        ))}
      </ul>
    </details>
  );
}
