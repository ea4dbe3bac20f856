/** The band on top of a constellation: its answer in a sentence, what a model writes now, and how its tasks stand. */

import { Link } from "wouter";
import { useNow } from "../../../app/workspace/context.ts";
import { sentenceNow } from "../../../model/plan/soFar.ts";
import { writingNow } from "../../../model/plan/thinking.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { inTrouble, type TaskView } from "../../../model/tasks/selectors.ts";
import type { Tally } from "../../../model/tasks/tally.ts";
import { age, clock, duration } from "../../../model/words/words.ts";
import { Glyph } from "../../../ui/Glyph.tsx";
import { StatePill } from "../../../ui/parts.tsx";
import { AnswerChips } from "../../answer/Answer.tsx";
import { AnswerBand } from "../../answer/AnswerBand.tsx";
import { Summary, shortWord } from "../tasks/Summary.tsx";
import { BudgetChance, DeadlineChance } from "../view/Notes.tsx";
import type { Place } from "./usePlace.ts";
import type { Run } from "./useRun.ts";

interface BandProps {
  run: Run;
  /** For whom, for which device and until when it waits, as the hub says it; empty where it does not wait. */
  waits: string;
  place: Place;
  onOpen: (part: string) => void;
}

export function Band({ run, waits, place, onOpen }: BandProps) {
  const { head, final, planned, phone, views } = run;
  return (
    <section className="band" aria-label="Answer">
      <div className="only-phone row phonestate">
        <Pill run={run} />
        <Troubles tally={run.seen} onFilter={(text) => place.to({ set: { q: text, lens: "list" } })} />
        {head.deadline_s ? <DeadlineChance forecast={run.forecast} /> : null}
        <BudgetChance forecast={run.forecast} />
        <span className="dim end">{final ? tookWords(run) : clock(run.tookMs)}</span>
      </div>
      <AnswerBand
        of={head}
        answer={run.answer}
        sentence={`${sentenceNow(head, run.answer, run.tally)} ${waits}`.trim()}
        label={phone ? null : final ? "Answer" : "Answer so far"}
        fleet={run.fleet}
      >
        {!run.beside && run.lens !== "answer" && (
          <AnswerChips constellation={place.id} parts={run.parts} onOpen={onOpen} />
        )}
      </AnswerBand>
      {!final && !planned && <WritingNow model={run.model} />}
      {run.scene === run.model && <FailedParts id={place.id} failed={run.failed} onKey={place.selectByKey} />}
      {views.length > 0 && !planned && (
        <Summary
          counts={(run.scene === run.model ? run.tally : run.seen).counts()}
          tally={run.seen}
          fleet={run.fleet}
          onFilter={(text) => place.to({ set: { q: text, lens: "list" } })}
        />
      )}
    </section>
  );
}

/** The state beside the title, how long it took or takes, and the chances of its deadline and its budget. */
export function StateLine({ run }: { run: Run }) {
  const { head, final } = run;
  return (
    <span className="row only-wide nowrap">
      <Pill run={run} />
      <span className="dim age">
        {final ? `${tookWords(run)}, ${age(head.ended_ms ?? 0, run.nowMs)}` : clock(run.tookMs)}
      </span>
      {head.deadline_s ? <DeadlineChance forecast={run.forecast} /> : null}
      <BudgetChance forecast={run.forecast} />
    </span>
  );
}

/** How long it took; of a run that was opened again, how long that last round of it took. */
export const tookWords = ({ head, tookMs }: Pick<Run, "head" | "tookMs">): string =>
  head.reopened_ms ? `last round ${duration(tookMs)}` : `in ${duration(tookMs)}`;

function Pill({ run }: { run: Run }) {
  const { shown, final, planned, present, tally } = run;
  const counted = !final && !planned && present.length > 0;
  return (
    <StatePill shown={shown}>
      {shown.word}
      {counted ? `${shown.tone === "blue" ? "" : ","} ${tally.in("succeeded")} of ${tally.size}` : ""}
    </StatePill>
  );
}

/** The states in trouble with their counts, for a phone; a press filters the tasks by one. */
function Troubles({ tally, onFilter }: { tally: Tally; onFilter: (text: string) => void }) {
  return (
    <>
      {tally.counts(inTrouble).map(({ shown: one, count }) => (
        <button
          key={one.glyph}
          type="button"
          className={`pill tone-${one.tone}`}
          onClick={() => onFilter(`state:${shortWord(one.word).replaceAll(" ", "-")}`)}
        >
          <Glyph name={one.glyph} />
          {count}
          <span className="sr">{one.word}</span>
        </button>
      ))}
    </>
  );
}

const NAMED_MAX = 3;

interface FailedProps {
  id: string;
  failed: readonly TaskView[];
  /** A link that is pressed by a key takes the focus along. */
  onKey: (task: string) => void;
}

/** The tasks that failed, each a link: the page opens with its answer, and this is the way to what is missing in it. */
export function FailedParts({ id, failed, onKey }: FailedProps) {
  if (failed.length === 0) return null;
  const more = failed.length - NAMED_MAX;
  const path = `/constellations/${encodeURIComponent(id)}`;
  return (
    <p className="failedparts small">
      <Glyph name="cross" tone="vermilion" />
      <span>Failed:</span>
      {failed.slice(0, NAMED_MAX).map((view) => (
        <Link
          key={view.id}
          className="link"
          href={`${path}/t/${encodeURIComponent(view.id)}`}
          onClick={(event) => {
            if (event.detail !== 0) return;
            event.preventDefault();
            onKey(view.id);
          }}
        >
          {view.name}
        </Link>
      ))}
      {more > 0 && (
        <Link className="link" href={`${path}?lens=list&q=state:failed`}>
          and {more} more
        </Link>
      )}
    </p>
  );
}

const TICK_MS = 500;

/** A model reviews the plan or writes the answer: a line, and the words as they come. The final text replaces it. */
function WritingNow({ model }: { model: StreamModel }) {
  const now = useNow(TICK_MS);
  const writing = writingNow(model, now);
  if (!writing) return null;
  return (
    <section className="writing" aria-label="What the model writes">
      <p className="row tight">
        <Glyph name="turning_arc" tone="blue" />
        {/* Counts change four times a second: only another line is announced. */}
        <b role="status">{writing.line}</b>
        <span className="dim small num">{[writing.size, duration(writing.ms)].filter(Boolean).join(", ")}</span>
      </p>
      {writing.words && (
        <blockquote>
          {writing.words} <span className="dim small">Not checked yet.</span>
        </blockquote>
      )}
    </section>
  );
}
