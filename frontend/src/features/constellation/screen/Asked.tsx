/** Lines between the answer and the work: what a person should know of this run, and what it needs of them. */

import { othersAsked, useNeeds, withDangers } from "../../../app/waiting/needs.ts";
import { triedWords } from "../../../app/waiting/unplanned.ts";
import { stoppedOf } from "../../../app/waiting/waiting.ts";
import { useLink, useWorkspace } from "../../../app/workspace/context.ts";
import { elapsedMs, questions, type TaskView } from "../../../model/tasks/selectors.ts";
import type { Device, Head, ModelCall, WhyAll } from "../../../model/types.ts";
import { readable } from "../../../model/words/readable.ts";
import { ATTENTION } from "../../../model/words/words.ts";
import { useMay } from "../../../ui/away.tsx";
import { Glyph } from "../../../ui/Glyph.tsx";
import { Rest } from "../../../ui/parts.tsx";
import { QuestionCard } from "../../inbox/questions/Questions.tsx";
import { TryAgain } from "../../inbox/questions/TryAgain.tsx";
import { StoppedItem } from "../../inbox/WaitingCard.tsx";
import { FaultLines } from "../../lab/BreakSomething.tsx";
import { KeepThis } from "../../recipes/Proposals.tsx";
import { BehindLine } from "../../request/PriorityChoice.tsx";
import { FaultNote, OriginLine } from "../view/Notes.tsx";
import { type UndoLine, undoLines } from "./undoing.ts";
import type { Place } from "./usePlace.ts";
import type { Run } from "./useRun.ts";

const OTHERS = "Waits for somebody with other rights";
const TASKS_MAX = 5;
/** Most calls in a browser tab that need no tap have ended by then. */
const TAP_AFTER_MS = 2_000;

export function Asked({ run, place, stops }: { run: Run; place: Place; stops: WhyAll | null }) {
  const { head, final, present } = run;
  const { id } = place;
  const { session } = useWorkspace();
  const unplanned = final && Boolean(head.request) && (head.attention ?? []).includes("planning_failed");
  const inPast = run.scene !== run.model;
  const needs = useNeeds().shown;
  const away = useLink().state === "offline";
  const asked = questions(run.model);
  const open = withDangers(id, asked, needs, away);
  // A tap alone has its own card, with the way to it.
  const tapped = !final && !inPast && present.some(({ record }) => record?.reason === "tap");
  const stands = (head.attention ?? []).some((reason) => !(tapped && reason === "waits_for_a_tap"));
  const mayAnswer = useMay("approver");
  const mayAct = useMay(true);
  const unanswered = open.filter(({ said }) => said === undefined);
  const isMine = unanswered.some((question) => !othersAsked(question, session?.principal.name ?? ""));
  const mayDo = unanswered.length ? isMine : mayAct;
  const label = unanswered.length && !mayAnswer ? "Waits for an approver" : mayDo ? "Needs you" : OTHERS;
  return (
    <>
      {final && !inPast && <KeepThis constellation={id} />}
      {run.idle && <BehindLine constellation={id} />}
      <FaultLines constellation={id} />
      {head.origin && <OriginLine origin={head.origin} />}
      {head.fault && (
        <FaultNote fault={head.fault} tried={unplanned ? triedWords(run.model.kind<ModelCall>("call").values()) : ""}>
          {unplanned && <TryAgain request={head.request ?? ""} owner={session?.role === "owner"} />}
        </FaultNote>
      )}
      {(open.length > 0 || (asked.length === 0 && stands)) && (
        <section className="card asked" aria-label={label}>
          {open.map((question) => (
            <QuestionCard key={question.id} question={{ ...question, author: head.author }} constellation={id} />
          ))}
          {open.length === 0 && (
            <StuckCard constellation={head} stops={stops} views={present} onSelect={place.select} />
          )}
        </section>
      )}
      {!final && !inPast && <TapCard views={present} used={run.used} nowMs={run.nowMs} />}
    </>
  );
}

interface StuckProps {
  constellation: Head;
  /** What the hub says about its tasks; null until it was read. */
  stops: WhyAll | null;
  views: TaskView[];
  onSelect: (task: string) => void;
}

/** Why a constellation stands still: which task, the devices that nearly fit, and what to do. */
function StuckCard({ constellation, stops, views, onSelect }: StuckProps) {
  const attention = constellation.attention ?? [];
  const found = stops ? stoppedOf(constellation, stops.items, stops.attention) : [];
  const stopped = (item: (typeof found)[number]) => (
    <StoppedItem key={`${item.task}/${item.sentence}`} item={item} onSelect={onSelect} />
  );
  const told = views.filter((view) => view.record?.reason === "owner_asked" && view.attempt?.detail);
  return (
    <>
      {found.slice(0, TASKS_MAX).map(stopped)}
      <Rest count={found.length - TASKS_MAX}>{() => found.slice(TASKS_MAX).map(stopped)}</Rest>
      {found.length === 0 &&
        attention.map((reason) => (
          <p key={reason} className="item">
            <Glyph name="hand" tone="violet" />
            <b className="strong">{ATTENTION[reason]}</b>
          </p>
        ))}
      {attention.includes("undo_failed") && <UndoneWork views={views} onSelect={onSelect} />}
      {told.slice(0, TASKS_MAX).map((view) => (
        <p key={view.id} className="small">
          {view.deviceName}: {view.attempt?.detail}
        </p>
      ))}
    </>
  );
}

/** The files that an undo left as they are and why, and beside them what came back. */
function UndoneWork({ views, onSelect }: Pick<StuckProps, "views" | "onSelect">) {
  const lines = undoLines(views);
  const drawn = ({ id, of, stays, words }: UndoLine) => (
    <li key={id} className="item">
      <Glyph name={stays ? "barrier" : "tick"} tone={stays ? "amber" : "teal"} />
      <span>
        <button type="button" className="link" onClick={() => onSelect(id)}>
          {of}
        </button>{" "}
        {readable(words)}
      </span>
    </li>
  );
  return (
    <ul className="plain" aria-label="Undone and not undone">
      {lines.slice(0, TASKS_MAX).map(drawn)}
      <Rest count={lines.length - TASKS_MAX}>{() => lines.slice(TASKS_MAX).map(drawn)}</Rest>
    </ul>
  );
}

interface TapProps {
  views: readonly TaskView[];
  /** The devices that have had its tasks. */
  used: readonly Device[];
  nowMs: number;
}

/** Work in a browser tab of another device: it may wait for a tap there, which nobody sees from here. */
export function TapCard({ views, used, nowMs }: TapProps) {
  const tabs = new Map(used.filter(({ os }) => os === "browser").map((device) => [device.id, device]));
  // Of thousands of tasks none need be looked at.
  if (tabs.size === 0) return null;
  const waiting = views.filter(
    (view) =>
      view.record?.state === "running" &&
      tabs.has(view.record.device ?? "") &&
      (view.record.reason === "tap" ||
        (!view.record.absent_since_ms &&
          tabs.get(view.record.device ?? "")?.condition?.tap === undefined &&
          (elapsedMs(view, nowMs) ?? 0) > TAP_AFTER_MS)),
  );
  // A tab of before never says whether it waits for a tap, so there it only may be so.
  const sure = waiting.filter((view) => view.record?.reason === "tap");
  const told = sure.length > 0 ? sure : waiting;
  const names = [...new Set(told.map((view) => view.deviceName))];
  if (names.length === 0) return null;
  return (
    <section className="card asked" aria-label="Waits for a tap">
      <p className="item">
        <Glyph name="hand" tone="violet" />
        <b className="strong">
          {sure.length > 0
            ? `It waits for a tap on ${names.join(" and ")}.`
            : `Look at ${names.join(" and ")}: a tap may be needed there.`}
        </b>
        <span className="sub">
          {told.map((view) => view.name).join(", ")} runs in its Starloom page, where a picture, a file or the clipboard
          needs a tap.
        </span>
      </p>
      <p>
        <a className="btn" href="/tab/">
          This is that device: open its page
        </a>
      </p>
    </section>
  );
}
