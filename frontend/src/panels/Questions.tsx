/** Questions to a person, answered where they stand: approvals and `person:` tasks alike. */
import { useState } from "react";
import { useDoing } from "../app/Actions.tsx";
import { useNow, useWorkspace } from "../app/context.ts";
import { answeredHere } from "../app/needs.ts";
import type { Choice, Question } from "../model/types.ts";
import { age, duration } from "../model/words.ts";
import { Glyph } from "../ui/Glyph.tsx";
import { Button } from "../ui/parts.tsx";

const PERSON: Choice[] = [
  { value: "done", label: "Done" },
  { value: "cannot", label: "Cannot", fails: true },
];
const APPROVAL: Choice[] = [
  { value: "deny", label: "Deny", fails: true },
  { value: "allow", label: "Approve" },
];

export function choicesOf(question: Question): Choice[] {
  if (question.choices?.length) return question.choices;
  return question.kind === "person" ? PERSON : APPROVAL;
}

interface QuestionCardProps {
  question: Question;
  constellation: string;
  /** Where it comes from, with a way there. */
  origin?: React.ReactNode;
}

export function QuestionCard({ question, constellation, origin }: QuestionCardProps) {
  const { hub } = useWorkspace();
  const { report, say } = useDoing();
  const now = useNow(1000);
  const [busy, setBusy] = useState(false);
  const [reason, setReason] = useState<string | null>(null);
  const answer = async (choice: Choice) => {
    setBusy(true);
    try {
      await hub.answer(constellation, question.id, choice.value, reason ?? "");
      answeredHere(constellation, question.id);
      say(`Answered: ${choice.label}`);
    } catch (error) {
      report(error);
    } finally {
      setBusy(false);
    }
  };
  const choices = choicesOf(question);
  const effects = question.effects ?? [];
  return (
    <div className="item">
      <Glyph name="hand" tone="violet" />
      <b className="strong">{question.text}</b>
      <span className="answers">
        {choices.map((choice) => (
          <Button
            key={choice.value}
            kind={choice.fails ? undefined : "primary"}
            disabled={busy}
            onClick={() => void answer(choice)}
          >
            {choice.label}
          </Button>
        ))}
      </span>
      <span className="sub">
        {origin}
        {effects.length > 0 && ` It would ${effects.join(", ")}.`} Asked {age(question.opened_ms, now)}
        {question.expires_ms ? `, expires to deny in ${duration(Math.max(0, question.expires_ms - now))}` : ""}
        {question.version ? `, bound to v${question.version}` : ""}.{" "}
        {reason === null && (
          <button type="button" className="link" onClick={() => setReason("")}>
            Add a reason
          </button>
        )}
      </span>
      {reason !== null && (
        <input
          className="input reason"
          aria-label="Reason"
          placeholder="Reason, kept with the answer"
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      )}
    </div>
  );
}
