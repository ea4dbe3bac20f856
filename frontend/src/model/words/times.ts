/** Times of REST answers in milliseconds: the hub writes them as text, the page counts with numbers. Pure. */
import type { ConstellationRow } from "../types.ts";
import { duration } from "./words.ts";

/** Milliseconds of an RFC 3339 time; 0 for none. */
export const msOf = (time: string | null | undefined): number => (time ? Date.parse(time) || 0 : 0);

export const createdMs = (row: ConstellationRow): number => msOf(row.created_at);
export const endedMs = (row: ConstellationRow): number => msOf(row.ended_at);

/** How long an ended constellation took, without the time in which it waited for a person. */
export const workedMs = (row: ConstellationRow): number =>
  Math.max(0, endedMs(row) - createdMs(row) - (row.waited_ms ?? 0));

/** The whole time, and the part of it that was spent waiting for a person. */
export function tookWords(row: ConstellationRow): string {
  const whole = endedMs(row) - createdMs(row);
  if (!endedMs(row)) return "";
  return row.waited_ms
    ? `${duration(whole)} in all, of it ${duration(row.waited_ms)} waiting for you`
    : `${duration(whole)} in all`;
}
