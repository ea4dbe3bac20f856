/** Questions to a person, answered where they stand: approvals, `person:` tasks and a planner's questions alike. */

import { useState } from "react";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { answeredHere, othersAsked, type ShownQuestion } from "../../../app/waiting/needs.ts";
import { useFleet, useNow, useWorkspace } from "../../../app/workspace/context.ts";
import { useKeptText } from "../../../app/workspace/drafts.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import { nameOfDevice } from "../../../model/fleet/fleet.ts";
import type { Call, Choice, Question } from "../../../model/types.ts";
import { ownTimes } from "../../../model/words/clock.ts";
import { readable } from "../../../model/words/readable.ts";
import { age, author, duration } from "../../../model/words/words.ts";
import { useRefusal } from "../../../ui/away.tsx";
import { Glyph } from "../../../ui/Glyph.tsx";
import { Button, focusAtOnce } from "../../../ui/parts.tsx";
import { pressedKey } from "../../../ui/pressedKey.ts";
import { PlanInShort } from "./PlanInShort.tsx";
import { ShownResult } from "./ShownResult.tsx";

const PERSON: Choice[] = [
  { value: "done", label: "Done" },
  { value: "cannot", label: "Cannot", fails: true },
];
/** So many answers stand beside the words of a question; more of them stand below, so that both can be read. */
const CHOICES_BESIDE = 2;
/** The answers of an approval are short, and stand in one place in all of its cards. */
const APPROVALS_BESIDE = 3;
/** A planner's question is answered in words, or by one of the answers that it offers. */
const WORDS: Choice = { value: "answer", label: "Answer" };
const DENY: Choice = { value: "deny", label: "Deny", fails: true };
const ALWAYS: Choice = { value: "always", label: "Always allow" };
const NO: Choice = { value: "deny", label: "Keep the plan", fails: true };
const APPLY: Choice = { value: "allow", label: "Allow this and apply" };
const ALLOW: Choice = { value: "allow", label: "Approve" };

export function choicesOf(question: Question): Choice[] {
  if (question.kind === "planner") return [...(question.choices ?? []), WORDS];
  if (question.choices?.length) return question.choices;
  if (question.kind === "person") return PERSON;
  if (question.kind === "review") return [NO, APPLY];
  return question.calls?.length ? [DENY, ALWAYS, ALLOW] : [DENY, ALLOW];
}

/** The button that stands out: the usual answer of a planner's question, else each that does not fail. */
function isPrimary(question: Question, choice: Choice): boolean {
  if (question.kind === "planner") return question.usual ? choice.value === question.usual : choice === WORDS;
  return !choice.fails && choice !== ALWAYS;
}

interface QuestionCardProps {
  /** With the answers after which files leave their place, where the hub knows some: they look like no other one. */
  question: Question & Pick<ShownQuestion, "takes_away" | "only" | "author" | "said">;
  constellation: string;
  /** Where it comes from, with a way there. */
  origin?: React.ReactNode;
  /** Lets it be chosen, to be answered together with others. */
  picked?: { chosen: boolean; onChange: (chosen: boolean) => void };
}

/** The other person or program that asked for the plan; empty for one's own, and for an assistant, which has a line. */
const askerOf = (by: string, me: string): string =>
  !by || by.startsWith("assistant:") || author(by) === me ? "" : author(by);

export function QuestionCard({ question, constellation, origin, picked }: QuestionCardProps) {
  const { hub, session } = useWorkspace();
  const { report, say } = useDoing();
  const now = useNow(1000);
  const [busy, setBusy] = useState(false);
  const [reason, setReason] = useKeptText(`${constellation}.${question.id}.reason`);
  const asksWords = question.kind === "planner";
  const [reasoning, setReasoning] = useState<"begun" | "pressed" | null>(asksWords || reason ? "begun" : null);
  const refusal = useRefusal("approver");
  const answer = async (choice: Choice) => {
    setBusy(true);
    try {
      // An offered answer stands for itself; words beside it would be taken instead.
      await hub.answer(constellation, question, choice.value, asksWords && choice !== WORDS ? "" : reason);
      setReason("");
      answeredHere(constellation, question.id, choice.label);
      say(`Answered: ${choice.label}`);
    } catch (error) {
      report(error);
    } finally {
      setBusy(false);
    }
  };
  const choices = choicesOf(question);
  const asker = askerOf(question.author ?? "", session?.principal.name ?? "");
  const takesAway = ({ value }: Choice) => question.takes_away?.includes(value);
  const beside = question.kind === "approval" ? APPROVALS_BESIDE : CHOICES_BESIDE;
  const lacksWords = asksWords && !reason.trim();
  const others = othersAsked(question, session?.principal.name ?? "");
  const notYours = others ? `Only the answer of ${others} counts.` : null;
  return (
    <div className="item" role="group" tabIndex={-1} aria-label={`Question: ${question.text}`}>
      {picked ? (
        <input
          type="checkbox"
          aria-label={`Choose: ${readable(question.text)}`}
          checked={picked.chosen}
          disabled={question.said !== undefined}
          onChange={(event) => picked.onChange(event.target.checked)}
        />
      ) : (
        <Glyph
          name={question.said === undefined ? "hand" : "tick"}
          tone={question.said === undefined ? "violet" : "teal"}
        />
      )}
      <b className="strong">{readable(ownTimes(question.text))}</b>
      <span className={`answers ${choices.length > beside ? "below" : ""}`}>
        {choices.map((choice) => (
          <Button
            asks="approver"
            key={choice.value}
            kind={takesAway(choice) ? "bad" : isPrimary(question, choice) ? "primary" : undefined}
            icon={takesAway(choice) ? "trash" : undefined}
            disabled={busy || question.said !== undefined}
            why={notYours ?? (choice === WORDS && lacksWords ? "Write an answer first." : null)}
            onClick={() => void answer(choice)}
          >
            {choice.label}
          </Button>
        ))}
      </span>
      {question.author?.startsWith("assistant:") && (
        <span className="sub">
          <span className="row strong tone-amber">
            <Glyph name="barrier" tone="amber" />
            The {author(question.author)} wrote this: its words are those of a model.
          </span>
        </span>
      )}
      {question.kind === "approval" && <PlanInShort constellation={constellation} whole={Boolean(origin)} />}
      {question.kind === "approval" && <Ungranted constellation={constellation} question={question.id} />}
      <span className="sub">
        {origin} {asker && `${asker} asked for it. `}
        {question.said === undefined ? `Asked ${age(question.opened_ms, now)}. ` : <b>Answered: {question.said}. </b>}
        {question.expires_ms && question.said === undefined
          ? `Without an answer it is denied in ${duration(Math.max(0, question.expires_ms - now))}. `
          : ""}
        {question.version ? `It is about version ${question.version} of the plan. ` : ""}
        {asksWords && question.usual && `The planner would take "${question.usual}". `}
        {question.once_because && `It can only be allowed this once: ${question.once_because}. `}
        {/* A list of questions says it once for all of them. */}
        {refusal && !origin && <span className="wraps">{refusal} </span>}
        {notYours && !refusal && `${notYours} `}
        {reasoning === null && !refusal && !notYours && (
          <button type="button" className="link" onClick={() => setReasoning("pressed")}>
            Add a reason
          </button>
        )}
      </span>
      {question.shown && <ShownResult shown={question.shown} />}
      <Wider question={question} />
      <Remembered calls={question.calls ?? []} />
      {reasoning && (
        <input
          ref={reasoning === "pressed" ? focusAtOnce : undefined}
          className="input reason"
          aria-label={asksWords ? "Answer" : "Reason"}
          placeholder={asksWords ? "Your answer" : "Reason, kept with the answer"}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
          onKeyDown={(event) => {
            if (pressedKey(event) === "Enter" && asksWords && !lacksWords && !busy) void answer(WORDS);
          }}
        />
      )}
    </div>
  );
}

/** The grants that the plan's devices lack, each with the line to type there; read again when a device has changed. */
function Ungranted({ constellation, question }: { constellation: string; question: string }) {
  const { hub } = useWorkspace();
  const read = useResource(
    `ungranted/${constellation}:${question}`,
    (signal) => hub.ungranted(constellation, question, signal),
    ["devices"],
    5000,
  );
  if (!read.value?.length) return null;
  return (
    <ul className="plain wide small tone-amber" aria-label="Grants that are missing">
      {read.value.map((line) => (
        <li key={line} className="wraps">
          {readable(line)}
        </li>
      ))}
    </ul>
  );
}

/** What a reviewer's change would do beyond what was approved, and the change itself. */
function Wider({ question }: { question: Question }) {
  const wider = question.wider ?? [];
  if (question.kind !== "review" || wider.length === 0) return null;
  const edit = question.operations as unknown;
  return (
    <div className="wide small">
      <ul className="plain" aria-label="What is wider">
        {wider.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      <details>
        <summary>The change, as it would be applied</summary>
        <pre className="mono small">{typeof edit === "string" ? edit : JSON.stringify(edit, null, 2)}</pre>
      </details>
    </div>
  );
}

/** What the answer *Always allow* would allow, before anybody gives it. */
function Remembered({ calls }: { calls: Call[] }) {
  const fleet = useFleet();
  if (calls.length === 0) return null;
  return (
    <details className="wide small">
      <summary>What “Always allow” covers from now on</summary>
      <ul className="plain">
        {calls.map((call) => (
          <li key={call.task}>
            <code className="mono">
              {call.tool} {readable(call.args ?? "{}")}
            </code>{" "}
            on {(call.devices ?? []).map((device) => nameOfDevice(fleet, device)).join(", ")}
          </li>
        ))}
      </ul>
      Anything else - other arguments, another device - asks again. Settings lists it and takes it back.
    </details>
  );
}
