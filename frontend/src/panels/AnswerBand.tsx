/** The band on top of a constellation: its answer in a sentence, or why there is none yet, and the answer's parts. */
import { type ReactNode, useState } from "react";
import { shortAnswer } from "../model/selectors.ts";
import type { Answer, Head } from "../model/types.ts";
import { Said } from "../ui/Said.tsx";

const LONG = 150;

interface Props {
  of: Head;
  answer: Answer | undefined;
  /** The sentence of this moment. */
  sentence: string;
  /** What the band is of; null where there is no room to say it. */
  label: string | null;
  children?: ReactNode;
}

export function AnswerBand({ of, answer, sentence: now, label, children }: Props) {
  const [whole, setWhole] = useState(false);
  const sentence = now || sentenceWithout(of);
  const short = shortAnswer(answer);
  const [first, rest] = short ? [/[.!?]$/.test(short) ? short : `${short}.`, ` ${sentence}`] : leadOf(sentence);
  return (
    <div className="answer">
      {label && <span className="pill line">{label}</span>}
      <p className={`sentence ${whole ? "whole" : ""}`}>
        <strong>
          <Said text={first} />
        </strong>
        <Said text={rest} />
      </p>
      {sentence.length > LONG && (
        <button type="button" className="link small nowrap" aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? "Less" : "All of it"}
        </button>
      )}
      {children}
    </div>
  );
}

/** The first sentence, which says the result, and the rest with its leading space. */
function leadOf(text: string): [string, string] {
  const end = /[.!?](?=\s)/.exec(text);
  return end ? [text.slice(0, end.index + 1), text.slice(end.index + 1)] : [text, ""];
}

function sentenceWithout({ state, request, fault }: Head): string {
  if (fault?.reason) return fault.reason;
  if (state === "planning") return `Planning: ${request ?? ""}`;
  return request || "Nothing to show yet.";
}
