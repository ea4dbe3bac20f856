/**
 * The drafts and outputs of tools that this browser keeps in its local storage, all under `starloom.rows.`. They belong
 * to one person, and go when that person signs out, when the session is over, and when another person is signed in.
 */
const PREFIX = "starloom.rows.";
const PERSON = `${PREFIX}person`;

/** The most entries of each kind: drafts over running plans, and outputs of tools. The oldest go first. */
const BOUNDS: readonly (readonly [prefix: string, most: number])[] = [
  [`${PREFIX}live.`, 20],
  [`${PREFIX}sample.`, 40],
];
/** A draft over a plan that nobody came back to: its constellation has long ended. */
const AGE_MAX_MS = 30 * 24 * 3_600_000;

/** Notes who is signed in; what another person left behind goes first, and what is old. */
export function keepPersonal(person: string): void {
  try {
    if (localStorage.getItem(PERSON) === person) {
      prune(Date.now() - AGE_MAX_MS);
      return;
    }
    forgetPersonal();
    localStorage.setItem(PERSON, person);
  } catch {
    // Storage is off or full: what it holds has gone, and no more is kept.
  }
}

export function forgetPersonal(): void {
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  } catch {
    // Storage is off: nothing was kept.
  }
}

/** Holds each kind to its bound; an entry is read only where one has to go. */
export function boundPersonal(): void {
  try {
    prune(0);
  } catch {
    // Storage is off: nothing was kept.
  }
}

function prune(sinceMs: number): void {
  const keys = Object.keys(localStorage);
  for (const [prefix, most] of BOUNDS) {
    const own = keys.filter((key) => key.startsWith(prefix));
    if (own.length <= most && !sinceMs) continue;
    const newestFirst = own.map((key) => ({ key, atMs: keptAt(key) })).sort((a, b) => b.atMs - a.atMs);
    newestFirst.forEach(({ key, atMs }, at) => {
      if (at >= most || (atMs > 0 && atMs < sinceMs)) localStorage.removeItem(key);
    });
  }
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
