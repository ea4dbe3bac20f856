/**
 * The texts that a person has not sent yet, one for each place where one is written: the words of a request, a plan in
 * rows, a draft over a running plan, words about one task or question. They are kept as they are typed and are there after a reload, on another page and
 * after the next sign-in (`personal.ts` says whose they are). Owns where they lie, and knows nothing of their content.
 *
 * Two tabs at one place have a text each. A tab that is opened begins with the newest text of its place and takes it
 * over with the first change; the tab in which that one still stands then keeps its own again, under another key.
 */
import { useCallback, useEffect, useState } from "react";
import { PREFIX, personalKeys, readPersonal, writePersonal } from "./personal.ts";

interface Entry {
  key: string;
  text: string;
}

export class Kept<T extends object> {
  /** What was kept last at this place; null where nothing was, or nobody can read it. */
  readonly found: T | null;
  private key: string;
  /** The text under the key of this tab. */
  private own: string | null;
  /** The text of another tab that this one began with, until something is changed. */
  private taken: Entry | null;

  constructor(private readonly place: string) {
    this.key = readSlot(place) ?? freeKey(place);
    const entries = entriesOf(place);
    const own = entries.find(({ key }) => key === this.key) ?? null;
    const entry = own ?? entries[0] ?? null;
    this.own = own?.text ?? null;
    this.taken = own ? null : entry;
    this.found = entry && contentOf<T>(entry);
  }

  /** Null where there is nothing to keep: it is sent, or as it was before somebody typed. */
  keep(value: T | null): void {
    this.own = value && JSON.stringify({ ...value, atMs: Date.now() });
    writePersonal(this.key, this.own);
    writeSlot(this.place, this.own && this.key);
    if (this.taken && readPersonal(this.taken.key) === this.taken.text) writePersonal(this.taken.key, null);
    this.taken = null;
  }

  /** Begins another text at this place; the one before stays, and is there again when this one is sent. */
  begin(): void {
    this.key = freeKey(this.place);
    this.own = null;
    this.taken = null;
    writeSlot(this.place, this.key);
  }

  /** Another tab has taken this text over, or wrote under its key, as the copy of a tab does. */
  readonly hear = (event: StorageEvent): void => {
    if (event.key !== this.key || this.own === null || event.newValue === this.own) return;
    this.key = freeKey(this.place);
    writePersonal(this.key, this.own);
    writeSlot(this.place, this.key);
  };
}

/** The place is that of the component for as long as it stands. */
export function useKept<T extends object>(place: string): Kept<T> {
  const [kept] = useState(() => new Kept<T>(place));
  useEffect(() => {
    addEventListener("storage", kept.hear);
    return () => removeEventListener("storage", kept.hear);
  }, [kept]);
  return kept;
}

/** A text of a few words about one thing, such as a task; a component stands for one place. Empty keeps none. */
export function useKeptText(place: string): [text: string, write: (text: string) => void] {
  const kept = useKept<{ text: string }>(`text.${place}`);
  const [text, setText] = useState(() => String(kept.found?.text ?? ""));
  const write = useCallback(
    (next: string) => {
      setText(next);
      kept.keep(next ? { text: next } : null);
    },
    [kept],
  );
  return [text, write];
}

/** The texts of a place, the newest first. */
function entriesOf(place: string): Entry[] {
  const whole = `${PREFIX}${place}`;
  return personalKeys()
    .filter((key) => key === whole || key.startsWith(`${whole}#`))
    .map((key) => ({ key, text: readPersonal(key) ?? "" }))
    .filter((entry) => contentOf(entry) !== null)
    .sort((a, b) => atMs(b) - atMs(a));
}

const atMs = (entry: Entry): number => Number(contentOf<{ atMs?: number }>(entry)?.atMs) || 0;

function contentOf<T extends object>({ text }: Entry): T | null {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === "object" ? (value as T) : null;
  } catch {
    return null;
  }
}

/** The key under which this tab keeps its text of a place. It is the tab's own, and lives through a reload. */
function readSlot(place: string): string | null {
  try {
    return sessionStorage.getItem(`${PREFIX}${place}`);
  } catch {
    return null;
  }
}

const freeKey = (place: string): string => `${PREFIX}${place}#${crypto.randomUUID()}`;

/** Many places are only looked at: one where nothing is kept has no slot. */
function writeSlot(place: string, key: string | null): void {
  try {
    if (key === null) sessionStorage.removeItem(`${PREFIX}${place}`);
    else sessionStorage.setItem(`${PREFIX}${place}`, key);
  } catch {
    // Storage is off: a reload begins with the newest text of the place, if any was kept.
  }
}
