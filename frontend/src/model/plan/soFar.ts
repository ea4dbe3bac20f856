/**
 * The sentence and the pill of a constellation that goes on: from the records that the page has now, so that the
 * sentence, the pill and the counts never differ. How it ended is said by the hub.
 */

import type { StreamModel } from "../stream/stream.ts";
import type { TaskView } from "../tasks/selectors.ts";
import type { Tally } from "../tasks/tally.ts";
import type { Answer, Head, TaskRecord } from "../types.ts";
import { wayBack } from "../wayBack.ts";
import { presentation, type Shown } from "../words/presentation.ts";
import { alarmShown, constellationShown, doneShown, FINAL, plural } from "../words/words.ts";
import { isPlanning } from "./planning.ts";

const DEVICES_NAMED_MAX = 4;
const DETAIL_MAX = 160;
const CAUSES_NAMED = 4;
/** Of two failures the first is named: it is often the cause of the other. */
const GROUPED_FROM = 3;

const DEADLINE = "deadline";

/** The state of a constellation as its pill shows it: one that only waits for a person does not run. */
export function headShown(
  head: Pick<Head, "state" | "attention" | "version" | "cancelled_by">,
  tally: Tally,
  answer?: Pick<Answer, "alarm">,
): Shown {
  const { views } = tally;
  if (head.state === "cancelled" && !head.version && head.cancelled_by !== DEADLINE)
    return { ...constellationShown(head.state), word: "Withdrawn" };
  if (head.state === "succeeded" && views.some(takenBack))
    return { ...constellationShown("cancelled"), word: backWord(views) };
  if (head.state === "active" && !tally.works) {
    if (head.attention?.length) return presentation("ready", "person");
    const waits = tally.stuck ?? tally.timed;
    if (waits) return waits;
  }
  if (head.state !== "succeeded") return constellationShown(head.state);
  return answer?.alarm ? alarmShown() : doneShown(tally.checked, tally.in("succeeded"));
}

/** Whether a task took back another's work. */
const takenBack = (view: TaskView): boolean => Boolean(view.spec.undoes) && view.record?.state === "succeeded";

function backWord(views: readonly TaskView[]): string {
  const undone = new Set(views.filter(takenBack).map((view) => view.spec.undoes));
  const stands = views.some((view) => wayBack(view.spec) && view.record?.state === "succeeded" && !undone.has(view.id));
  return stands ? "Partly taken back" : "Taken back";
}

/** The answer's sentence now. A final answer of a constellation that was opened again tells of its past. */
export function sentenceNow(head: Head, answer: Answer | undefined, tally: Tally): string {
  const { size } = tally;
  if (FINAL.has(head.state) || size === 0) return answer?.sentence ?? "";
  if (isPlanning(head)) return `There is no plan yet. ${plural(size, "look")} so far; a look only reads.`;
  const done = tally.in("succeeded");
  const parts = [`${head.name}: ${done} of ${plural(size, "task")} done so far${where(tally.doneOnDevices)}.`];
  const { checked, failed } = tally;
  if (checked) parts.push(`${checked} ${checked === 1 ? "result was" : "results were"} checked.`);
  if (failed.length > 0) parts.push(failuresNow(failed));
  return parts.join(" ");
}

/** The failures so far: the first one, or of several causes the most frequent first, as the hub says at the end. */
function failuresNow(failed: readonly TaskView[]): string {
  const inOrder = [...failed].sort((one, other) => since(one) - since(other));
  const causes = inOrder.length < GROUPED_FROM ? [inOrder] : byCause(inOrder);
  const words = (view: TaskView) => firstLine(view.attempt?.detail ?? "");
  if (causes.length === 1) {
    const first = inOrder[0] as TaskView;
    const detail = words(first);
    const more = failed.length > 1 ? `; ${failed.length - 1} more failed` : "";
    return `${first.name} failed${detail && `: ${detail}`}${more}.`;
  }
  const told = causes.slice(0, CAUSES_NAMED).map((own) => {
    const first = own[0] as TaskView;
    const count = own.length > 1 ? `${own.length}, ${first.name} first` : first.name;
    return `${words(first) || "failed"} (${count})`;
  });
  const rest = causes.slice(CAUSES_NAMED);
  const more = rest.reduce((sum, own) => sum + own.length, 0);
  if (more) told.push(`${more} more of ${plural(rest.length, "other cause")}`);
  return `Causes of ${failed.length} failures: ${told.join("; ")}.`;
}

/** Failed tasks by code and words, but for numbers and their own names; `story.by_cause` of the hub does the same. */
function byCause(failed: readonly TaskView[]): TaskView[][] {
  const found = new Map<string, TaskView[]>();
  for (const view of failed) {
    const line = (view.attempt?.detail ?? "").split("\n")[0]?.trim() ?? "";
    const plain = line.replace(/[\w.-]+/g, (word) => (word === view.id ? "~" : word)).replace(/\d+/g, "#");
    const key = `${view.record?.code ?? ""} ${plain}`;
    const own = found.get(key);
    if (own) own.push(view);
    else found.set(key, [view]);
  }
  return [...found.values()].sort((one, other) => other.length - one.length);
}

/** The begin of the last round: of the request, or of the retry or undo that opened the constellation again last. */
export const roundBeganMs = (head: Pick<Head, "created_ms" | "reopened_ms">): number =>
  head.reopened_ms || head.created_ms;

/** The answer without what is done again since it was given. */
export function answerNow(model: StreamModel, head: Head, answer: Answer | undefined): Answer | undefined {
  if (!answer || FINAL.has(head.state) || answer.state !== "final") return answer;
  const items = (answer.items ?? []).filter((item) => {
    const record = model.one<TaskRecord>(`task/${item.task}`);
    return record?.state === "succeeded" && record.attempt === item.attempt;
  });
  return { ...answer, items };
}

const since = (view: TaskView): number => view.record?.since_ms ?? 0;

function where(devices: readonly string[]): string {
  const names = [...devices].sort();
  if (names.length === 0) return "";
  if (names.length > DEVICES_NAMED_MAX) return ` on ${names.length} devices`;
  return ` on ${names.length === 1 ? names[0] : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`}`;
}

function firstLine(detail: string): string {
  const line = detail.trim().split("\n")[0]?.trim() ?? "";
  return (line.length > DETAIL_MAX ? `${line.slice(0, DETAIL_MAX).replace(/\s\S*$/, "")} ...` : line).replace(
    /\.$/,
    "",
  );
}
