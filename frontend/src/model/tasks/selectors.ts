/**
 * What the page reads out of a constellation's stream. Pure functions of the stream and the fleet beside it; the tasks
 * themselves are worked out by its `Board`, so that unchanged tasks draw nothing.
 */

import type { StreamModel } from "../stream/stream.ts";
import {
  type Answer,
  type Attempt,
  type Dependency,
  GOAL_ANSWER_SUFFIX,
  type Head,
  type Question,
  type TaskRecord,
  type TaskSpec,
  type Version,
} from "../types.ts";
import { parseExact } from "../words/exact.ts";
import { naturalKey } from "../words/natural.ts";
import { type Count, GLYPH_ORDER, type Shown } from "../words/presentation.ts";
import { boardOf, type TaskView } from "./board.ts";

export { groupShown, itemLabel, type TaskView } from "./board.ts";

export const head = (model: StreamModel): Head | undefined => model.one<Head>("head");
export const answer = (model: StreamModel): Answer | undefined => model.one<Answer>("answer");
/**
 * What a recipe says in one line of its result, before how the work went; empty where it says nothing of the kind. It
 * does so in the first thing that it gives back, at the end: a later text, such as "Left out: Nothing.", needs its title.
 */
export function shortAnswer(found: Answer | undefined, plan: Head["results"] = []): string {
  if (found?.state === "partial") return "";
  const first = plan[0]?.title;
  for (const item of found?.items ?? []) {
    const value = item.show === "text" && item.value ? parsed(item.value) : null;
    if (typeof value !== "string" || !value || value.length > SHORT_MAX) continue;
    return first === undefined || item.title === first ? value : "";
  }
  return "";
}

function parsed(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return null;
  }
}

const SHORT_MAX = 200;

export const specs = (model: StreamModel): ReadonlyMap<string, TaskSpec> => model.kind<TaskSpec>("spec");
export const dependencies = (model: StreamModel): ReadonlyMap<string, Dependency> => model.kind<Dependency>("dep");

export function versions(model: StreamModel): Version[] {
  return [...model.kind<Version>("version").values()].sort((a, b) => a.number - b.number);
}

export function questions(model: StreamModel): Question[] {
  const open = [...model.kind<Question>("question").values()].filter((question) => !question.answered_ms);
  return open.sort((a, b) => a.opened_ms - b.opened_ms);
}

/** All attempts of a task, the newest first. */
export function attempts(model: StreamModel, task: string): { number: number; attempt: Attempt }[] {
  const last = model.one<TaskRecord>(`task/${task}`)?.attempt ?? 0;
  const found: { number: number; attempt: Attempt }[] = [];
  for (let number = last; number >= 1; number -= 1) {
    const attempt = model.one<Attempt>(`attempt/${task}/${number}`);
    if (attempt) found.push({ number, attempt });
  }
  return found;
}

export function taskView(model: StreamModel, fleet: StreamModel, id: string): TaskView | undefined {
  return boardOf(model, fleet).view(id);
}

/** The value of a task as canonical text, or the parts of it that are kept; null where it has neither. */
export function resultOf({ attempt, record }: Pick<TaskView, "attempt" | "record">): string | null {
  const value = attempt?.value ?? record?.marked;
  if (value !== undefined && value !== null) return value;
  const facts = Object.entries(attempt?.facts ?? {});
  return facts.length > 0
    ? `{${facts.map(([pointer, text]) => `${JSON.stringify(pointer)}:${text}`).join(",")}}`
    : null;
}

/** How many tasks stand where, in the order of a state bar. */
export function counts(views: Iterable<TaskView>): Count[] {
  const byGlyph = new Map<string, Count>();
  for (const view of views) {
    const held = byGlyph.get(view.shown.glyph);
    if (held) held.count += 1;
    else byGlyph.set(view.shown.glyph, { shown: view.shown, count: 1 });
  }
  return [...byGlyph.values()].sort((a, b) => GLYPH_ORDER.indexOf(a.shown.glyph) - GLYPH_ORDER.indexOf(b.shown.glyph));
}

/** Every single task and every child of a group, groups themselves left out; the same array until one changes. */
export function allViews(model: StreamModel, fleet: StreamModel): TaskView[] {
  return boardOf(model, fleet).all();
}

/**
 * The tasks that progress is counted by: a goal without an answer is one more, however many of its steps are done, and
 * what took back the work of another is none beside that other.
 */
export function counted(model: StreamModel, fleet: StreamModel, views: TaskView[]): TaskView[] {
  const board = boardOf(model, fleet);
  const { goals, undoes } = board.kinds();
  const open: TaskView[] = [];
  for (const id of goals) {
    if (model.of<TaskSpec>("spec", `${id}${GOAL_ANSWER_SUFFIX}`)) continue;
    const view = board.view(id);
    if (view) open.push(view);
  }
  const undoing = (view: TaskView) => Boolean(view.spec.undoes) && view.record?.state === "succeeded";
  const kept = undoes && views.some(undoing) ? views.filter((view) => !undoing(view)) : views;
  return open.length > 0 ? [...kept, ...open] : kept;
}

/** How long a task has run, in milliseconds; null when it has not begun. */
export function elapsedMs(view: TaskView, nowMs: number): number | null {
  const attempt = view.attempt;
  if (!attempt) return null;
  const began = attempt.started_ms || attempt.leased_ms;
  return Math.max(0, (attempt.ended_ms || view.asOfMs || nowMs) - began);
}

const TROUBLE: readonly string[] = ["cross", "question", "hand", "broken_arc", "barrier"];

/** Whether a task is what a person should look at first. */
export const inTrouble = (shown: Shown): boolean => TROUBLE.includes(shown.glyph);

/**
 * Tasks in the order that a person reads: by need, then as they began, then by name. Used by next and previous; the
 * list keeps the same order in its sections.
 */
export function readingOrder(views: readonly TaskView[]): TaskView[] {
  const keyed = views.map((view) => ({
    view,
    rank: needRank(view.shown),
    began: beganMs(view),
    name: naturalKey(view.id),
  }));
  keyed.sort((a, b) => a.rank - b.rank || a.began - b.began || (a.name < b.name ? -1 : 1));
  return keyed.map(({ view }) => view);
}

/** When the newest attempt began; what has not begun comes last. */
export const beganMs = ({ attempt }: TaskView): number =>
  attempt ? attempt.started_ms || attempt.leased_ms : Number.MAX_SAFE_INTEGER;

/** What a person should look at first has the least. */
export function needRank(shown: Shown): number {
  const at = TROUBLE.indexOf(shown.glyph);
  if (at >= 0) return at;
  if (shown.tone === "blue") return 10;
  if (shown.glyph === "dotted_ring") return 11;
  if (shown.glyph === "ring") return 12;
  return shown.tone === "teal" ? 13 : 14;
}
