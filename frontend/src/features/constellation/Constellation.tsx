/**
 * The centre of the product: answer first, then the graph or the list over one selection, the inspector, the versions
 * and the feed. Puts the parts of `screen` together; what is selected and shown stands in the address.
 */
import { useCallback, useEffect, useRef, useState } from "react";
import { MissingConstellation } from "../../app/shell/Missing.tsx";
import { Shell } from "../../app/shell/Shell.tsx";
import { usePhone, useStream } from "../../app/workspace/context.ts";
import { usePrinting } from "../../app/workspace/printing.ts";
import { sentenceNow } from "../../model/plan/soFar.ts";
import type { StreamModel } from "../../model/stream/stream.ts";
import { head as headOf } from "../../model/tasks/selectors.ts";
import type { Head } from "../../model/types.ts";
import { ownTimes } from "../../model/words/clock.ts";
import { Acts } from "../../ui/Acts.tsx";
import { AnswerStage } from "../answer/Answer.tsx";
import { PrintedAnswer } from "../answer/PrintedAnswer.tsx";
import type { OpenMenu } from "./graph/context.ts";
import { useFeedPast } from "./history/past.ts";
import { Inspector } from "./inspector/Inspector.tsx";
import { Asked } from "./screen/Asked.tsx";
import { Band, StateLine } from "./screen/Band.tsx";
import { Canvas, fetchLens } from "./screen/Canvas.tsx";
import { useDeeds } from "./screen/deeds.tsx";
import { HIDDEN, type Place, usePlace } from "./screen/usePlace.ts";
import { type Run, useRun } from "./screen/useRun.ts";
import { useStops } from "./screen/useStops.ts";
import { useVersions } from "./screen/useVersions.ts";
import { TaskMenu } from "./tasks/TaskMenu.tsx";

export function ConstellationPage({ id, task }: { id: string; task: string | null }) {
  const model = useStream(id);
  const place = usePlace(id, task);
  const phone = usePhone();
  // Which lens is first, its tasks say; a wide window has the graph in most cases.
  const first = place.lens ?? (phone ? null : "graph");
  useEffect(() => fetchLens(first), [first]);
  const head = headOf(model);
  return head ? <Screen head={head} model={model} place={place} /> : <MissingConstellation id={id} />;
}

function Screen({ head, model, place }: { head: Head; model: StreamModel; place: Place }) {
  const versions = useVersions(model, place);
  const run = useRun(head, model, place, versions);
  const stops = useStops(run);
  useFeedPast(place.id, model, run.lens === "graph" || place.task !== null);
  const { buttons, dialogs, keys, entries } = useDeeds(run, place, versions, stops?.brought_by ?? []);
  const [menu, setMenu] = useState<{ task: string; at: { x: number; y: number } } | null>(null);
  const onMenu = useCallback<OpenMenu>((of, at) => setMenu({ task: of, at }), []);
  const printing = usePrinting();
  const closeMenu = useCallback(() => setMenu(null), []);
  useFirstFailure(run, place);

  const { final, beside, part, phone } = run;
  const { id, task, to } = place;
  const openPart = (key: string) => to({ set: { answer: key, lens: run.roomy ? null : "answer", v: null } }, true);
  const stage = part && (
    <AnswerStage
      constellation={id}
      parts={run.parts}
      shown={part}
      onOpen={openPart}
      onClose={beside ? () => to({ set: { answer: final ? HIDDEN : null } }, true) : null}
    />
  );
  return (
    <Shell
      title={head.name || head.request || id}
      crumb={{ path: "/constellations", label: "Constellations" }}
      beside={<StateLine run={run} />}
      actions={buttons}
      keys={keys}
      entries={entries}
      standing={`${head.name || head.request || id}: ${run.shown.word}`}
      narrow
      fixed
      className={`con ${task ? "with-inspector" : ""} ${beside ? "with-answer" : ""} ${final ? "final" : ""}`}
    >
      <Band run={run} waits={ownTimes(stops?.waits ?? "")} place={place} onOpen={openPart} />
      <Asked run={run} place={place} stops={stops} />
      {beside && stage}
      <Canvas run={run} place={place} versions={versions} stage={stage} onMenu={onMenu} />
      {menu && (
        <TaskMenu
          key={`${menu.task} ${menu.at.x} ${menu.at.y}`}
          model={run.scene}
          fleet={run.fleet}
          task={menu.task}
          at={menu.at}
          onOpen={(tab) => to({ task: menu.task, set: { tab } })}
          onClose={closeMenu}
        />
      )}
      {task && (
        <Inspector
          model={run.scene}
          fleet={run.fleet}
          task={task}
          tab={place.tab}
          onTab={(tab) => to({ set: { tab } }, true)}
          onSelect={place.select}
          onClose={() => to({ task: null })}
        />
      )}
      {dialogs}
      {printing && (
        <PrintedAnswer
          of={head}
          answer={run.answer}
          sentence={sentenceNow(head, run.answer, run.tally)}
          parts={run.parts}
          views={run.present}
          devices={run.used.map((device) => device.name)}
          fleet={run.fleet}
          nowMs={run.nowMs}
        />
      )}
      {phone && !task && (!final || versions.last > 0) && (
        <div className="thumb">
          <Acts label="Actions of this page" up>
            {buttons}
          </Acts>
        </div>
      )}
    </Shell>
  );
}

/** Opens the first failure, which is what one came to see: only when nothing was chosen, and only once. */
function useFirstFailure(run: Run, place: Place): void {
  const looked = useRef(false);
  useEffect(() => {
    if (looked.current || place.task || run.phone || !run.model.ready) return;
    // The answer of what has ended is shown before its failures; the band names them.
    if (run.final && run.parts.length > 0) return;
    const failed = run.failed[0];
    if (!failed) return;
    looked.current = true;
    place.to({ task: failed.id }, true);
  });
}
