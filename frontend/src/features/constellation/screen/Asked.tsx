/** Lines between the answer and the work: what a person should know of this run, and what it needs of them. */

import { triedWords } from "../../../app/waiting/unplanned.ts";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { questions } from "../../../model/tasks/selectors.ts";
import type { ModelCall } from "../../../model/types.ts";
import { QuestionCard } from "../../inbox/questions/Questions.tsx";
import { TryAgain } from "../../inbox/questions/TryAgain.tsx";
import { FaultLines } from "../../lab/BreakSomething.tsx";
import { KeepThis } from "../../recipes/Proposals.tsx";
import { BehindLine } from "../../request/PriorityChoice.tsx";
import { StuckCard } from "../tasks/StuckCard.tsx";
import { TapCard } from "../tasks/TapCard.tsx";
import { useStops } from "../tasks/useStops.ts";
import { FaultNote, OriginLine } from "../view/Notes.tsx";
import type { Place } from "./usePlace.ts";
import type { Run } from "./useRun.ts";

export function Asked({ run, place }: { run: Run; place: Place }) {
  const { head, final, present } = run;
  const { id } = place;
  const { session } = useWorkspace();
  const unplanned = final && Boolean(head.request) && (head.attention ?? []).includes("planning_failed");
  const inPast = run.scene !== run.model;
  const open = questions(run.model);
  const stops = useStops(head, run.model, run.fleet);
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
      {(open.length > 0 || (head.attention?.length ?? 0) > 0) && (
        <section className="card asked" aria-label="Needs you">
          {open.map((question) => (
            <QuestionCard key={question.id} question={question} constellation={id} />
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
