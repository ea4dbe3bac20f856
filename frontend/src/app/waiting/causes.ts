/** Notices of schedules by the cause for which nobody could see them. Pure. */
import type { Schedule } from "../../model/types.ts";

/** Schedules whose notices have one cause, in the order in which they came. */
export type Cause = readonly [Schedule, ...Schedule[]];

/** Group the notices that nobody could see by device and fault; each other notice stands alone, in its place. */
export function byCause(schedules: readonly Schedule[]): Cause[] {
  const found = new Map<string, [Schedule, ...Schedule[]]>();
  for (const schedule of schedules) {
    const unseen = schedule.notice?.unseen;
    const key = unseen ? `${unseen.device} ${unseen.code}` : `schedule ${schedule.id}`;
    const same = found.get(key);
    if (same) same.push(schedule);
    else found.set(key, [schedule]);
  }
  return [...found.values()];
}

/** How many notices a cause stands for, on which device, and when the first and the last of them came. */
export function unseenTogether(schedules: Cause): { count: number; device: string; first: number; last: number } {
  const notices = schedules.flatMap(({ notice }) => (notice ? [notice] : []));
  return {
    count: notices.reduce((sum, notice) => sum + (notice.count ?? 1), 0),
    device: schedules[0].notice?.unseen?.device ?? "",
    first: Math.min(...notices.map((notice) => notice.unseen?.since_ms ?? notice.at_ms)),
    last: Math.max(...notices.map((notice) => notice.at_ms)),
  };
}
