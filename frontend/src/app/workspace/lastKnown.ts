/**
 * What a tab last knew, so that a reload shows it while the hub is away (docs/decisions/page.md). It lies in the session
 * storage of this one tab, is written when the tab leaves the page, and is gone with the session: when the person signs
 * out, in whichever tab, when the session or a day is over, and when the tab is closed. The secret of the session is
 * never in it.
 */
import type { Entity, SessionRow, StreamEvent } from "../../model/types.ts";
import { forgetPersonal } from "./personal.ts";

const KEY = "starloom.last-known";
const CHANNEL = "starloom.sign-out";
/** Tabs have about five million characters; a storage that is full keeps nothing at all. */
const CHARS_MAX = 3_000_000;
/** A browser that restores its tabs restores their storage too; what is older than a day tells nothing of now. */
const AGE_MAX_MS = 24 * 3_600_000;
/** The lists that are kept, by the keys under which pages read them. They hold names and states. */
const LISTS: ReadonlySet<string> = new Set(["home", "recipes", "schedules", "work", "/"]);

export interface KeptStream {
  stream: string;
  seq: number;
  entities: Record<string, Entity>;
  events: StreamEvent[];
}

export interface LastKnown {
  savedMs: number;
  endsMs: number;
  /** Hub time minus the time of this computer. */
  offsetMs: number;
  /** The hub's name for the history that the streams belong to. */
  history: string;
  session: SessionRow;
  streams: KeptStream[];
  lists: [key: string, value: unknown][];
}

const lists = new Map<string, unknown>();
/** The lists of before the reload, until each is answered again. */
const restored = new Map<string, unknown>();

/** Notes the newest answer of a list that is kept. */
export function noteList(key: string, value: unknown): void {
  restored.delete(key);
  if (LISTS.has(key)) lists.set(key, value);
}

export const knownList = (key: string): unknown => restored.get(key) ?? null;

/** Writes what this tab knows. Streams come as texts, in the order of their weight; one that does not fit is left out. */
export function save(
  session: SessionRow,
  { offsetMs, history }: Pick<LastKnown, "offsetMs" | "history">,
  streams: Iterable<string>,
  nowMs: number = Date.now(),
): void {
  const ends = session.expires_at ? Date.parse(session.expires_at) - offsetMs : Number.POSITIVE_INFINITY;
  const { csrf: _, ...open } = session;
  const known: Omit<LastKnown, "streams"> = {
    savedMs: nowMs,
    endsMs: Math.min(ends, nowMs + AGE_MAX_MS),
    offsetMs,
    history,
    session: { ...open, csrf: "" },
    lists: [...new Map([...restored, ...lists])],
  };
  const text = JSON.stringify(known);
  let size = text.length;
  const parts: string[] = [];
  for (const part of streams) {
    if (size + part.length + 1 > CHARS_MAX) continue;
    size += part.length + 1;
    parts.push(part);
  }
  try {
    sessionStorage.setItem(KEY, `${text.slice(0, -1)},"streams":[${parts.join(",")}]}`);
  } catch {
    // Storage is off or full: a reload without the hub then shows that it does not answer, and no more.
    forget();
  }
}

/** What was kept, if the session that it belongs to may still last. */
export function read(nowMs: number = Date.now()): LastKnown | null {
  try {
    const text = sessionStorage.getItem(KEY);
    const known = text ? (JSON.parse(text) as LastKnown) : null;
    if (!known) return null;
    if (nowMs < known.endsMs && nowMs >= known.savedMs - AGE_MAX_MS) {
      for (const [key, value] of known.lists) restored.set(key, value);
      return known;
    }
  } catch {
    // Not readable, or storage is off.
  }
  forget();
  return null;
}

export function forget(): void {
  lists.clear();
  restored.clear();
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // Storage is off: nothing was kept.
  }
}

/** Tells the other tabs of this browser that nobody is signed in any more; each has a session storage of its own. */
export function forgetEverywhere(): void {
  forget();
  forgetPersonal();
  const channel = openChannel();
  channel?.postMessage("forget");
  channel?.close();
}

/** Calls when another tab has signed out. Returns what stops it. */
export function onForgotten(run: () => void): () => void {
  const channel = openChannel();
  if (!channel) return () => {};
  channel.onmessage = () => {
    forget();
    run();
    // Once more: this tab may have kept something since the one that signed out forgot it.
    forgetPersonal();
  };
  return () => channel.close();
}

const openChannel = (): BroadcastChannel | null =>
  typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel(CHANNEL);
