/**
 * The drafts and outputs of tools that this browser keeps in its local storage, all under `starloom.rows.`. They belong
 * to one person, whose page alone reads and writes them, and go when that person signs out and when another one is
 * signed in. A session that ends takes the outputs with it; what its person has typed waits for the next one. Words of
 * requests wait also while somebody else is signed in: they are its person's own, while a draft over a plan holds what
 * the hub gave.
 */
export const PREFIX = "starloom.rows.";
const PERSON = `${PREFIX}person`;
const OUTPUTS = `${PREFIX}sample.`;
const WORDS = `${PREFIX}words`;
/** The words of each person who is not signed in; no page reads them but that of their person. */
const ASIDE = "starloom.aside.";
const ASIDE_MOST = 5;
/** A draft over a plan that nobody came back to: its constellation has long ended. */
const AGE_MAX_MS = 30 * 24 * 3_600_000;

/** The most entries of each kind, and whether they go by their age as well. The oldest go first. */
const BOUNDS: readonly (readonly [prefix: string, most: number, ages: boolean])[] = [
  [`${PREFIX}draft`, 20, false],
  [`${PREFIX}words`, 20, false],
  [`${PREFIX}live.`, 20, true],
  [`${PREFIX}text.`, 40, true],
  [OUTPUTS, 40, true],
];

/** The person of this page. Another tab may have signed in somebody else, whose name then stands in the storage. */
let mine: string | null = null;

/** Notes who is signed in; what another person left behind goes first, and what is old. */
export function keepPersonal(person: string): void {
  mine = person;
  try {
    const before = localStorage.getItem(PERSON);
    if (before === person) {
      prune(Date.now() - AGE_MAX_MS);
      return;
    }
    const words = Object.entries({ ...localStorage }).filter(([key]) => key.startsWith(WORDS));
    forgetPersonal();
    if (before !== null && words.length)
      localStorage.setItem(ASIDE + before, JSON.stringify({ atMs: Date.now(), words }));
    pruneKind(ASIDE, ASIDE_MOST, Date.now() - AGE_MAX_MS);
    localStorage.setItem(PERSON, person);
    bringBack(person);
  } catch {
    // Storage is off or full: what it holds has gone, and no more is kept.
  }
}

/** Of entries, those of this page's person; none where another one is signed in by now, or nobody. */
export function readPersonal(key: string): string | null {
  try {
    return isOurs() ? localStorage.getItem(key) : null;
  } catch {
    return null;
  }
}

/** Null takes the entry out. A full or forbidden store loses the memory, not the work that is on screen. */
export function writePersonal(key: string, text: string | null): void {
  try {
    if (!isOurs()) return;
    if (text === null) localStorage.removeItem(key);
    else {
      localStorage.setItem(key, text);
      prune(0);
    }
  } catch {
    return;
  }
}

/** The keys of this page's person. */
export function personalKeys(): string[] {
  try {
    return isOurs() ? Object.keys(localStorage).filter((key) => key.startsWith(PREFIX)) : [];
  } catch {
    return [];
  }
}

export function forgetPersonal(): void {
  remove(PREFIX);
}

/** With the session goes what the hub gave; what its person has typed does not. */
export function forgetOutputs(): void {
  remove(OUTPUTS);
}

function bringBack(person: string): void {
  const text = localStorage.getItem(ASIDE + person);
  localStorage.removeItem(ASIDE + person);
  const { words } = JSON.parse(text ?? '{"words":[]}') as { words: [key: string, text: string][] };
  for (const [key, value] of words) localStorage.setItem(key, value);
}

const isOurs = (): boolean => mine !== null && localStorage.getItem(PERSON) === mine;

function remove(prefix: string): void {
  try {
    for (const storage of [localStorage, sessionStorage])
      for (const key of Object.keys(storage)) if (key.startsWith(prefix)) storage.removeItem(key);
  } catch {
    // Storage is off: nothing was kept.
  }
}

function prune(sinceMs: number): void {
  for (const [prefix, most, ages] of BOUNDS) pruneKind(prefix, most, ages ? sinceMs : 0);
}

function pruneKind(prefix: string, most: number, sinceMs: number): void {
  const own = Object.keys(localStorage).filter((key) => key.startsWith(prefix));
  if (own.length <= most && !sinceMs) return;
  const newestFirst = own.map((key) => ({ key, atMs: keptAt(key) })).sort((a, b) => b.atMs - a.atMs);
  newestFirst.forEach(({ key, atMs }, at) => {
    if (at >= most || (atMs > 0 && atMs < sinceMs)) localStorage.removeItem(key);
  });
}

/** When an entry was kept; 0 where it does not say, as drafts of older versions: these go by their number alone. */
function keptAt(key: string): number {
  try {
    const value = JSON.parse(localStorage.getItem(key) ?? "null") as { atMs?: unknown } | null;
    return typeof value?.atMs === "number" ? value.atMs : 0;
  } catch {
    return 0;
  }
}
