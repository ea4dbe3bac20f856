/**
 * The drafts and outputs of tools that this browser keeps in its local storage, all under `starloom.rows.`. They belong
 * to one person, and go when that person signs out, when the session is over, and when another person is signed in.
 */
const PREFIX = "starloom.rows.";
const PERSON = `${PREFIX}person`;

/** Notes who is signed in; what another person left behind goes first. */
export function keepPersonal(person: string): void {
  try {
    if (localStorage.getItem(PERSON) === person) return;
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
