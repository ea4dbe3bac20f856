/** Requests in words that may be asked again. Pure. */
import type { ConstellationRow } from "../types.ts";

const SHOWN_MOST = 5;

/** The newest requests that people asked in words, each wording once. Firings of schedules ask by themselves. */
export function askedLately(rows: readonly ConstellationRow[]): ConstellationRow[] {
  const found = new Map<string, ConstellationRow>();
  for (const row of rows) {
    const words = row.request.trim();
    const key = words.toLowerCase();
    if (words && !row.schedule && !found.has(key)) found.set(key, row);
  }
  return [...found.values()].slice(0, SHOWN_MOST);
}
