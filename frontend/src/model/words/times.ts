/** Times of REST answers in milliseconds: the hub writes them as text, the page counts with numbers. Pure. */
import type { ConstellationRow } from "../types.ts";

/** Milliseconds of an RFC 3339 time; 0 for none. */
export const msOf = (time: string | null | undefined): number => (time ? Date.parse(time) || 0 : 0);

export const createdMs = (row: ConstellationRow): number => msOf(row.created_at);
export const endedMs = (row: ConstellationRow): number => msOf(row.ended_at);
