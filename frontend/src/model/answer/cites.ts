/** The marks in an answer's words: `[1]` stands for the first of its cites. Pure. */

interface WordsPart {
  /** Where it begins; a key for drawing. */
  at: number;
  text: string;
  /** The place among the cites; null where it is a text. */
  cite: number | null;
}

/** Words and marks in order; a mark without its cite is a text. */
export function citesIn(words: string, cites: number): WordsPart[] {
  const parts: WordsPart[] = [];
  let from = 0;
  for (const found of words.matchAll(/\[(\d{1,3})\]/g)) {
    const cite = Number(found[1]) - 1;
    if (cite < 0 || cite >= cites) continue;
    if (found.index > from) parts.push({ at: from, text: words.slice(from, found.index), cite: null });
    parts.push({ at: found.index, text: String(cite + 1), cite });
    from = found.index + found[0].length;
  }
  if (from < words.length) parts.push({ at: from, text: words.slice(from), cite: null });
  return parts;
}
