/** Earlier requests where a new one is written: the questions that a planner has about them, and words to ask again. */
import { Link } from "wouter";
import { usePart } from "../../app/waiting/mine.ts";
import { useNeeds } from "../../app/waiting/needs.ts";
import { useNow, useWorkspace } from "../../app/workspace/context.ts";
import { useResource } from "../../app/workspace/resource.ts";
import { askedLately } from "../../model/words/asked.ts";
import { createdMs } from "../../model/words/times.ts";
import { age, rowShown } from "../../model/words/words.ts";
import { Glyph } from "../../ui/Glyph.tsx";
import { QuestionCard } from "../inbox/questions/Questions.tsx";

/** The Inbox has all of them. */
const ASKED_MOST = 3;

/** Questions of a planner about words that were sent from here before: they wait for an answer, not for a plan. */
export function AskedBack() {
  const asked = useNeeds().shown.filter((need) => need.kind === "planner");
  if (asked.length === 0) return null;
  return (
    <section className="card" aria-label="Asked while planning">
      <header>
        <h2>Asked while planning</h2>
      </header>
      {asked.slice(0, ASKED_MOST).map((need) => (
        <QuestionCard
          key={`${need.constellation}:${need.id}`}
          question={need}
          constellation={need.constellation}
          origin={
            <Link className="link" href={`/constellations/${need.constellation}`}>
              {need.name || "The request"}
            </Link>
          }
        />
      ))}
    </section>
  );
}

/** Requests that were asked in words lately, to be asked again or changed. */
export function AskedLately({ onWords }: { onWords: (words: string) => void }) {
  const { hub } = useWorkspace();
  const now = useNow(10_000);
  const part = usePart();
  const list = useResource("asked lately", (signal) => hub.constellations({}, signal), ["constellations"]);
  const rows = askedLately(list.value?.items ?? []);
  if (rows.length === 0) return null;
  return (
    <section className="card" aria-label="Asked lately">
      <header>
        <h2>Asked lately</h2>
        <span className="small dim">Take one as it is, or change it.</span>
      </header>
      {rows.map((row) => {
        const { glyph, tone, word } = rowShown(row, part);
        return (
          <button key={row.id} type="button" className="deviceline askedline" onClick={() => onWords(row.request)}>
            <span className="grow">{row.request}</span>
            <span className={`row word small tone-${tone}`}>
              <Glyph name={glyph} />
              {word}
            </span>
            <span className="small dim nowrap">{age(createdMs(row), now)}</span>
          </button>
        );
      })}
    </section>
  );
}
