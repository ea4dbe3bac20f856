/**
 * Ask your own assistant: a text to give to any chat, and the plan that comes back from it. Faults become a text to
 * paste back; a plan without any is shown with what it would do, and starts only by *Launch*.
 */

import { useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useFleet, useWorkspace } from "../../app/workspace/context.ts";
import { asProblem, useResource } from "../../app/workspace/resource.ts";
import { useSettled } from "../../app/workspace/settled.ts";
import { Briefs, replyOf } from "../../link/brief.ts";
import type { Problem } from "../../link/rest.ts";
import type { BriefText, PastedPlan } from "../../model/types.ts";
import { Button, Labelled, ProblemNote } from "../../ui/parts.tsx";
import { Facts, GrantLines, grantsOf, PreviewCard } from "./preview/PreviewCard.tsx";

const PASTED_MS = 300;

export function Assistant({ words }: { words: string }) {
  const [open, setOpen] = useState(false);
  return (
    <section className="card">
      <header>
        <h2 className="grow">Ask your own assistant</h2>
        {!open && <Button onClick={() => setOpen(true)}>Make the text</Button>}
      </header>
      {open ? (
        <Steps words={words} />
      ) : (
        <p className="plainlist body dim">
          Any chat you already use can write the plan: you give it a text, and paste back what it answers.
        </p>
      )}
    </section>
  );
}

function Steps({ words }: { words: string }) {
  const { hub } = useWorkspace();
  const briefs = new Briefs(hub.rest);
  const [answer, setAnswer] = useState("");
  const asked = useSettled(words, PASTED_MS);
  const made = useResource<BriefText>(asked, (signal) => briefs.brief(asked ?? "", signal));
  const given = useSettled(answer.trim() || null, PASTED_MS);
  const back = useResource<PastedPlan>(given, (signal) => briefs.answered(given ?? "", signal));
  const reply = back.problem && given ? replyOf(back.problem) : "";
  const read = given !== null && given === answer.trim() && !back.problem ? back.value : null;
  const verdict = useRef<HTMLDivElement>(null);
  const settled = reply || read?.plan_hash || "";
  // On a small screen what was found would be below the keyboard.
  useEffect(() => {
    if (settled) verdict.current?.scrollIntoView({ block: "start" });
  }, [settled]);
  return (
    <div className="assistant">
      {made.problem && <ProblemNote problem={made.problem} />}
      {made.value && (
        <>
          <Passage
            label="1. Give this to your assistant"
            text={made.value.text}
            button="Copy the text"
            note="It names your devices and their tools; no file, no result and no secret is in it."
          />
          <Labelled label="2. Paste what it answers">
            {(id) => (
              <textarea
                id={id}
                className="plantext"
                rows={6}
                spellCheck={false}
                placeholder="All of it; what stands around the plan is passed over."
                value={answer}
                onChange={(event) => setAnswer(event.target.value)}
              />
            )}
          </Labelled>
        </>
      )}
      <div ref={verdict} className="verdict">
        {reply && (
          <Passage
            label="The plan has faults. Give this back to your assistant"
            text={reply}
            button="Copy the faults"
            note="Nothing has started."
          />
        )}
        {back.problem && given && !reply && <ProblemNote problem={back.problem} />}
        {read && <Ready key={read.plan_hash} found={read} />}
      </div>
    </div>
  );
}

/** A text to be copied; it can be marked by hand where the browser gives no clipboard. */
function Passage(props: { label: string; text: string; button: string; note: string }) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(props.text);
      setSaid("Copied.");
    } catch {
      setSaid("This browser gives no clipboard here; mark the text and copy it.");
    }
  };
  return (
    <div className="stack">
      <Labelled label={props.label}>
        {(id) => (
          <textarea
            id={id}
            className="plantext"
            rows={6}
            readOnly
            value={props.text}
            onFocus={(event) => event.target.select()}
          />
        )}
      </Labelled>
      <div className="row wrap">
        <Button kind="primary" onClick={() => void copy()}>
          {props.button}
        </Button>
        <span className="small dim" role="status">
          {said || props.note}
        </span>
      </div>
    </div>
  );
}

function Ready({ found }: { found: PastedPlan }) {
  const { hub } = useWorkspace();
  const fleet = useFleet();
  const [, go] = useLocation();
  const [launching, setLaunching] = useState(false);
  const [refused, setRefused] = useState<Problem | null>(null);
  const launch = async () => {
    setLaunching(true);
    setRefused(null);
    try {
      const made = await hub.submit({ plan: found.plan, ...(found.plan_hash && { plan_hash: found.plan_hash }) });
      go(`/constellations/${made.id}`);
    } catch (error) {
      setRefused(asProblem(error));
    } finally {
      setLaunching(false);
    }
  };
  return (
    <>
      <PreviewCard preview={found} fleet={fleet} />
      <GrantLines grants={grantsOf(found)} />
      {refused && <ProblemNote problem={refused} />}
      <div className="launch">
        <Facts preview={found} />
        <span className="grow" />
        <Button
          asks="run"
          large
          kind="primary"
          why={launching ? "It is being launched." : null}
          aria-busy={launching || undefined}
          onClick={() => void launch()}
        >
          Launch this plan
        </Button>
      </div>
    </>
  );
}
