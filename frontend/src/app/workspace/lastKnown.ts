/**
 * What a tab last knew, so that a reload shows it while the hub is away (docs/decisions/page.md). It lies in the session
 * storage of this one tab and is gone with the session: when the person signs out, in whichever tab, when the session
 * or a day is over, and when the tab is closed. The secret of the session is never in it.
 *
 * Streams lie there in parts, each under a key of its own, which are stored while the page is open. The rest, without
 * which the parts count for nothing, is written when the page is hidden or left.
 */
import type { Steps } from "../../model/stream/steps.ts";
import type { Entity, SessionRow, StreamEvent } from "../../model/types.ts";
import { forgetPersonal } from "./personal.ts";

const KEY = "starloom.last-known";
const CHANNEL = "starloom.sign-out";
/** When a sign-in of this browser last ended: a closed tab that is opened again has the storage of before that. */
const ENDED = "starloom.sign-in-ended";
/** Tabs have about five million characters; a storage that is full keeps nothing at all. */
const CHARS_MAX = 3_000_000;
/** A browser that restores its tabs restores their storage too; what is older than a day tells nothing of now. */
const AGE_MAX_MS = 24 * 3_600_000;
/** The lists that are kept, by the keys under which pages read them. They hold names and states. */
const LISTS: ReadonlySet<string> = new Set(["home", "recipes", "schedules", "work", "/"]);

/** The text of a stream, as `keptText.ts` writes it: the storage says of each part whether it has it. */
interface Text {
  readonly stream: string;
  readonly size: number;
  readonly parts: { text: string | null; stored: boolean }[];
  head(): string;
  leaveOut(): void;
  takeIn(): void;
}

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

/** A stream as the head of its text has it; null is an entity that is gone since its part was written. */
interface Head extends Omit<KeptStream, "entities"> {
  parts?: number;
  entities: Record<string, Entity | null>;
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

/** How many parts of each stream are in the storage; null until this page has cleared it of those of the page before. */
let stored: Map<string, number> | null = null;
/** Storage is off or full: a reload without the hub then shows that it does not answer, and no more. */
let refused = false;

/**
 * Stores the parts that are written and not stored yet, with pauses. Streams come in the order of their weight; one
 * that does not fit is taken out.
 */
export function* store(texts: readonly Text[]): Steps {
  if (refused) return;
  const { fitting } = sharedOut(texts);
  for (const text of texts) {
    if (fitting.includes(text)) continue;
    remove(text.stream);
    text.leaveOut();
  }
  for (const text of fitting) {
    text.takeIn();
    removeParts(text.stream, text.parts.length);
    for (let n = 0; n < text.parts.length; n += 1) {
      const part = text.parts[n];
      if (part?.text == null) continue;
      if (!put(text.stream, n, part.text)) return;
      part.text = null;
      part.stored = true;
      yield;
    }
  }
}

/** Takes out the parts of a stream that is let go of, or has no room. */
export function remove(stream: string): void {
  if (stored?.has(stream)) removeParts(stream, 0);
}

/** Writes what this tab knows beside the parts that are stored. Streams of before the reload come whole. */
export function save(
  session: SessionRow,
  { offsetMs, history }: Pick<LastKnown, "offsetMs" | "history">,
  texts: readonly Text[],
  before: readonly KeptStream[] = [],
  nowMs: number = Date.now(),
): void {
  if (refused) return;
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
  const { fitting, room } = sharedOut(texts);
  const whole = fitting.filter(({ parts }) => parts.every(({ stored }) => stored));
  let left = room - text.length;
  const streams: string[] = [];
  for (const stream of [...whole.map((one) => one.head()), ...before.map((one) => JSON.stringify(one))]) {
    if (stream.length + 1 > left) continue;
    left -= stream.length + 1;
    streams.push(stream);
  }
  putItem(KEY, `${text.slice(0, -1)},"streams":[${streams.join(",")}]}`);
}

function sharedOut(texts: readonly Text[]): { fitting: Text[]; room: number } {
  let room = CHARS_MAX;
  const fitting: Text[] = [];
  for (const text of texts) {
    if (text.size > room) continue;
    room -= text.size;
    fitting.push(text);
  }
  return { fitting, room };
}

const partKey = (stream: string, part: number): string => `${KEY}/${stream}/${part}`;

function put(stream: string, n: number, text: string): boolean {
  // With another part, the rest that was written as the page was last hidden is no longer true.
  const done = putItem(partKey(stream, n), text, KEY);
  if (done) stored?.set(stream, Math.max(stored.get(stream) ?? 0, n + 1));
  return done;
}

function putItem(key: string, text: string, instead?: string): boolean {
  try {
    if (!stored) removeItems();
    stored ??= new Map();
    if (instead) sessionStorage.removeItem(instead);
    sessionStorage.setItem(key, text);
    return true;
  } catch {
    forget();
    refused = true;
    return false;
  }
}

function removeParts(stream: string, from: number): void {
  const count = stored?.get(stream) ?? 0;
  for (let n = from; n < count; n += 1) sessionStorage.removeItem(partKey(stream, n));
  if (count > from) stored?.set(stream, from);
  if (from === 0) stored?.delete(stream);
}

function removeItems(): void {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(KEY)) sessionStorage.removeItem(key);
  } catch {
    // Storage is off: nothing was kept.
  }
}

/** What was kept, if the session that it belongs to may still last. */
export function read(nowMs: number = Date.now()): LastKnown | null {
  try {
    const text = sessionStorage.getItem(KEY);
    if (!text) return null;
    const { streams, ...rest } = JSON.parse(text) as Omit<LastKnown, "streams"> & { streams: Head[] };
    const known = { ...rest, streams: streams.map(putTogether).filter((stream) => stream !== null) };
    const since = Number(localStorage.getItem(ENDED));
    if (nowMs < known.endsMs && nowMs >= known.savedMs - AGE_MAX_MS && known.savedMs >= since) {
      for (const [key, value] of known.lists) restored.set(key, value);
      return known;
    }
  } catch {
    // Not readable, or storage is off.
  }
  forget();
  return null;
}

/** Null where a part is missing: its stream was let go of after the rest was written. */
function putTogether({ parts = 0, entities: changed, ...stream }: Head): KeptStream | null {
  const entities: Record<string, Entity> = {};
  for (let n = 0; n < parts; n += 1) {
    const text = sessionStorage.getItem(partKey(stream.stream, n));
    if (text === null) return null;
    Object.assign(entities, JSON.parse(text));
  }
  for (const [key, entity] of Object.entries(changed)) {
    if (entity) entities[key] = entity;
    else delete entities[key];
  }
  return { ...stream, entities };
}

/** Lets go of what another person left in this tab, who never signed out of it. */
export function keepOnlyOf(person: string): void {
  try {
    const text = sessionStorage.getItem(KEY);
    if (text && (JSON.parse(text) as LastKnown).session.principal.id !== person) forget();
  } catch {
    forget();
  }
}

export function forget(): void {
  lists.clear();
  restored.clear();
  stored = null;
  refused = false;
  removeItems();
}

function noteEnded(): void {
  try {
    localStorage.setItem(ENDED, String(Date.now()));
  } catch {
    // Storage is off: nothing was kept.
  }
}

/** Tells the other tabs of this browser that nobody is signed in any more; each has a session storage of its own. */
export function forgetEverywhere(): void {
  noteEnded();
  forget();
  forgetPersonal();
  const channel = openChannel();
  channel?.postMessage("forget");
  channel?.close();
}

/** Tells the other tabs of this browser who has signed in by a link: its session takes the place of theirs. */
export function tellSignedIn(person: string): void {
  noteEnded();
  const channel = openChannel();
  channel?.postMessage({ person });
  channel?.close();
}

/** Calls when another tab has signed out, or signed in somebody other than `person`. Returns what stops it. */
export function onForgotten(run: () => void, person: () => string | undefined): () => void {
  const channel = openChannel();
  if (!channel) return () => {};
  channel.onmessage = ({ data }: MessageEvent<"forget" | { person: string }>) => {
    const next = data === "forget" ? null : data.person;
    if (next !== null && next === person()) return;
    forget();
    run();
    // Once more: this tab may have kept something since the one that signed out forgot it.
    if (next === null) forgetPersonal();
  };
  return () => channel.close();
}

const openChannel = (): BroadcastChannel | null =>
  typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel(CHANNEL);
