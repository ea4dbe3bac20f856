/** A forecast in words and in places on a line: times with their range, the chance of a deadline with its own. Pure. */

import type { Course, RunCourse, RunWhatIf } from "../types.ts";
import { duration } from "../words/words.ts";
import { about } from "./estimate.ts";

/** Of nineteen in twenty samples the true share lies within this many deviations. */
const DEVIATIONS = 1.96;

/** Between which shares a chance lies that was counted in so many plays (Wilson's interval). */
export function rangeOfChance(chance: number, plays: number): { low: number; high: number } {
  if (plays <= 0) return { low: 0, high: 1 };
  const square = DEVIATIONS ** 2;
  const middle = (chance + square / (2 * plays)) / (1 + square / plays);
  const half =
    (DEVIATIONS / (1 + square / plays)) * Math.sqrt((chance * (1 - chance)) / plays + square / (4 * plays ** 2));
  return { low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

/** `about 40 s (25-70)`, and with a deadline `within 1 min 00 s with 84 % (81-87)`. */
export function courseWords(course: Course, withinMs: number | null): string {
  const time = about(course);
  if (withinMs === null || course.chance === null) return time;
  const { low, high } = rangeOfChance(course.chance, course.plays);
  return `${time}; within ${duration(withinMs)} with ${percent(course.chance)} % (${percent(low)}-${percent(high)})`;
}

/** `87 % in time (81-91)`: the chance of a run's deadline; empty where it would be a guess. */
export function deadlineWords(course: RunCourse | null): string {
  if (!course || course.chance === null) return "";
  const { low, high } = rangeOfChance(course.chance, course.plays);
  return `${percent(course.chance)} % in time (${percent(low)}-${percent(high)})`;
}

/** `87 % within budget`: the chance that the model uses no more than it may; empty where it is not known. */
export function budgetWords(found: RunWhatIf | null): string {
  const chance = found?.budget?.chance ?? null;
  return chance === null ? "" : `${percent(chance)} % within budget`;
}

/** The chance of the deadline before and after a change, as a sentence; empty where one of them is not known. */
export function chanceWords({ now, then }: RunWhatIf): string {
  const [before, after] = [now?.chance ?? null, then?.chance ?? null];
  if (before === null || after === null || percent(before) === percent(after)) return "";
  return `It would be in time with ${percent(after)} % instead of ${percent(before)} %.`;
}

const percent = (share: number): number => Math.round(share * 100);

export interface GhostBar {
  /** All as shares of the longest time that is shown. */
  from: number;
  to: number;
  at: number;
}

/** The ranges of several courses, and the deadline, on one line. */
export function ghostBars(courses: readonly (Course | null)[], withinMs: number | null) {
  const most = Math.max(1, withinMs ?? 0, ...courses.map((course) => course?.high_ms ?? 0));
  const bars = courses.map(
    (course): GhostBar | null =>
      course && { from: course.low_ms / most, to: course.high_ms / most, at: course.expected_ms / most },
  );
  return { bars, deadline: withinMs === null ? null : withinMs / most };
}
