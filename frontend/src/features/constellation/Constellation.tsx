/**
 * The centre of the product: answer first, then the graph or the list over one selection, the inspector, the versions
 * and the feed. What is selected, the lens, the filter, the version and the tab stand in the address.
 */
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useSearch } from "wouter";
import { ActionButton, useDoing } from "../../app/actions/Actions.tsx";
import { constellationActions, failedTasks, taskActions } from "../../app/actions/actions.ts";
import { forkFrom, takeBack, undoWork } from "../../app/actions/goingBack.ts";
import type { Key } from "../../app/shell/keys.ts";
import { MissingConstellation } from "../../app/shell/Missing.tsx";
import { Shell } from "../../app/shell/Shell.tsx";
import { useLook } from "../../app/shell/theme.ts";
import {
  useFleet,
  useLater,
  useMedia,
  useNow,
  usePhone,
  useStream,
  useWorkspace,
} from "../../app/workspace/context.ts";
import { fullFirst, leading, partsOf } from "../../model/answer/parts.ts";
import { isPlanning } from "../../model/plan/planning.ts";
import { answerNow, headShown, sentenceNow } from "../../model/plan/soFar.ts";
import { overlay } from "../../model/stream/history.ts";
import { readFilter } from "../../model/tasks/filter.ts";
import {
  allViews,
  answer,
  counted,
  counts,
  head,
  questions,
  readingOrder,
  specs,
  type TaskView,
  versions,
} from "../../model/tasks/selectors.ts";
import type { Device } from "../../model/types.ts";
import { age, clock, duration, FINAL } from "../../model/words/words.ts";
import { Acts } from "../../ui/Acts.tsx";
import { Button, type Choice, Empty, ProblemNote, StatePill, Tabs } from "../../ui/parts.tsx";
import { AnswerChips, AnswerStage } from "../answer/Answer.tsx";
import { AnswerBand } from "../answer/AnswerBand.tsx";
import { QuestionCard } from "../inbox/questions/Questions.tsx";
import { BreakButton, FaultLines } from "../lab/BreakSomething.tsx";
import { KeepThis } from "../recipes/Proposals.tsx";
import { BehindLine, PriorityOf } from "../request/PriorityChoice.tsx";
import { Repeat } from "../schedules/Repeat.tsx";
import type { OpenMenu } from "./graph/context.ts";
import { useFeedPast, useLog, usePast } from "./history/past.ts";
import { VersionChoice } from "./history/Versions.tsx";
import { Inspector, type InspectorTab } from "./inspector/Inspector.tsx";
import { Conversation, callsOf } from "./planning/Conversation.tsx";
import { WritingNow } from "./planning/WritingNow.tsx";
import { StuckCard } from "./tasks/StuckCard.tsx";
import { Summary } from "./tasks/Summary.tsx";
import { TapCard } from "./tasks/TapCard.tsx";
import { TaskList } from "./tasks/TaskList.tsx";
import { TaskMenu } from "./tasks/TaskMenu.tsx";
import { Dock } from "./view/Dock.tsx";
import { FilterField } from "./view/FilterField.tsx";
import { LENS, type Lens, lensOf, manyLoose } from "./view/lens.ts";
import { DeadlineChance, FaultNote, OriginLine } from "./view/Notes.tsx";
import { Troubles } from "./view/Troubles.tsx";
import { useForecast } from "./view/useForecast.ts";
import { checkedWhole, retryFailed } from "./view/whole.ts";

const Graph = lazy(() => import("./graph/Graph.tsx"));
const Thinking = lazy(async () => ({ default: (await import("./planning/Thinking.tsx")).Thinking }));
const Timeline = lazy(() => import("./timeline/Timeline.tsx"));
const PLAY_MS = 1200;
/** As in `narrow.css`. */
const LOW = "(max-height: 560px)";
/** The least zoom of a fit in a low window: below it the cards have no names. */
const LOW_ZOOM = 0.3;
/** The answer stands beside the graph where both have room; else it is a lens like graph and list. */
const BESIDE = "(min-width: 1100px) and (min-height: 561px)";
const BESIDE_A_TASK = "(min-width: 1560px) and (min-height: 561px)";
const HIDDEN = "none";
/** Above so many tasks the list or the graph is drawn in a task of its own, behind the rest of the page. */
const LARGE = 300;

export function ConstellationPage({ id, task }: { id: string; task: string | null }) {
  const model = useStream(id);
  const fleet = useFleet();
  const phone = usePhone();
  const workspace = useWorkspace();
  const [, go] = useLocation();
  const search = new URLSearchParams(useSearch());
  const { perform } = useDoing();
  const density = useLook((look) => look.density);

  const filter = search.get("q") ?? "";
  const shownVersion = search.get("v") ? Number(search.get("v")) : null;
  const [playing, setPlaying] = useState(false);
  // In a low window the feed would cover the graph; it opens by its button. A person's choice holds until the
  // window turns: a device that is turned begins as one that was opened so.
  const low = useMedia(LOW);
  const [feedAsked, setFeedAsked] = useState<{ low: boolean; open: boolean } | null>(null);
  const feedOpen = feedAsked?.low === low ? feedAsked.open : !low;

  const to = useCallback(
    (change: { task?: string | null; set?: Record<string, string | null> }, replace = false) => {
      const next = new URLSearchParams(location.search);
      for (const [name, value] of Object.entries(change.set ?? {})) {
        if (value === null || value === "") next.delete(name);
        else next.set(name, value);
      }
      const chosen = change.task === undefined ? task : change.task;
      if (change.task !== undefined && !change.set?.tab) next.delete("tab");
      const path = `/constellations/${encodeURIComponent(id)}${chosen ? `/t/${encodeURIComponent(chosen)}` : ""}`;
      go(`${path}${next.size ? `?${next}` : ""}`, { replace });
    },
    [go, id, task],
  );
  const select = useCallback((next: string) => to({ task: next }), [to]);
  // A key that chooses a task takes the focus along; a click leaves it in the graph or the list.
  const byKey = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the focus follows each choice of a task or of its tab.
  useEffect(() => {
    if (byKey.current) document.querySelector<HTMLElement>(".con > .inspector")?.focus({ preventScroll: true });
    byKey.current = false;
  }, [task, search.get("tab")]);
  const selectByKey = (next: string) => {
    byKey.current = true;
    select(next);
  };
  const [menu, setMenu] = useState<{ task: string; at: { x: number; y: number } } | null>(null);
  const onMenu = useCallback<OpenMenu>((of, at) => setMenu({ task: of, at }), []);
  const closeMenu = useCallback(() => setMenu(null), []);
  const lookAt = (version: number | null) => to({ set: { v: version === null ? null : String(version) } }, true);

  useFeedPast(id, model);
  const log = useLog(id, shownVersion !== null);
  const past = usePast(log, id, shownVersion);
  const scene = past ?? model;
  const many = manyLoose(model);
  const asked = search.get("lens");
  const constellation = head(model);
  const result = constellation && answerNow(model, constellation, answer(model));
  // biome-ignore lint/correctness/useExhaustiveDependencies: plans change with the revision, too, and are read with it.
  const parts = useMemo(() => fullFirst(partsOf(result, specs(model))), [result, model.revision]);
  const wanted = search.get("answer");
  const roomy = useMedia(task ? BESIDE_A_TASK : BESIDE);
  const over = constellation !== undefined && FINAL.has(constellation.state);
  const part =
    parts.find((one) => one.key === wanted) ??
    (over && wanted !== HIDDEN && shownVersion === null ? leading(parts) : undefined);
  const beside = roomy && part !== undefined;
  const planned = constellation !== undefined && isPlanning(constellation);
  const lens = lensOf(asked, {
    planning: planned,
    answer: part !== undefined && !beside,
    chosen: wanted !== null || !task,
    listed: phone || many,
  });
  const foreseen = constellation?.state === "active" && (Boolean(constellation.deadline_s) || lens === "timeline");
  const forecast = useForecast(id, model, foreseen);
  const now = useNow(constellation && FINAL.has(constellation.state) ? 0 : 1000);
  const all = versions(model);
  const lastVersion = all[all.length - 1]?.number ?? 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: versions change when their number does.
  const drawn = useMemo(
    () => overlay(all, shownVersion ?? lastVersion, shownVersion !== null),
    [lastVersion, shownVersion],
  );
  const views = allViews(scene, fleet);
  const fits = readFilter(filter, now);
  const filtered = filter ? views.filter(fits) : views;
  const framed = useLater(constellation !== undefined);

  // The first failure is what one came to see; only when nothing was chosen, and only once.
  const looked = useRef(false);
  useEffect(() => {
    if (looked.current || task || phone || !model.ready) return;
    // An answer in part is shown before its failures; its sentence names them.
    if (constellation?.state === "partial" && parts.length > 0) return;
    const failed = failedTasks(model, fleet)[0];
    if (failed) {
      looked.current = true;
      to({ task: failed.id }, true);
    }
  });

  useEffect(() => {
    if (!playing) return;
    const at = shownVersion ?? 0;
    const timer = setTimeout(() => {
      if (at >= lastVersion) {
        setPlaying(false);
        to({ set: { v: null } }, true);
      } else to({ set: { v: String(at + 1) } }, true);
    }, PLAY_MS);
    return () => clearTimeout(timer);
  }, [playing, shownVersion, lastVersion, to]);

  if (!constellation) return <MissingConstellation id={id} />;
  const present = past ? allViews(model, fleet) : views;
  const shown = headShown(constellation, present, checkedWhole(present));
  const pieces = counted(model, fleet, present);
  const done = pieces.filter((view) => view.shown.tone === "teal" || view.shown.glyph === "chevrons").length;
  const took = (constellation.ended_ms || now) - constellation.created_ms;
  const final = over;
  const idle =
    !final &&
    present.some((view) => view.record?.state === "ready") &&
    !present.some((view) => view.shown.tone === "blue");
  const actions = constellationActions(workspace.hub, constellation);
  const retryAll = retryFailed(workspace.hub, constellation, failedTasks(model, fleet));
  const undoAll = undoWork(workspace, constellation, present, null);
  const shownNow = shownVersion === null ? undefined : all.find((version) => version.number === shownVersion);
  const ofVersion = shownNow
    ? [
        forkFrom(workspace, id, { from_version: shownNow.number }, go),
        ...[takeBack(workspace, constellation, shownNow)].filter((action) => action !== null),
      ]
    : [];
  const open = questions(model);
  const used = [...new Set(present.map((view) => view.record?.device))]
    .map((device) => (device ? fleet.one<Device>(`device/${device}`) : undefined))
    .filter((device) => device !== undefined);

  const openPart = (key: string) => to({ set: { answer: key, lens: roomy ? null : "answer", v: null } }, true);
  const stage = part && (
    <AnswerStage
      constellation={id}
      parts={parts}
      shown={part}
      onOpen={openPart}
      onClose={beside ? () => to({ set: { answer: over ? HIDDEN : null } }, true) : null}
    />
  );
  const lenses: Choice<Lens>[] = [
    { value: "graph", label: "Graph", icon: "graph" },
    { value: "list", label: "List", icon: "list" },
  ];
  if (phone) lenses.reverse();
  if (planned) lenses.unshift({ value: "planning", label: "Planning", icon: "edit" });
  lenses.push({ value: "timeline", label: "Timeline", icon: "timeline" });
  if (callsOf(model).length > 0) lenses.push({ value: "conversation", label: "Conversation", icon: "recipe" });
  if (part && !beside) lenses.unshift({ value: "answer", label: "Answer", icon: "proof" });

  const edit = () => go(`/constellations/${encodeURIComponent(id)}/edit`);
  const ordered = () => readingOrder(filtered);
  const step = (by: number) => {
    const list = ordered();
    const at = list.findIndex((view) => view.id === task);
    const next = list[Math.max(0, Math.min(list.length - 1, at < 0 ? 0 : at + by))];
    if (next) selectByKey(next.id);
  };
  const nextFailure = () => {
    const failed = failedTasks(model, fleet);
    const at = failed.findIndex((view) => view.id === task);
    const next = failed[(at + 1) % Math.max(1, failed.length)];
    if (next) selectByKey(next.id);
  };
  const chosen: TaskView | undefined = task ? views.find((view) => view.id === task) : undefined;
  const showVersion = (by: number) => {
    const at = Math.max(1, Math.min(lastVersion, (shownVersion ?? lastVersion) + by));
    to({ set: { v: at === lastVersion && by > 0 ? null : String(at) } }, true);
  };
  const play = () => {
    if (!playing) to({ set: { v: "1" } }, true);
    setPlaying(!playing);
  };
  const keys: Key[] = [
    { keys: "1", does: "Graph", run: () => to({ set: { lens: "graph" } }) },
    { keys: "2", does: "List", run: () => to({ set: { lens: "list" } }) },
    { keys: "3", does: "Timeline", run: () => to({ set: { lens: "timeline" } }) },
    { keys: "j", does: "Next task", run: () => step(1) },
    { keys: "k", does: "Previous task", run: () => step(-1) },
    ...(final ? [] : [{ keys: "e", does: "Edit the plan while it runs", run: edit }]),
    { keys: "x", does: "Next failure", run: nextFailure },
    {
      keys: "l",
      does: "Log of the task",
      run: () => {
        byKey.current = task !== null;
        to({ set: { tab: "log" } });
      },
    },
    {
      keys: "r",
      does: "Retry the task",
      run: () => {
        const retry =
          chosen && taskActions(workspace.hub, constellation, chosen).find((action) => action.id === "retry");
        if (retry) void perform(retry);
        else if (retryAll) void perform(retryAll);
      },
    },
    { keys: "Escape", does: "Close the task", run: () => (task ? to({ task: null }) : to({ set: { q: null } })) },
    { keys: "[", does: "Earlier version", run: () => showVersion(-1) },
    { keys: "]", does: "Later version", run: () => showVersion(1) },
    { keys: " ", does: "Play the versions", run: play },
    { keys: ".", does: "Cancel (asks)", run: () => void perform(actions[1] ?? never) },
  ];
  const entries = () => [
    ...actions.map((action) => ({
      id: action.id,
      group: "Do",
      label: `${action.label} this constellation`,
      note: action.why ?? "",
      run: () => void perform(action),
    })),
    ...views.slice(0, 3000).map((view) => ({
      id: `task ${view.id}`,
      group: "Task",
      label: view.id,
      note: view.shown.word,
      run: () => select(view.id),
    })),
  ];

  const pill = (
    <StatePill shown={shown}>
      {shown.word}
      {!final && !planned && present.length > 0
        ? `${shown.tone === "blue" ? "" : ","} ${done} of ${pieces.length}`
        : ""}
    </StatePill>
  );
  // In the order of their weight: the last ones go behind *More* first.
  const buttons = [
    ...(retryAll ? [<ActionButton key="retry" action={retryAll} />] : []),
    ...(final ? [] : actions.map((action) => <ActionButton key={action.id} action={action} />)),
    ...(!final && lastVersion > 0
      ? [
          <Button key="edit" icon="edit" title="Edit the plan while it runs (e)" onClick={edit}>
            Edit plan
          </Button>,
        ]
      : []),
    ...(undoAll ? [<ActionButton key="undo" action={undoAll} />] : []),
    ...(lastVersion > 0
      ? [
          <Button
            key="rows"
            title="Change its plan and run it again, or save it as a recipe"
            onClick={() => go(`/new?way=build&from=${encodeURIComponent(id)}`)}
          >
            Plan in rows
          </Button>,
        ]
      : []),
    <BreakButton key="break" devices={used} over={final} />,
    ...(final && lastVersion > 0
      ? [<Repeat key="repeat" constellation={id} name={constellation.name || "this"} />]
      : []),
  ];
  return (
    <Shell
      title={constellation.name || constellation.request || id}
      crumb={{ path: "/constellations", label: "Constellations" }}
      beside={
        <span className="row only-wide nowrap">
          {pill}
          <span className="dim age">
            {final ? `in ${duration(took)}, ${age(constellation.ended_ms ?? 0, now)}` : clock(took)}
          </span>
          {constellation.deadline_s ? <DeadlineChance forecast={forecast} /> : null}
        </span>
      }
      actions={buttons}
      keys={keys}
      entries={entries}
      narrow
      fixed
      className={`con ${task ? "with-inspector" : ""} ${beside ? "with-answer" : ""} ${final ? "final" : ""}`}
    >
      <section className="band" aria-label="Answer">
        <div className="only-phone row phonestate">
          {pill}
          <Troubles views={views} onFilter={(text) => to({ set: { q: text } })} />
          {constellation.deadline_s ? <DeadlineChance forecast={forecast} /> : null}
          <span className="dim end">{final ? duration(took) : clock(took)}</span>
        </div>
        <AnswerBand
          of={constellation}
          answer={result}
          sentence={sentenceNow(constellation, result, pieces)}
          label={phone ? null : final ? "Answer" : "Answer so far"}
          fleet={fleet}
        >
          {!beside && lens !== "answer" && <AnswerChips constellation={id} parts={parts} onOpen={openPart} />}
        </AnswerBand>
        {!final && !planned && <WritingNow model={model} />}
        {views.length > 0 && !planned && (
          <Summary
            counts={counts(past ? views : pieces)}
            views={views}
            fleet={fleet}
            onFilter={(text) => to({ set: { q: text, lens: "list" } })}
          />
        )}
      </section>
      {final && !past && <KeepThis constellation={id} />}
      {idle && <BehindLine constellation={id} />}
      <FaultLines constellation={id} />
      {constellation.origin && <OriginLine origin={constellation.origin} />}
      {constellation.fault && <FaultNote fault={constellation.fault} />}
      {(open.length > 0 || (constellation.attention?.length ?? 0) > 0) && (
        <section className="card asked" aria-label="Needs you">
          {open.map((question) => (
            <QuestionCard key={question.id} question={question} constellation={id} />
          ))}
          {open.length === 0 && <StuckCard constellation={constellation} views={present} onSelect={select} />}
        </section>
      )}
      {!final && !past && <TapCard views={present} fleet={fleet} nowMs={now} />}
      {beside && stage}
      <section className="canvas" aria-label={LENS[lens]}>
        <div className="tools">
          <Tabs<Lens>
            look="seg"
            label="Lens"
            value={lens}
            onChange={(next) => to({ set: { lens: next } })}
            choices={lenses}
          />
          {((lens === "list" && !phone) || filter) && (
            <FilterField
              value={filter}
              onChange={(text) => to({ set: { q: text, lens: "list" } }, true)}
              onClear={() => to({ set: { q: null } }, true)}
            />
          )}
          {!final && lastVersion > 0 && <PriorityOf constellation={constellation} />}
          {phone && lens !== "timeline" && all.length > 1 && (
            <VersionChoice versions={all} shown={shownVersion} onShow={lookAt} />
          )}
          {past && (
            <div className="pastnote small">
              <span>
                As it was at the end of <b>v{shownVersion}</b>
              </span>
              {ofVersion.map((action) => (
                <ActionButton key={action.label} action={action} />
              ))}
            </div>
          )}
        </div>
        {log.problem && shownVersion !== null && <ProblemNote problem={log.problem} />}
        {lens === "planning" ? (
          <Suspense>
            <Thinking model={model} fleet={fleet} head={constellation} phone={phone} />
          </Suspense>
        ) : lens === "conversation" ? (
          <Conversation model={model} />
        ) : views.length === 0 ? (
          <Empty title={constellation.state === "planning" ? "The plan is being made." : "There is no task yet."}>
            <p>{constellation.request}</p>
          </Empty>
        ) : lens === "answer" ? (
          stage
        ) : views.length > LARGE && !framed ? null : lens === "list" ? (
          <TaskList
            views={filtered}
            selected={task}
            rowHeight={phone ? 56 : density === "compact" ? 28 : 40}
            progress={model.progress}
            onSelect={select}
            onMenu={onMenu}
          />
        ) : lens === "timeline" ? (
          <Suspense fallback={<p className="dim waiting">Drawing the timeline.</p>}>
            <Timeline
              id={id}
              model={model}
              fleet={fleet}
              selected={task}
              narrow={phone}
              forecast={forecast}
              onSelect={select}
              onMenu={onMenu}
            />
          </Suspense>
        ) : (
          <Suspense fallback={<p className="dim waiting">Drawing the graph.</p>}>
            <Graph
              model={scene}
              fleet={fleet}
              selected={task}
              overlay={drawn}
              ghosts={shownVersion !== null}
              onSelect={select}
              onMenu={onMenu}
              top={phone ? (past ? 164 : !final && all.length > 1 ? 116 : 68) : 48}
              bottom={phone ? 12 : feedOpen && !low ? 178 : 68}
              readable={phone ? 0.6 : low ? LOW_ZOOM : 0}
              down={phone}
              minimap={!phone && !beside && views.length > 20 && feedOpen && !low}
            />
          </Suspense>
        )}
        {lens === "graph" && !phone && (
          <Dock
            scene={scene}
            fleet={fleet}
            versions={all}
            shown={shownVersion}
            playing={playing}
            open={feedOpen}
            onShow={lookAt}
            onPlay={play}
            onOpen={(open) => setFeedAsked({ low, open })}
            onSelect={select}
          />
        )}
      </section>
      {menu && (
        <TaskMenu
          key={`${menu.task} ${menu.at.x} ${menu.at.y}`}
          model={scene}
          fleet={fleet}
          task={menu.task}
          at={menu.at}
          onOpen={(tab) => to({ task: menu.task, set: { tab } })}
          onClose={closeMenu}
        />
      )}
      {task && (
        <Inspector
          model={scene}
          fleet={fleet}
          task={task}
          tab={(search.get("tab") as InspectorTab | null) ?? null}
          onTab={(tab) => to({ set: { tab } }, true)}
          onSelect={select}
          onClose={() => to({ task: null })}
        />
      )}
      {phone && !task && (!final || lastVersion > 0) && (
        <div className="thumb">
          <Acts label="Actions of this page" up>
            {buttons}
          </Acts>
        </div>
      )}
    </Shell>
  );
}

const never = { id: "none", label: "", why: "Nothing to do.", run: async () => undefined };
