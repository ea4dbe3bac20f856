/** The plan that would run: each task with its device, why that one, what it may do, and what it lacks. */

import { devices } from "../../../model/fleet/fleet.ts";
import { about } from "../../../model/plan/estimate.ts";
import { shownEffects, TO_THE_TRASH } from "../../../model/plan/planInShort.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import type { GrantLine, RequestPreview, RuleRow, TaskPreviewRow } from "../../../model/types.ts";
import { plural } from "../../../model/words/words.ts";
import { useMay } from "../../../ui/away.tsx";
import { Glyph } from "../../../ui/Glyph.tsx";
import { CopyLine } from "../../../ui/parts.tsx";
import { SecretLines } from "./SecretLines.tsx";

/** A page has 1,500 elements; a plan may have 10,000 tasks. */
const SHOWN_MOST = 40;
const HELD_NAMED_MOST = 3;

/** Every missing grant once, wherever the preview names it. */
export function grantsOf(preview: RequestPreview): GrantLine[] {
  const found = new Map<string, GrantLine>();
  const all = [...(preview.missing_grants ?? []), ...preview.tasks.flatMap((task) => task.missing)];
  for (const grant of all) found.set(`${grant.device}\n${grant.line}`, grant);
  return [...found.values()];
}

/** As many tasks as the page of the constellation counts when it begins: a group or a goal is none of them. */
export function tasksNow(preview: Pick<RequestPreview, "tasks">): string {
  const groups = preview.tasks.filter((task) => task.each && !task.each.startsWith("turn "));
  const goals = preview.tasks.filter((task) => task.goal);
  const now = plural(preview.tasks.length - new Set([...groups, ...goals]).size, "task");
  const names = groups.map((task) => task.id).join(", ");
  return `${now} now${groups.length > 0 ? `; ${names} ${groups.length === 1 ? "repeats" : "repeat"} for each item found` : ""}`;
}

/** The tasks that do not begin before somebody has given what they lack; empty where none lacks anything. */
export function heldWords({ held }: Pick<RequestPreview, "held">): string {
  if (!held?.length) return "";
  const named = held.slice(0, HELD_NAMED_MOST).join(", ");
  const more = held.length > HELD_NAMED_MOST ? ` and ${held.length - HELD_NAMED_MOST} more` : "";
  return `Held until somebody gives what is missing: ${named}${more}`;
}

/** `Rule late after copy: the copy failed. It may run tell: notify`: an edit that the plan makes when a task has ended. */
export function ruleWords({ name, task, reason, calls }: RuleRow): string {
  const may = calls.length > 0 ? ` It may run ${calls.join(", ")}.` : "";
  return `Rule ${name}${task ? ` after ${task}` : ""}: ${reason}.${may}`;
}

interface PreviewCardProps {
  preview: RequestPreview;
  fleet: StreamModel;
  /** The warnings stand outside of the card. */
  warned?: boolean;
}

export function PreviewCard({ preview, fleet, warned }: PreviewCardProps) {
  const tag = (device: string | null | undefined): string => {
    if (!device) return "";
    const known = devices(fleet);
    for (const view of known.values()) if (view.id === device || view.device.name === device) return view.tag;
    return "";
  };
  return (
    <section className="card preview">
      <header>
        <h2>What will run</h2>
        <span className="small dim">{tasksNow(preview)}</span>
      </header>
      <ul>
        {preview.tasks.slice(0, SHOWN_MOST).map((task) => (
          <PreviewRow key={task.id} task={task} tag={tag(task.device)} />
        ))}
      </ul>
      {preview.tasks.length > SHOWN_MOST && (
        <p className="warning dim">
          The first {SHOWN_MOST} of {preview.tasks.length} tasks.
        </p>
      )}
      {(preview.rules ?? []).slice(0, SHOWN_MOST).map((rule) => (
        <p key={rule.name} className="warning">
          <Glyph name="chevrons" />
          <span>{ruleWords(rule)}</span>
        </p>
      ))}
      <SecretLines secrets={preview.secrets ?? []} />
      {!warned && <Warnings preview={preview} />}
    </section>
  );
}

/** What a person should know before the plan starts, such as that it may overwrite files. */
export function Warnings({ preview }: { preview: RequestPreview }) {
  return (preview.warnings ?? []).slice(0, SHOWN_MOST).map((text) => (
    <p key={text} className="warning tone-amber">
      <Glyph name="barrier" />
      {text}
    </p>
  ));
}

/** `files of find`: what flows into a task, and from where. */
const takenWords = ({ from, output }: { from: string; output: string }): string =>
  output ? `${output.slice(1).replaceAll("/", " ").replaceAll("_", " ")} of ${from}` : `all of ${from}`;

/** Who answers the question of a task: a judge chooses between the results of a vote, and a person where it cannot. */
export function askedWords({ person, judged }: Pick<TaskPreviewRow, "person" | "judged">): string {
  if (!person) return "";
  return judged ? "asks a judge" : "asks a person";
}

function PreviewRow({ task, tag }: { task: TaskPreviewRow; tag: string }) {
  const lacks = task.missing.length > 0;
  const others = task.alternatives
    .map((one) => `${one.device}: ${one.why || (one.fits ? "fits" : "does not fit")}`)
    .join("\n");
  return (
    <li>
      <span className="what">
        <b className="strong">{task.id}</b>
        <span className="small dim">
          {task.tool ?? task.goal ?? askedWords(task)}
          {task.each ? `, for each ${task.each}` : ""}
          {task.takes?.length ? `, takes ${task.takes.map(takenWords).join(", ")}` : ""}
        </span>
      </span>
      <span className="where">
        {task.person ? (
          <span className="dim">{task.judged ? "a judge, or a person" : "a person"}</span>
        ) : (
          <span className="chip" title={others || undefined}>
            {tag && <b>{tag}</b>}
            {task.device ?? (task.devices.length ? task.devices.join(" or ") : "no device yet")}
          </span>
        )}
      </span>
      <span className="small dim why">{task.why}</span>
      <span className="effects">
        {shownEffects(task.tool, task.effects).map((effect) => (
          <span key={effect} className="chip out">
            {effect}
          </span>
        ))}
      </span>
      <span className={`small row word grantword ${lacks ? "tone-violet" : "tone-teal"}`}>
        {lacks ? (
          <>
            <Glyph name="hand" /> needs {task.missing[0]?.grant}
          </>
        ) : (
          task.grant && (
            <>
              <Glyph name="tick" /> {task.grant}
            </>
          )
        )}
      </span>
    </li>
  );
}

/** A plan that needs no approval may still ask before one of its tasks. */
export const unaskedWords = ({ tasks }: Pick<RequestPreview, "tasks">): string =>
  tasks.some((task) => task.person && !task.judged)
    ? "Starts without asking, then asks a person"
    : "Runs without asking";

/**
 * Expected time, cost and effects of a plan, in a line beside the button that starts it.
 * A tool that writes may replace or remove files, so only a plan that writes nothing is said to delete nothing.
 */
export function Facts({ preview, approvedBy = "Starting" }: { preview: RequestPreview; approvedBy?: string }) {
  const ofTasks = new Set(preview.tasks.flatMap((task) => shownEffects(task.tool, task.effects)));
  const effects = preview.effects
    ? [...preview.effects, ...(ofTasks.has(TO_THE_TRASH) ? [TO_THE_TRASH] : [])]
    : [...ofTasks];
  const changing = effects.filter((effect) => effect !== "read" && effect !== "reach");
  const mayApprove = useMay("approver");
  return (
    <span className="row wrap dim">
      {preview.estimate && (
        <span title="Four of five runs end within this range">
          Takes <b>{about(preview.estimate)}</b>
        </span>
      )}
      {preview.estimate_said && <span>{preview.estimate_said}</span>}
      <span>
        Cost <b>{preview.cost ?? "none"}</b>
      </span>
      {preview.budget && <span>{preview.budget.said}</span>}
      {effects.length > 0 && (
        <span>
          Effects <b>{effects.join(", ")}</b>
        </span>
      )}
      <span>
        {preview.asks_approval
          ? mayApprove
            ? `${approvedBy} it is your approval`
            : "It waits for an approver: your rights leave out “approve”"
          : changing.length > 0
            ? unaskedWords(preview)
            : "Nothing is deleted"}
      </span>
      {heldWords(preview) && <span className="tone-violet">{heldWords(preview)}</span>}
    </span>
  );
}

/** Whether a way to give a grant is a line of a terminal, rather than words: a phone's page has switches. */
export function isTyped(way: string): boolean {
  return /^(?:'[^']*starloom-agent(?:\.exe)?'|\S*starloom-agent(?:\.exe)?) /.test(way);
}

/** What is still to be granted, each with the line to type on its device, or the words of a phone about its switch. */
export function GrantLines({ grants }: { grants: readonly GrantLine[] }) {
  return grants.map((grant) => (
    <section key={`${grant.device}${grant.line}`} className="grant">
      <Glyph name="hand" tone="violet" />
      <p>
        <b className="strong">
          {grant.device} has not granted {grant.grant}.
        </b>{" "}
        {isTyped(grant.line) ? "Type this on it; the preview then turns green." : `${grant.line}.`}
      </p>
      {isTyped(grant.line) && <CopyLine line={grant.line} label="the line to type on the device" />}
    </section>
  ));
}
