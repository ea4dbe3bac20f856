/** The tabs of the inspector: why a task stands where it stands, its result, its input, its history. */

import { useMemo } from "react";
import { isRow } from "../../../app/actions/actions.ts";
import { useRevision, useWorkspace } from "../../../app/workspace/context.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import { callsNamed, nameOfDevice } from "../../../model/fleet/fleet.ts";
import { feedLines, feedSource } from "../../../model/run/feed.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { findingTaken } from "../../../model/tasks/findings.ts";
import { dependencies, head, resultOf, type TaskView, taskView } from "../../../model/tasks/selectors.ts";
import type { Dependency, Input, RuleRecord, WhyRow } from "../../../model/types.ts";
import { ownTimes } from "../../../model/words/clock.ts";
import { bytes, timeOfDay } from "../../../model/words/words.ts";
import { Glyph } from "../../../ui/Glyph.tsx";
import { Icon } from "../../../ui/Icon.tsx";
import { ProblemNote } from "../../../ui/parts.tsx";
import { ValueView } from "../../answer/values/ValueView.tsx";
import { Asleep } from "../../inbox/Asleep.tsx";
import { Blame } from "./Blame.tsx";
import { waysOut } from "./waysOut.ts";

interface WhyProps {
  constellation: string;
  model: StreamModel;
  view: TaskView;
  onSelect: (task: string) => void;
}

export function WhyTab({ constellation, model, view, onSelect }: WhyProps) {
  const { hub } = useWorkspace();
  const stamp = `${constellation}/${view.id}/${view.record?.state}/${view.record?.reason}/${view.record?.attempt}`;
  // Devices come and go, and other work takes their slots, without an event of this constellation.
  const why = useResource(
    stamp,
    (signal) => hub.why(constellation, view.id, signal),
    ["constellations", "tasks", "devices"],
    2000,
  );
  const waits = gatesOf(model, view.id);
  return (
    <div className="stack">
      {why.problem && <ProblemNote problem={why.problem} />}
      {why.value ? <p>{ownTimes(why.value.sentence)}</p> : why.loading && <p className="dim">Asking the hub.</p>}
      {why.value?.open && <Asleep names={why.value.asleep ?? []} again={why.value.open} />}
      {view.attempt?.why && <p className="small dim">Device chosen: {view.attempt.why}</p>}
      {(why.value?.candidates?.length ?? 0) > 0 && (
        <ul className="candidates" aria-label="Devices">
          {alike(why.value?.candidates ?? []).map(([first, ...others]) => (
            <li key={first.device} className={`tone-${first.fits ? "teal" : "grey"} ${others.length ? "several" : ""}`}>
              <Glyph name={first.fits ? "tick" : "square"} />
              <b>{[first, ...others].map(({ name }) => name).join(", ")}</b>
              <span>{first.reason || (first.fits ? "can do it" : "cannot")}</span>
            </li>
          ))}
        </ul>
      )}
      {(why.value?.actions?.length ?? 0) > 0 && (
        <p className="small">
          <span className="dim">Way out: </span>
          {waysOut(why.value?.actions ?? [], why.value?.state, isRow(view)).join("; or ")}
        </p>
      )}
      {why.value?.warning && <p className="small">{why.value.warning}</p>}
      {waits.length > 0 && (
        <>
          <h3 className="small strong dim">Depends on</h3>
          <ul className="candidates">
            {waits.map((dependency) => (
              <DependencyLine
                key={`${dependency.source}/${dependency.gate}/${dependency.input}`}
                model={model}
                dependency={dependency}
                onSelect={onSelect}
              />
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

type Candidate = WhyRow["candidates"][number];

/** Devices with the same words in one line, in the order of the first of them. */
function alike(candidates: readonly Candidate[]): [Candidate, ...Candidate[]][] {
  const found = new Map<string, [Candidate, ...Candidate[]]>();
  for (const one of candidates) {
    const held = found.get(one.reason);
    if (held) held.push(one);
    else found.set(one.reason, [one]);
  }
  return [...found.values()];
}

function gatesOf(model: StreamModel, task: string): Dependency[] {
  const found: Dependency[] = [];
  for (const dependency of dependencies(model).values()) if (dependency.target === task) found.push(dependency);
  return found.slice(0, 40);
}

function DependencyLine(props: { model: StreamModel; dependency: Dependency; onSelect: (task: string) => void }) {
  const { model, dependency, onSelect } = props;
  const { fleet } = useWorkspace();
  const view = taskView(model, fleet, dependency.source);
  const shown = view && !view.spec.for_each ? view.shown : undefined;
  const what = dependency.gate === "data" ? `gives ${dependency.input}` : dependency.gate.replaceAll("_", " ");
  return (
    <li className={shown ? `tone-${shown.tone}` : "tone-grey"}>
      <Glyph name={shown?.glyph ?? "ring"} />
      <button type="button" className="strong cut" onClick={() => onSelect(dependency.source)}>
        {dependency.source}
      </button>
      <span>
        {what}
        {shown && `, ${shown.word.toLowerCase()}`}
      </span>
    </li>
  );
}

export function ResultTab({ view }: { view: TaskView }) {
  const { hub } = useWorkspace();
  const { attempt, record } = view;
  if (view.spec.person && record?.state === "succeeded" && !attempt)
    return <p className="dim">A person answered; see History.</p>;
  const value = resultOf(view);
  // The answer of a goal is the model's, without an attempt on a device.
  if (!attempt?.end && value === null) return <p className="dim">There is no result yet.</p>;
  return (
    <div className="stack">
      <p className="small dim">
        {record?.checked
          ? "Checked: every check was met."
          : record?.state === "succeeded"
            ? "This task has no check of its own."
            : ""}
      </p>
      {attempt?.artifact && (
        <p>
          <a className="btn" href={hub.artifactUrl(attempt.artifact, view.id)} download>
            <Icon name="down_to" />
            Save {bytes(attempt.bytes ?? 0)}
          </a>
        </p>
      )}
      {value !== null ? (
        <ValueView text={value} />
      ) : (
        !attempt?.artifact && <p className="dim">{attempt?.detail || "It gave no value."}</p>
      )}
    </div>
  );
}

export function InputTab({
  model,
  fleet,
  view,
  onSelect,
}: {
  model: StreamModel;
  fleet: StreamModel;
  view: TaskView;
  onSelect: (task: string) => void;
}) {
  const { spec } = view;
  const item = spec.family && spec.key ? model.one<{ value: string }>(`item/${spec.family}/${spec.key}`) : undefined;
  return (
    <div className="stack">
      {(spec.inputs ?? []).length > 0 && (
        <ul className="candidates" aria-label="Inputs from other tasks">
          {spec.inputs?.map((input) => {
            if (input.topic)
              return <FindingTaken key={input.name} {...{ model, fleet, view, onSelect }} input={input} />;
            const source = taskView(model, fleet, input.source);
            return (
              <li
                key={input.name}
                className={source && !source.spec.for_each ? `tone-${source.shown.tone}` : "tone-grey"}
              >
                <Glyph name={source && !source.spec.for_each ? source.shown.glyph : "ring"} />
                <b>{input.name}</b>
                <span>
                  from{" "}
                  <button type="button" className="link" onClick={() => onSelect(input.source)}>
                    {input.source}
                  </button>
                  {input.output && <code className="mono"> {input.output}</code>}
                  {input.optional && ", optional"}
                </span>
              </li>
            );
          })}
        </ul>
      )}
      {item && (
        <>
          <h3 className="small strong dim">Its item</h3>
          <ValueView text={item.value} />
        </>
      )}
      <h3 className="small strong dim">Arguments</h3>
      <ValueView text={spec.args ?? "{}"} exact />
      <p className="small dim">
        {spec.repeatability ? `Repeatability: ${spec.repeatability}. ` : ""}
        In the plan since v{spec.changed_in}.
      </p>
    </div>
  );
}

/** An input by topic: the finding that it took, where that came from and how old it was then. */
function FindingTaken({
  model,
  fleet,
  view,
  input,
  onSelect,
}: {
  model: StreamModel;
  fleet: StreamModel;
  view: TaskView;
  input: Input;
  onSelect: (task: string) => void;
}) {
  const took = findingTaken(model, view, input.name);
  return (
    <li className={took?.finding ? "tone-green" : "tone-grey"}>
      <Glyph name={took?.finding ? "tick" : "ring"} />
      <b>{input.name}</b>
      {took?.finding ? (
        <span>
          the finding <b>{input.topic}</b> from{" "}
          <button type="button" className="link" onClick={() => onSelect(took.finding?.task ?? "")}>
            {took.finding.task}
          </button>
          {took.finding.device && ` on ${nameOfDevice(fleet, took.finding.device)}`}, {took.age} old then
          {took.finding.stranger && ", which a stranger may have written"}
        </span>
      ) : (
        <span>
          {took ? "the value in place of a finding of " : "waits for a finding of "}
          <b>{input.topic}</b>
        </span>
      )}
    </li>
  );
}

export function HistoryTab({ model, task }: { model: StreamModel; task: string }) {
  const revision = useRevision(model);
  const { fleet } = useWorkspace();
  const constellation = head(model);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list grows in place; `revision` says when.
  const lines = useMemo(() => {
    const own = model.events.filter(
      (event) => event.about === task || `task/${task}` in event.puts || `spec/${task}` in event.puts,
    );
    return feedLines(own, 60);
  }, [model, task, revision]);
  const rules = [...model.kind<RuleRecord>("rule").values()].filter(
    (rule) => rule.task === task || task.startsWith(`${rule.task}.`),
  );
  return (
    <div className="stack">
      {lines.length === 0 && <p className="dim">Nothing has happened to this task since the page has its log.</p>}
      <ol className="history">
        {lines.map((line) => (
          <li key={line.seq}>
            <time className="mono">{timeOfDay(line.at_ms, true)}</time>
            <Glyph name={line.glyph} tone={line.tone} />
            <span>
              {line.kind === "version" ? <b>{line.names.join(", ")} </b> : null}
              {callsNamed(fleet, line.text)}{" "}
              <span className="faint">{feedSource(line, (device) => nameOfDevice(fleet, device))}</span>
            </span>
          </li>
        ))}
      </ol>
      {constellation && <Blame constellation={constellation.id} task={task} version={constellation.version ?? 0} />}
      {rules.length > 0 && (
        <p className="small dim">
          Rules that watch it:{" "}
          {rules
            .map((rule) => `${rule.name} (${rule.reason}${rule.fired ? `, fired ${rule.fired} times` : ""})`)
            .join("; ")}
        </p>
      )}
    </div>
  );
}
