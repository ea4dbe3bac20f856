/** A deed of the record in words: what was done to what. Pure. */

import { KINDS, type KindRow } from "../../generated/protocol.ts";
import type { FeedLine } from "../../model/run/feed.ts";
import type { ActivityRow, Tone } from "../../model/types.ts";
import { presentation } from "../../model/words/presentation.ts";

/** Deeds that are about a task, where they are about anything but a device. */
const OF_TASKS: ReadonlySet<string> = new Set(["work", "controls", "plans"]);

interface DeedText {
  glyph: FeedLine["glyph"];
  tone: Tone;
  text: string;
}

export function deedText(deed: ActivityRow, nameOf: (device: string) => string): DeedText {
  // A device by the name that the page knows; the holder of a token or link as the hub tells it.
  const about = deed.about.startsWith("d-") ? nameOf(deed.about) : deed.about_name || deed.about;
  const row = (KINDS as Partial<Record<string, KindRow>>)[deed.kind];
  const told = row?.words ?? deed.kind.replaceAll("_", " ");
  // Ids of sessions, tokens and constellations say nothing to a person; what is about them stands in the note.
  const named =
    about &&
    !/^[cs]-/.test(about) &&
    (deed.category !== "access" || deed.about_name || deed.kind.startsWith("secret_"));
  const bare = told.replace(/ (?:(?:of|for|at|during|about|with) )?%/, "");
  const own = deed.by === `device:${deed.about}`;
  // The id of a task is often a plain word: in quotes it reads as a name.
  const said = OF_TASKS.has(deed.category) && !deed.about.startsWith("d-") ? `\u201c${about}\u201d` : about;
  const text = !named ? bare : told.includes("%") ? told.replace("%", () => said) : own ? told : `${told}: ${said}`;
  return { ...mark(deed), text };
}

function mark(deed: ActivityRow): Omit<DeedText, "text"> {
  if (deed.category === "refused" || deed.kind === "denied") return { glyph: "cross", tone: "vermilion" };
  if (deed.category === "approvals") return { glyph: "hand", tone: "violet" };
  if (deed.category === "lab") return { glyph: "bolt", tone: "amber" };
  if (deed.kind.startsWith("task_")) {
    const state = deed.kind.slice(5);
    if (state === "succeeded" || state === "failed" || state === "cancelled" || state === "skipped") {
      const { glyph, tone } = presentation(state, null);
      return { glyph, tone };
    }
  }
  return { glyph: deed.category === "plans" ? "plus" : "pen", tone: "grey" };
}
