/** A command as people type it: words with spaces between, quotes around a word that has one. Pure. */

export const isCommand = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((word) => typeof word === "string" && !word.includes('"'));

/** `grep -r "two words" .` */
export const commandOf = (words: readonly string[]): string =>
  words.map((word) => (word === "" || /\s/.test(word) ? `"${word}"` : word)).join(" ");

/** The words of a typed command; a quote that is not closed reaches to the end. */
export const wordsIn = (text: string): string[] =>
  [...text.matchAll(/"([^"]*)(?:"|$)|([^\s"]+)/g)].map((found) => found[1] ?? found[2] ?? "");
