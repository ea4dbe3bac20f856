/** Undo and redo over whole documents. Steps of one kind that follow closely are one step, as typing is. */

export interface Timeline<T> {
  past: readonly T[];
  now: T;
  future: readonly T[];
  /** What the last step was about, and when, so that the next of the same kind joins it. */
  about: string;
  atMs: number;
}

const STEPS_MOST = 200;
const JOIN_MS = 1200;

export const begun = <T>(now: T): Timeline<T> => ({ past: [], now, future: [], about: "", atMs: 0 });

/** The next state. An empty `about` never joins. */
export function stepped<T>(line: Timeline<T>, now: T, about: string, atMs: number): Timeline<T> {
  if (now === line.now) return line;
  const joins = about !== "" && about === line.about && atMs - line.atMs < JOIN_MS && line.past.length > 0;
  const past = joins ? line.past : [...line.past, line.now].slice(-STEPS_MOST);
  return { past, now, future: [], about, atMs };
}

/** The same steps over another ground: each document is moved, so that no step leads back to the old one. */
export function moved<T>(line: Timeline<T>, move: (held: T) => T): Timeline<T> {
  return { past: line.past.map(move), now: move(line.now), future: line.future.map(move), about: "", atMs: 0 };
}

export function undone<T>(line: Timeline<T>): Timeline<T> {
  const before = line.past.at(-1);
  if (before === undefined) return line;
  return { past: line.past.slice(0, -1), now: before, future: [line.now, ...line.future], about: "", atMs: 0 };
}

export function redone<T>(line: Timeline<T>): Timeline<T> {
  const [next, ...future] = line.future;
  if (next === undefined) return line;
  return { past: [...line.past, line.now], now: next, future, about: "", atMs: 0 };
}
