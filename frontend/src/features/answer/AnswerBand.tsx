/** The band on top of a constellation: its answer in a sentence, or why there is none yet, and the answer's parts. */

import { Fragment, type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { citesIn } from "../../model/answer/cites.ts";
import { taskNamed } from "../../model/fleet/fleet.ts";
import type { StreamModel } from "../../model/stream/stream.ts";
import { shortAnswer } from "../../model/tasks/selectors.ts";
import type { Answer, Head } from "../../model/types.ts";
import { readable } from "../../model/words/readable.ts";
import { Said } from "../../ui/Said.tsx";

interface Props {
  of: Head;
  answer: Answer | undefined;
  /** The sentence of this moment. */
  sentence: string;
  /** What the band is of; null where there is no room to say it. */
  label: string | null;
  fleet: StreamModel;
  children?: ReactNode;
}

export function AnswerBand({ of, answer, sentence: now, label, fleet, children }: Props) {
  const [whole, setWhole] = useState(false);
  const text = useRef<HTMLParagraphElement>(null);
  const sentence = now || sentenceWithout(of);
  // A sentence of the plan says it better than a text that a device made.
  const short = answer?.stated ? "" : shortAnswer(answer, of.results);
  const [first, rest] = short ? [`“${short}”`, sentence] : leadOf(sentence);
  const words = answer?.words ?? "";
  const cut = useCut(text, whole, `${words}${first}${rest}`);
  return (
    <div className={`answer ${words ? "worded" : ""}`}>
      {label && <span className="pill line">{label}</span>}
      {words && answer ? (
        <p ref={text} className={`sentence ${whole ? "whole" : ""}`}>
          <AnswerWords constellation={of.id} answer={answer} fleet={fleet} />{" "}
          <span className="dim">
            <Said text={sentence} />
          </span>
        </p>
      ) : (
        <p ref={text} className={`sentence ${whole ? "whole" : ""}`}>
          <strong>{short ? readable(first) : <Said text={first} />}</strong>{" "}
          <span className={short ? "dim" : undefined}>
            <Said text={rest} />
          </span>
        </p>
      )}
      {(cut || whole) && (
        <button type="button" className="link small nowrap" aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? "Less" : "All of it"}
        </button>
      )}
      {children}
      <Struck sentences={answer?.struck ?? []} />
    </div>
  );
}

interface WordsProps {
  constellation: string;
  answer: Answer;
  fleet: StreamModel;
}

/** The answer in a model's words: each mark opens the task that it cites. */
function AnswerWords({ constellation, answer, fleet }: WordsProps) {
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
function Struck({ sentences }: { sentences: readonly string[] }) {
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

/** Whether lines of the text are hidden now; while all of it is shown, the last answer stays. */
function useCut(text: RefObject<HTMLElement | null>, whole: boolean, words: string): boolean {
  const [cut, setCut] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other words take other room.
  useEffect(() => {
    const element = text.current;
    if (whole || !element) return;
    const look = () => setCut(element.scrollHeight > element.clientHeight + 1);
    if (typeof ResizeObserver !== "function") {
      look();
      return;
    }
    // It calls once for a new element, too, when the page has been laid out: asked here, it would be laid out twice.
    const watch = new ResizeObserver(look);
    watch.observe(element);
    return () => watch.disconnect();
  }, [text, whole, words]);
  return cut;
}

/** An end of a sentence, or a text in quotes: an end within one is a device's. An apostrophe within a word is no quote. */
const ENDS = /(?<![\p{L}\p{N}])'[^']*'(?![\p{L}\p{N}])|[.!?](?=\s)/gu;

/** The first sentence, which says the result, and the rest with its leading space. */
export function leadOf(text: string): [string, string] {
  for (const { 0: found, index } of text.matchAll(ENDS))
    if (found.length === 1) return [text.slice(0, index + 1), text.slice(index + 1)];
  return [text, ""];
}

function sentenceWithout({ state, request, fault }: Head): string {
  if (fault?.reason) return fault.reason;
  if (state === "planning") return `Planning: ${request ?? ""}`;
  if (state === "looking") return `Looking at devices before planning: ${request ?? ""}`;
  return request || "Nothing to show yet.";
}
