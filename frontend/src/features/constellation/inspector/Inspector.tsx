/**
 * One task, the most important first: what went wrong as a sentence, then attempts, then result, log, input, why and
 * history. A column on a wide screen, a full sheet on a phone.
 */
import { type ReactNode, useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { ActionButton } from "../../../app/actions/Actions.tsx";
import { groupActions, taskActions } from "../../../app/actions/actions.ts";
import { forkFrom } from "../../../app/actions/goingBack.ts";
import { useUndo } from "../../../app/actions/useUndo.ts";
import { useNow, usePhone, useWorkspace } from "../../../app/workspace/context.ts";
import { ASLEEP } from "../../../model/fleet/fleet.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import {
  allViews,
  attempts,
  counts,
  elapsedMs,
  groupShown,
  head,
  inTrouble,
  type TaskView,
  taskView,
} from "../../../model/tasks/selectors.ts";
import type { GroupRecord, Head, TaskSpec } from "../../../model/types.ts";
import { age, bytes, codeHint, codeTitle, duration, plural } from "../../../model/words/words.ts";
import { Glyph } from "../../../ui/Glyph.tsx";
import { Panel } from "../../../ui/Panel.tsx";
import { Button, DeviceChip, StateBar, StatePill, Tabs } from "../../../ui/parts.tsx";
import { Said } from "../../../ui/Said.tsx";
import { AddRows } from "./AddRows.tsx";
import { CountsAs } from "./CountsAs.tsx";
import { Folded } from "./Folded.tsx";
import { GoalPart } from "./GoalPart.tsx";
import { HistoryTab, InputTab, ResultTab, WhyTab } from "./InspectorTabs.tsx";
import { LogTab } from "./LogTab.tsx";
import { UnmetChecks } from "./UnmetChecks.tsx";

export type InspectorTab = "result" | "log" | "input" | "why" | "history";

interface InspectorProps {
  model: StreamModel;
  fleet: StreamModel;
  task: string;
  tab: InspectorTab | null;
  onTab: (tab: InspectorTab) => void;
  onSelect: (task: string) => void;
  onClose: () => void;
}

/** The tab that one most likely wants in this state; a failure without a line of output is explained by its reason. */
export function naturalTab(view: Pick<TaskView, "shown" | "attempt" | "record">): InspectorTab {
  if (view.shown.tone === "vermilion") return view.attempt?.tail ? "log" : "why";
  if (view.shown.tone === "blue") return "log";
  if (view.record?.state === "succeeded") return "result";
  return "why";
}

export function Inspector(props: InspectorProps) {
  const { model, fleet, task, onClose } = props;
  const constellation = head(model);
  const view = taskView(model, fleet, task);
  const spec = model.one<TaskSpec>(`spec/${task}`);
  if (!constellation) return null;
  return (
    <Panel className="inspector" label={`Task ${task}`} of={task}>
      {!spec || !view ? (
        <GoneTask task={task} onClose={onClose} />
      ) : spec.for_each || spec.nested || spec.goal ? (
        <GroupPart key={task} {...props} head={constellation} spec={spec} />
      ) : (
        <TaskPart key={task} {...props} head={constellation} view={view} />
      )}
    </Panel>
  );
}

function TopLine({ task, what, onClose }: { task: string; what: string; onClose: () => void }) {
  const phone = usePhone();
  return (
    <div className="row">
      {phone && <Button icon="left" kind="quiet" aria-label="Back to the list" onClick={onClose} />}
      <h2 className="head cut" tabIndex={-1}>
        {task}
      </h2>
      <span className="dim small cut">{what}</span>
      {!phone && <Button icon="close" kind="quiet" className="end" aria-label="Close" onClick={onClose} />}
    </div>
  );
}

function GoneTask({ task, onClose }: { task: string; onClose: () => void }) {
  return (
    <header>
      <TopLine task={task} what="" onClose={onClose} />
      <p className="dim">
        This task is not in the plan as it is shown. A version may have removed it; the versions below the graph say
        which.
      </p>
    </header>
  );
}

function TaskPart(props: InspectorProps & { head: Head; view: TaskView }) {
  const { model, fleet, head: constellation, view, onClose } = props;
  const { hub } = useWorkspace();
  const { spec, shown } = view;
  const now = useNow(60_000);
  const most =
    spec.retry?.max_attempts || (spec.repeatability === "pure" || spec.repeatability === "idempotent" ? 3 : 0);
  const count = view.record?.attempt ?? 0;
  const what = [
    spec.tool ?? (spec.person ? "a question" : ""),
    count > 0 ? `attempt ${count}${most ? ` of ${Math.max(most, count)}` : ""}` : "",
  ];
  const workspace = useWorkspace();
  const [, go] = useLocation();
  const undo = useUndo(workspace, constellation, allViews(model, fleet), view);
  const actions = [
    ...taskActions(hub, constellation, view),
    forkFrom(workspace, constellation.id, { from_task: view.id }, go),
    ...(undo ? [undo] : []),
  ];
  const blocked = actions.find((action) => action.id === "retry" && action.why);
  // A failure is told with its way out; below a long result nobody would find it.
  const again = shown.tone === "vermilion" ? actions.find((action) => action.id === "retry" && !action.why) : undefined;
  // While the tab is the natural one it follows the state; a person's own choice stays.
  const [chosen, setChosen] = useState<InspectorTab | null>(props.tab);
  useEffect(() => setChosen(props.tab), [props.tab]);
  const tab = chosen ?? naturalTab(view);
  return (
    <>
      <header>
        <TopLine task={view.name} what={what.filter(Boolean).join(", ")} onClose={onClose} />
        <div className="row wrap">
          <StatePill shown={shown} />
          {view.deviceName && <DeviceChip tag={view.deviceTag} name={view.deviceName} />}
          {view.label && <span className="chip out">{view.label}</span>}
          {spec.optional && <span className="chip out">optional</span>}
          {Boolean(spec.look) && <span className="chip out">a look of a model, round {spec.look}</span>}
          {spec.undoes && <span className="chip out">undoes {spec.undoes}</span>}
          {spec.superseded_by && <span className="chip out">{spec.superseded_by} did its work</span>}
          {spec.verifies && <span className="chip out">looks whether {spec.verifies.split("/")[0]} happened</span>}
          {view.attempt?.origin && view.attempt.round === view.record?.round && (
            <Link
              className="chip out"
              href={`/constellations/${view.attempt.origin}/t/${view.attempt.origin_task?.split("/")[0] || view.id}`}
            >
              {view.attempt.origin_ms
                ? `taken over from an earlier run, ${age(view.attempt.origin_ms, now)}`
                : "result of an earlier run"}
            </Link>
          )}
        </div>
      </header>
      <div className="body">
        <Trouble view={view} logged={tab === "log"}>
          {again && <ActionButton action={again} shortcut="r" />}
        </Trouble>
        <Attempts model={model} fleet={fleet} view={view} />
        <Tabs<InspectorTab>
          label="About this task"
          value={tab}
          onChange={(next) => {
            setChosen(next);
            props.onTab(next);
          }}
          controls="about-task"
          choices={[
            { value: "why", label: "Why" },
            { value: "log", label: "Log" },
            { value: "result", label: "Result" },
            { value: "input", label: "Input" },
            { value: "history", label: "History" },
          ]}
        />
        <div className="tabbody" role="tabpanel" id="about-task" aria-label={tab}>
          {tab === "why" && (
            <WhyTab constellation={constellation.id} model={model} view={view} onSelect={props.onSelect} />
          )}
          {tab === "log" && <LogTab constellation={constellation.id} model={model} view={view} />}
          {tab === "result" && <ResultTab view={view} />}
          {tab === "input" && <InputTab model={model} fleet={fleet} view={view} onSelect={props.onSelect} />}
          {tab === "history" && <HistoryTab model={model} task={view.id} />}
        </div>
      </div>
      <footer>
        {blocked?.why && <p className="small dim">Retry: {blocked.why}</p>}
        <CountsAs model={model} head={constellation} spec={spec} state={view.record?.state} />
        <div className="row wrap">
          {actions
            .filter((action) => action !== again && (action.id !== "hold" || !action.why))
            .map((action) => (
              <ActionButton key={action.id} action={action} shortcut={action.id === "retry" ? "r" : undefined} />
            ))}
        </div>
      </footer>
    </>
  );
}

/** The error as a sentence with its cause and the way out; nothing when all is well. */
function Trouble({ view, logged, children }: { view: TaskView; logged: boolean; children: ReactNode }) {
  const now = useNow(1000);
  const { shown, record, attempt } = view;
  if (!record || !inTrouble(shown)) return null;
  const code = record.code ?? attempt?.code;
  const since = record.absent_since_ms || record.since_ms;
  const sentence =
    shown.word === ASLEEP
      ? `${view.deviceName || "Its device"} is asleep. The work goes on as soon as it is opened.`
      : shown.glyph === "broken_arc"
        ? `${view.deviceName || "Its device"} has not answered for ${duration(Math.max(0, now - since))}.`
        : shown.tone === "vermilion"
          ? attempt?.detail || codeTitle(code) || "It failed."
          : shown.word;
  const cause = code && attempt?.detail ? codeTitle(code) : "";
  const held =
    record.not_before_ms && record.not_before_ms > now ? `Tries again in ${duration(record.not_before_ms - now)}.` : "";
  return (
    <section className={`note tone-${shown.tone}`} aria-label="What is wrong">
      <Glyph name={shown.glyph} tone={shown.tone} />
      <Folded text={sentence} />
      <p className="small dim">
        <Said text={[cause && `${cause}.`, codeHint(code), held].filter(Boolean).join(" ")} />
        {shown.glyph === "question" &&
          " The work is not repeated without your word. Look at the device, then say what happened."}
      </p>
      {children}
      {code === "check_failed" && <UnmetChecks view={view} />}
      {/* Its last lines, unless the tab below shows the log itself. */}
      {shown.tone === "vermilion" && attempt?.tail && !logged && (
        <pre className="log small">{lastLines(attempt.tail, 5)}</pre>
      )}
    </section>
  );
}

const lastLines = (text: string, most: number): string => text.trimEnd().split("\n").slice(-most).join("\n");

function Attempts({ model, fleet, view }: { model: StreamModel; fleet: StreamModel; view: TaskView }) {
  const list = attempts(model, view.id);
  const running = list.some(({ attempt }) => !attempt.ended_ms);
  const now = useNow(running ? 1000 : 0);
  if (list.length === 0) return null;
  const progress = model.progress.get(view.id);
  return (
    <ol className="attempts" aria-label="Attempts">
      {list.slice(0, 6).map(({ number, attempt }) => {
        const fraction = progress?.attempt === number && !attempt.ended_ms ? progress.fraction : -1;
        const device = fleet.one<{ name: string }>(`device/${attempt.device}`)?.name ?? attempt.device;
        const ms = elapsedMs({ ...view, attempt }, now) ?? 0;
        const away = !attempt.end && Boolean(view.record?.absent_since_ms);
        const end = attempt.end ? ENDS[attempt.end] : away ? view.shown.word : "At work";
        const tone = away
          ? "amber"
          : attempt.end === "ok"
            ? "teal"
            : attempt.end === "error" || attempt.end === "timeout"
              ? "vermilion"
              : attempt.end
                ? "amber"
                : "blue";
        return (
          <li key={number} className={`tone-${tone}`}>
            <Glyph
              name={
                attempt.end === "ok" ? "tick" : tone === "amber" ? "broken_arc" : attempt.end ? "cross" : "turning_arc"
              }
            />
            <b>{number}</b>
            <span className="cut">
              {end} on {device}, {age(attempt.started_ms || attempt.leased_ms, now)}
            </span>
            <span>{attempt.bytes ? `${bytes(attempt.bytes)}, ${duration(ms)}` : duration(ms)}</span>
            {fraction >= 0 && (
              <span className="meter">
                <i style={{ width: `${fraction / 10}%` }} />
              </span>
            )}
          </li>
        );
      })}
      {list.length > 6 && <li className="more">and {plural(list.length - 6, "earlier attempt")}, see History</li>}
    </ol>
  );
}

const ENDS: Record<string, string> = {
  ok: "Done",
  error: "Failed",
  timeout: "Ran out of time",
  interrupted: "Interrupted",
  refused: "Refused",
  never_started: "Never started",
  lost: "Given up",
  revoked: "Taken back",
};

function GroupPart(props: InspectorProps & { head: Head; spec: TaskSpec }) {
  const { model, fleet, task, head: constellation, spec, onClose, onSelect } = props;
  const { hub } = useWorkspace();
  const record = model.one<GroupRecord>(`group/${task}`);
  const views: TaskView[] = [];
  for (const child of model.kind<TaskSpec>("spec").values()) {
    if (child.group !== task) continue;
    const view = taskView(model, fleet, child.id);
    if (view) views.push(view);
  }
  const shown = groupShown(record);
  const trouble = views.filter((view) => inTrouble(view.shown));
  return (
    <>
      <header>
        <TopLine
          task={task}
          what={
            spec.goal
              ? `a goal, ${plural(views.length, "call")}`
              : spec.nested
                ? `a plan of ${plural(views.length, "task")}`
                : `${spec.tool ?? ""}, ${plural(views.length, "item")}`
          }
          onClose={onClose}
        />
        <div className="row wrap">
          <StatePill shown={shown} />
          {spec.for_each?.max_parallel ? <span className="chip out">{spec.for_each.max_parallel} at once</span> : null}
        </div>
      </header>
      <div className="body">
        <GoalPart {...{ model, fleet, task, onSelect }} constellation={constellation.id} />
        <StateBar counts={counts(views)} />
        <ul className="plainlist">
          {counts(views).map((count) => (
            <li key={count.shown.glyph} className="row">
              <Glyph name={count.shown.glyph} tone={count.shown.tone} />
              {count.count} {count.shown.word}
            </li>
          ))}
        </ul>
        {trouble.length > 0 && <h3 className="strong">Look at these first</h3>}
        <ul className="plainlist">
          {trouble.slice(0, 20).map((view) => (
            <li key={view.id}>
              <button type="button" className="link" onClick={() => onSelect(view.id)}>
                {view.name}
              </button>{" "}
              {view.shown.word}
            </li>
          ))}
        </ul>
      </div>
      <footer>
        <AddRows head={constellation} spec={spec} record={record} />
        <CountsAs model={model} head={constellation} spec={spec} state={record?.state} />
        <div className="row wrap">
          {groupActions(hub, constellation, task, record, Boolean(spec.goal)).map((action) => (
            <ActionButton key={action.id} action={action} />
          ))}
        </div>
      </footer>
    </>
  );
}
