/** Deeds of the record in words, and the work of one constellation as one line. Pure. */

import { KINDS, type KindRow } from "../../generated/protocol.ts";
import type { FeedLine } from "../../model/run/feed.ts";
import type { ActivityRow, Tone } from "../../model/types.ts";
import { presentation } from "../../model/words/presentation.ts";
import { author, plural } from "../../model/words/words.ts";

/** Deeds that are about a task, where they are about anything but a device. */
const OF_TASKS: ReadonlySet<string> = new Set(["work", "controls", "plans"]);

/** A join code or a proposal whose name is not known any more, or the approval of a plan, which has one id everywhere. */
const AN_ID = /^(?:(?:[a-z]+-)?[0-9a-z]{20}|[0-9a-f]{24}|approve-plan(?:-\d+)?)$/;

interface DeedText {
  glyph: FeedLine["glyph"];
  tone: Tone;
  text: string;
}

/** Fewer deeds of work than this stand alone: a line that hides two lines saves nothing. */
const STRETCH_LEAST = 4;

/** Deeds of work that follow each other in one constellation, newest first, as the record has them. */
export type Stretch = readonly [ActivityRow, ...ActivityRow[]];

/** Divide a page of the record into stretches of work; each other deed is a stretch of one. */
export function stretches(deeds: readonly ActivityRow[]): Stretch[] {
  const all: [ActivityRow, ...ActivityRow[]][] = [];
  for (const deed of deeds) {
    const last = all.at(-1);
    if (last && deed.category === "work" && last[0].category === "work" && last[0].stream === deed.stream) {
      last.push(deed);
    } else {
      all.push([deed]);
    }
  }
  return all.flatMap((run) => (run.length < STRETCH_LEAST ? run.map((deed): Stretch => [deed]) : [run]));
}

/** A stretch of work in one line: who did it, how its tasks ended, and the mark of the worst of them. */
export function stretchText(run: Stretch, nameOf: (device: string) => string): DeedText & { who: string } {
  const counts = ENDS.map((end) => run.filter((deed) => deed.kind === `task_${end}`).length);
  const ended = ENDS.flatMap((end, place) => (counts[place] ? [{ end, count: counts[place] }] : []));
  const begun = run.filter((deed) => deed.kind === "task_started").length;
  const where = [...new Set(run.flatMap((deed) => (deed.by.startsWith("device:") ? [nameOf(deed.by.slice(7))] : [])))];
  // "2 tasks failed, 10 finished": the noun stands once.
  const told = ended.map(
    ({ end, count }, place) => `${place === 0 ? plural(count, "task") : count} ${ENDED_WORDS[end]}`,
  );
  const done = told.join(", ") || (begun > 0 ? `${plural(begun, "task")} begun` : "tasks");
  const text = where.length > 1 ? `${done}, on ${where.sort().join(", ")}` : done;
  const who = where.length > 1 ? plural(where.length, "device") : (where[0] ?? whoDid(run[0], nameOf));
  const worst = ended[0]?.end;
  return worst ? { ...look(worst), text, who } : { glyph: "pen", tone: "grey", text, who };
}

/** The ends of a task, the worst first. */
const ENDS = ["failed", "cancelled", "skipped", "succeeded"] as const;
const ENDED_WORDS = { failed: "failed", cancelled: "cancelled", skipped: "skipped", succeeded: "finished" } as const;

export function deedText(deed: ActivityRow, nameOf: (device: string) => string): DeedText {
  // A device by the name that the page knows; the holder of a token or link as the hub tells it.
  const about = deed.about.startsWith("d-") ? nameOf(deed.about) : deed.about_name || deed.about;
  const row = (KINDS as Partial<Record<string, KindRow>>)[deed.kind];
  const own = deed.by === `device:${deed.about}`;
  const told = (own && row?.own) || (row?.words ?? deed.kind.replaceAll("_", " "));
  // Ids of sessions, tokens, constellations, join codes and proposals say nothing to a person; what is about them stands in the note.
  const named =
    about &&
    about !== whoDid(deed, nameOf) &&
    !/^[cs]-/.test(about) &&
    (OF_TASKS.has(deed.category) || !AN_ID.test(about)) &&
    (deed.category !== "access" || deed.about_name || deed.kind.startsWith("secret_"));
  const bare = told.replace(/ (?:(?:of|for|at|during|about|with) )?%/, "");
  // The id of a task is often a plain word: in quotes it reads as a name.
  const said = OF_TASKS.has(deed.category) && !deed.about.startsWith("d-") ? `\u201c${about}\u201d` : about;
  const text = !named ? bare : told.includes("%") ? told.replace("%", () => said) : own ? told : `${told}: ${said}`;
  return { ...mark(deed), text };
}

/** The author of a deed in words: a device by the name that the page knows, any other as the hub tells it. */
export const whoDid = (deed: ActivityRow, nameOf: (device: string) => string): string =>
  deed.by.startsWith("device:") ? nameOf(deed.by.slice(7)) : deed.by_name || author(deed.by);

const FILES_NAMED_MOST = 3;

/** The files that work has changed, a few by name; empty where it changed none. */
export function filesText(deeds: readonly ActivityRow[]): string {
  const named = [...new Set(deeds.flatMap((deed) => deed.files))].slice(0, FILES_NAMED_MOST);
  const count = deeds.reduce((sum, deed) => sum + deed.files_count, 0);
  if (named.length === 0) return "";
  return `changed ${named.join(", ")}${count > named.length ? ` and ${count - named.length} more` : ""}`;
}

function mark(deed: ActivityRow): Omit<DeedText, "text"> {
  if (deed.category === "refused" || deed.kind === "denied") return { glyph: "cross", tone: "vermilion" };
  if (deed.category === "approvals") return { glyph: "hand", tone: "violet" };
  if (deed.category === "lab") return { glyph: "bolt", tone: "amber" };
  if (deed.kind.startsWith("task_")) {
    const end = ENDS.find((one) => deed.kind === `task_${one}`);
    if (end) return look(end);
  }
  return { glyph: deed.category === "plans" ? "plus" : "pen", tone: "grey" };
}

function look(end: (typeof ENDS)[number]): Omit<DeedText, "text"> {
  const { glyph, tone } = presentation(end, null);
  return { glyph, tone };
}
