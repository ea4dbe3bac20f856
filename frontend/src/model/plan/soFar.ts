/**
 * The sentence and the pill of a constellation that goes on: from the records that the page has now, so that the
 * sentence, the pill and the counts never differ. How it ended is said by the hub.
 */

import type { StreamModel } from "../stream/stream.ts";
import type { TaskView } from "../tasks/selectors.ts";
import type { Tally } from "../tasks/tally.ts";
import type { Answer, Head, TaskRecord } from "../types.ts";
import { presentation, type Shown } from "../words/presentation.ts";
import { alarmShown, constellationShown, doneShown, FINAL, plural } from "../words/words.ts";
import { isPlanning } from "./planning.ts";

const DEVICES_NAMED_MAX = 4;
const DETAIL_MAX = 160;

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
    const { stuck } = tally;
    if (stuck) return stuck;
  }
  if (head.state !== "succeeded") return constellationShown(head.state);
  return answer?.alarm ? alarmShown() : doneShown(tally.checked, tally.in("succeeded"));
}

/** Whether a task took back another's work. */
const takenBack = (view: TaskView): boolean => Boolean(view.spec.undoes) && view.record?.state === "succeeded";

function backWord(views: readonly TaskView[]): string {
  const undone = new Set(views.filter(takenBack).map((view) => view.spec.undoes));
  const stands = views.some((view) => view.spec.undo && view.record?.state === "succeeded" && !undone.has(view.id));
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
  const first = failed.reduce<TaskView | undefined>(
    (held, view) => (held && since(held) <= since(view) ? held : view),
    undefined,
  );
  if (first) {
    const detail = firstLine(first.attempt?.detail ?? "");
    const more = failed.length > 1 ? `; ${failed.length - 1} more failed` : "";
    parts.push(`${first.name} failed${detail && `: ${detail}`}${more}.`);
  }
  return parts.join(" ");
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
