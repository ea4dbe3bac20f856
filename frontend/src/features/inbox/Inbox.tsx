/** Everything that waits for a person, answered in place or several at once, and who gave the latest answers. */
import { useState } from "react";
import { Link } from "wouter";
import { useDoing } from "../../app/actions/Actions.tsx";
import { Shell } from "../../app/shell/Shell.tsx";
import { useMine } from "../../app/waiting/mine.ts";
import { answeredHere, useNeeds } from "../../app/waiting/needs.ts";
import { olderRights } from "../../app/waiting/olderRights.ts";
import { useWaiting } from "../../app/waiting/waiting.ts";
import { useNow, useWorkspace } from "../../app/workspace/context.ts";
import { useResource } from "../../app/workspace/resource.ts";
import type { InboxQuestion } from "../../link/endpoints.ts";
import { age, author } from "../../model/words/words.ts";
import { Glyph } from "../../ui/Glyph.tsx";
import { Button, Empty } from "../../ui/parts.tsx";
import { RecipeNotices } from "../recipes/RecipeNotices.tsx";
import { Notices } from "./Notices.tsx";
import { QuestionCard } from "./questions/Questions.tsx";
import { WaitingCard } from "./WaitingCard.tsx";

const keyOf = (need: InboxQuestion) => `${need.constellation}:${need.id}`;

export function InboxPage() {
  const needs = useNeeds();
  const waiting = useWaiting();
  const mine = useMine();
  const { hub, session } = useWorkspace();
  const answered = useResource(`answered/${needs.count}/${waiting.asks.length}`, async (signal) => {
    const found = await Promise.all([hub.approvals("answered", signal), hub.answeredAsks(signal)]);
    return found.flat().sort((one, other) => (other.answered_ms ?? 0) - (one.answered_ms ?? 0));
  });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const approvals = needs.items.filter((need) => need.kind === "approval");
  // The boxes stay as long as the cards that were answered: without them all cards move.
  const boxed = needs.shown.filter((need) => need.kind === "approval").length > 1;
  const picked = approvals.filter((need) => chosen.has(keyOf(need)));
  const choose = (need: InboxQuestion, on: boolean) =>
    setChosen((held) => new Set(on ? [...held, keyOf(need)] : [...held].filter((key) => key !== keyOf(need))));
  return (
    <Shell title="Inbox">
      <div className="page cards">
        {mine.all > 0 && mine.whyNot && (
          <p className="note tone-amber" role="note">
            {olderRights(session) || mine.whyNot}
          </p>
        )}
        <Notices />
        <RecipeNotices />
        <WaitingCard />
        {!(needs.shown.length === 0 && waiting.count > 0) && (
          <section className="card">
            {boxed && (
              <Together
                picked={picked}
                all={approvals.length}
                onAll={(on) => setChosen(new Set(on ? approvals.map(keyOf) : []))}
              />
            )}
            {needs.shown.map((need) => (
              <QuestionCard
                key={keyOf(need)}
                question={need}
                constellation={need.constellation}
                origin={<Origin need={need} />}
                picked={
                  boxed && need.kind === "approval"
                    ? { chosen: chosen.has(keyOf(need)), onChange: (on) => choose(need, on) }
                    : undefined
                }
              />
            ))}
            {needs.shown.length === 0 && (
              <Empty title={needs.read && waiting.read ? "Nothing waits for you." : "Reading."}>
                Questions, approvals, what devices ask and what they lack come here and can be answered in place.
              </Empty>
            )}
          </section>
        )}
        <Answered items={answered.value ?? []} />
      </div>
    </Shell>
  );
}

function Origin({ need }: { need: InboxQuestion }) {
  return (
    <>
      From{" "}
      <Link className="link" href={`/constellations/${need.constellation}`}>
        {need.name || need.constellation}
      </Link>
      .
    </>
  );
}

/** Answers the chosen approvals one after the other; the first that is refused ends it and is shown. */
function Together({ picked, all, onAll }: { picked: InboxQuestion[]; all: number; onAll: (on: boolean) => void }) {
  const { hub } = useWorkspace();
  const { report, say } = useDoing();
  const [busy, setBusy] = useState(false);
  const answer = async (value: "allow" | "deny") => {
    setBusy(true);
    let done = 0;
    try {
      for (const need of picked) {
        await hub.answer(need.constellation, need, value);
        answeredHere(need.constellation, need.id, value === "allow" ? "Approve" : "Deny");
        done += 1;
      }
    } catch (error) {
      report(error);
    } finally {
      setBusy(false);
    }
    if (done > 0) say(`${value === "allow" ? "Approved" : "Denied"}: ${done} of ${picked.length}`);
  };
  const why = picked.length === 0 ? "Choose at least one." : null;
  return (
    <div className="item">
      <input
        type="checkbox"
        aria-label="Choose all approvals"
        checked={all > 0 && picked.length === all}
        onChange={(event) => onAll(event.target.checked)}
      />
      <span className="dim">
        {picked.length} of {all} approvals chosen
      </span>
      <span className="answers">
        <Button asks="approver" why={why} disabled={busy} onClick={() => void answer("deny")}>
          Deny chosen
        </Button>
        <Button asks="approver" why={why} disabled={busy} onClick={() => void answer("allow")}>
          Approve chosen
        </Button>
      </span>
    </div>
  );
}

const SAID: Record<string, string> = { allow: "approved", always: "always allowed", deny: "denied" };

/** An answer by the label of its choice, as the person chose it. */
function said({ answer, choices }: InboxQuestion): string {
  const given = answer ?? "";
  const label = choices?.find((choice) => choice.value === given)?.label ?? given;
  return SAID[given] ?? `answered “${label}”`;
}

function Answered({ items }: { items: InboxQuestion[] }) {
  const now = useNow(10_000);
  const { hub } = useWorkspace();
  const asked = useResource("asked", (signal) => hub.constellations({}, signal));
  const words = new Map(asked.value?.items.map((row) => [row.id, row.request]));
  if (items.length === 0) return null;
  return (
    <section className="card">
      <header>
        <h2>Answered lately</h2>
      </header>
      {items.map((need) => (
        <div key={keyOf(need)} className="item">
          <Glyph name={need.answer === "deny" ? "cross" : "tick"} />
          <span className="cut">{need.text}</span>
          <span className="dim nowrap">{age(need.answered_ms ?? 0, now)}</span>
          {words.get(need.constellation) && <span className="sub cut">“{words.get(need.constellation)}”</span>}
          <span className="sub small">
            {said(need)} by {author(need.answered_by ?? "")}
            {need.reason ? `: ${need.reason}` : ""}. {need.constellation && <Origin need={need} />}
          </span>
        </div>
      ))}
    </section>
  );
}
