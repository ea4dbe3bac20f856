/**
 * Words for what is not a task: a constellation's state, durations, sizes, ages, and the short sentences of
 * versions. A task's words come from the vocabulary's table (`presentation`).
 */

import { CODES, PERSON_ATTENTION } from "../../generated/protocol.ts";
import type { Attention, Code, Head, Version } from "../types.ts";
import { known } from "./known.ts";
import { presentation, type Shown } from "./presentation.ts";

const CONSTELLATION: Record<Head["state"], Shown> = {
  planning: { ...presentation("leased", null), word: "Planning" },
  looking: { ...presentation("leased", null), word: "Looking first" },
  awaiting_approval: { ...presentation("ready", "approval"), word: "Waits for approval" },
  active: { ...presentation("running", null), word: "Running" },
  paused: { ...presentation("ready", "paused"), word: "Paused" },
  cancelling: { ...presentation("cancelling", null) },
  succeeded: { ...presentation("succeeded", null) },
  partial: { ...presentation("unknown", null), word: "Partly done" },
  failed: { ...presentation("failed", null) },
  cancelled: { ...presentation("cancelled", null) },
};

export const FINAL: ReadonlySet<string> = new Set(["succeeded", "partial", "failed", "cancelled"]);

export const constellationShown = (state: Head["state"]): Shown => CONSTELLATION[state];

/** The state of done work of which `checked` of `all` results were checked: the double tick stands for all of them. */
export function doneShown(checked: number, all: number): Shown {
  if (!checked) return CONSTELLATION.succeeded;
  if (checked >= all) return presentation("succeeded", null, { checked: true });
  return { ...CONSTELLATION.succeeded, word: `Done, ${checked} of ${all} checked` };
}

/** It succeeded, and what it found is trouble. */
const ALARM: Shown = { ...presentation("succeeded", null), glyph: "alarm", tone: "amber", word: "Done, alarm raised" };

/** `3 of 6` of a list that shows three of them, `3` of one that shows all. */
export const partOf = (most: number, all: number): string => (all > most ? `${most} of ${all}` : String(all));

/** The state of a constellation that succeeded, whose answer tells of trouble. */
export const alarmShown = (): Shown => ALARM;

/** The part of a row that says whether it waits and works; a list that was kept by an older page has no `running`. */
interface WorkOfRow {
  state: Head["state"];
  attention?: readonly Attention[];
  running?: number;
}

/** Whether a constellation of a list waits for a person, as far as its row tells. */
const waitsForYou = (row: WorkOfRow): boolean =>
  row.state === "awaiting_approval" || (row.attention ?? []).some((one) => PERSON_ATTENTION.has(one));

/** The parts of all work that a person may do: answer its questions, and change it. */
export interface Part {
  answers: boolean;
  acts: boolean;
}

const WHOLE: Part = { answers: true, acts: true };
/** Attention that ends by an answer; any other ends by a change of the work, of a device or of the hub. */
const ANSWERED: ReadonlySet<Attention> = new Set(["question_open", "owner_asked", "review_wishes"]);

/** Whether somebody with this part may end one of the causes for which it waits. */
export const endsBy = (row: Pick<WorkOfRow, "state" | "attention">, { answers, acts }: Part): boolean =>
  row.state === "awaiting_approval"
    ? answers
    : (row.attention ?? []).some((one) => (ANSWERED.has(one) ? answers : acts));

/** The state of work for somebody with this part: where they may not end it, that it waits is news. */
export function shownTo(row: Pick<WorkOfRow, "state" | "attention">, shown: Shown, part: Part): Shown {
  if (row.state !== "active" || shown.glyph !== "hand") return shown;
  const ends = row.attention?.length ? endsBy(row, part) : part.acts;
  return ends ? shown : { ...shown, word: "Waits for others" };
}

/** Whether work of a constellation goes on: one that waits for a person may have tasks on devices beside that. */
export const goesOn = (row: WorkOfRow): boolean => !FINAL.has(row.state) && (!waitsForYou(row) || !!row.running);

/** `2 running, waits for you` of an active constellation that does both; empty for any other. */
export const bothWords = (row: WorkOfRow, part: Part = WHOLE): string =>
  row.running && row.state === "active" && waitsForYou(row)
    ? `${row.running} running, waits for ${endsBy(row, part) ? "you" : "others"}`
    : "";

interface StateOfRow extends WorkOfRow {
  undone_from?: Head["state"] | null;
  alarm?: boolean;
}

/** Nothing of it runs on any device: it waits for a device, a time or a place in the queue, and no arc turns. */
const IDLE: Shown = { ...presentation("ready", null), word: "Waits" };

/** A row does not tell whether all of its work was undone; its sentence does. */
const UNDONE: Shown = { ...presentation("cancelled", null), word: "Taken back, in part or whole" };

/**
 * The state of a constellation in a list: one that waits for a person has no turning arc, undone work has no tick.
 * `part`: of the person who reads it, who is needed only for what they may do.
 */
export function rowShown(row: StateOfRow, part: Part = WHOLE): Shown {
  if (row.state === "succeeded" && row.undone_from) return UNDONE;
  if (row.state === "succeeded" && row.alarm) return ALARM;
  const both = bothWords(row, part);
  if (both) return { ...presentation("ready", "person"), word: both };
  // A page that is older than the hub's rows knows no number.
  if (row.state === "active" && !waitsForYou(row) && row.running === 0) return IDLE;
  if (row.state !== "active" || !waitsForYou(row)) return constellationShown(row.state);
  const byTap = row.attention?.includes("waits_for_a_tap") && row.attention.length === 1;
  if (byTap) return presentation("running", "tap");
  return shownTo(row, presentation("ready", "person"), part);
}

export const ATTENTION: Record<Attention, string> = {
  question_open: "A question waits for an answer",
  task_unknown: "A task may have happened: say whether it did",
  no_capable_device: "No device can do a task",
  waits_long: "A task waits longer than allowed",
  takes_long: "A task takes longer than allowed",
  rule_refused: "A rule of the recipe was refused",
  review_wishes: "The model would change the plan beyond what was approved",
  planning_failed: "The request could not be planned",
  missing_grant: "A device lacks a grant",
  missing_secret: "A secret is not set",
  owner_asked: "A device asks its owner first",
  waits_for_a_tap: "A task waits for a tap on its device",
  undo_failed: "Something could not be undone",
  budget: "Its budget is used up: resume it to allow as much again",
  history_restored: "Restored from a backup: look at what ran since, then resume it",
  stalled: "Nothing in it can go on: a fault of the hub",
};

export function codeTitle(code: Code | string | null | undefined): string {
  return (code && known(CODES, code)?.title) || "";
}

export function codeHint(code: Code | string | null | undefined): string {
  return (code && known(CODES, code)?.hint) || "";
}

/** `4 ms`, `0.8 s`, `12 s`, `3 min 05 s`, `2 h 10 min`, `3 days`. */
export function duration(ms: number): string {
  if (ms > 0 && ms < 100) return `${Math.max(1, Math.round(ms))} ms`;
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
  if (seconds >= 2 * 86_400) return `${Math.floor(seconds / 86_400)} days`;
  return `${Math.floor(seconds / 3600)} h ${String(Math.floor((seconds % 3600) / 60)).padStart(2, "0")} min`;
}

/** A clock that runs: `00:06`, `1:02:10`. */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const rest = `${String(Math.floor((seconds % 3600) / 60)).padStart(2, "0")}:${String(seconds % 60).padStart(2, "0")}`;
  return seconds >= 3600 ? `${Math.floor(seconds / 3600)}:${rest}` : rest;
}

/** What is left of a time, in words: `9 min 59 s`. A clock's figures would read as a time of the day. */
export function countdown(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  if (hours) return `${hours} h ${minutes} min`;
  return minutes ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

export function timeOfDay(ms: number, tenths = false): string {
  const at = new Date(ms);
  const text = [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
  return tenths ? `${text}.${Math.floor(at.getMilliseconds() / 100)}` : text;
}

const HALF_A_YEAR_S = 180 * 24 * 3600;

/** `now`, `4 s ago`, `3 min ago`, else the hour today or the date; with its year where the day alone could be any. */
export function age(ms: number, nowMs: number): string {
  const seconds = Math.round((nowMs - ms) / 1000);
  if (seconds < 2) return "now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  const at = new Date(ms);
  if (seconds < 20 * 3600) return timeOfDay(ms).slice(0, 5);
  const year = seconds > HALF_A_YEAR_S ? ({ year: "numeric" } as const) : {};
  return at.toLocaleDateString("en-GB", { day: "numeric", month: "short", ...year });
}

/** A day and a time on the reader's clock: `29 Nov 2026, 20:17`. */
export const dateTime = (ms: number): string =>
  new Date(ms).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

export function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let value = count;
  let unit = -1;
  do {
    value /= 1000;
    unit += 1;
  } while (value >= 999.5 && unit < units.length - 1);
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** The price of a model's calls behind other figures: `, 0.0031 dollars`; empty where none is known. */
export const money = (micros: number): string => (micros ? `, ${(micros / 1_000_000).toFixed(4)} dollars` : "");

export const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;

/** Who made a version or decided an event, in words: `rule duplicates`, `mara`, `assistant mara`, `Starloom`.
 *
 * The token by which somebody was recognised stands after `#` and is left out. */
export function author(by: string): string {
  const who = by.split("#", 1)[0] ?? by;
  const [kind, name] = [who.slice(0, who.indexOf(":")), who.slice(who.indexOf(":") + 1)];
  // A worker is a process of the hub.
  if (!who.includes(":") || kind === "worker") return who === "model" ? "the hub's model" : who && "Starloom";
  if (kind === "rule" || kind === "assistant" || kind === "program") return `${kind} ${name}`;
  if (kind === "person" || kind === "device") return name;
  return who;
}

/** What a version did, in a few characters: `+32`, `-4`, `~1`. */
export function versionDelta(version: Version): string {
  const parts: string[] = [];
  if (version.added?.length) parts.push(`+${version.added.length}`);
  if (version.removed?.length) parts.push(`\u2212${version.removed.length}`);
  if (version.changed?.length) parts.push(`~${version.changed.length}`);
  return parts.join(" ");
}
