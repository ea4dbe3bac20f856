/** A deed of the record in words: what was done to what. Pure. */
import type { Deed } from "../link/history.ts";
import type { FeedLine } from "./feed.ts";
import { presentation } from "./presentation.ts";
import type { Tone } from "./types.ts";

const WORDS: Record<string, string> = {
  principal_added: "became a principal",
  token_added: "made a token",
  token_revoked: "revoked a token",
  signin_opened: "made a sign-in link",
  signed_in: "signed in",
  refused: "was refused at the door",
  enrollment_opened: "made a join code",
  enrollment_asked: "asked to join",
  enrollment_denied: "denied a device",
  device_joined: "let a device in",
  device_online: "came online",
  device_offline: "went away",
  device_full: "has a full disk",
  device_has_room: "has room on its disk again",
  device_offer: "said what it can do",
  device_revoked: "revoked a device",
  device_left: "left the hub",
  request_accepted: "asked for a constellation",
  plan_made: "made the plan",
  plan_edited: "changed the plan",
  group_expanded: "expanded a list",
  forked: "forked a constellation",
  ended: "ended it",
  started: "started it",
  paused: "paused it",
  resumed: "resumed it",
  cancelling: "cancelled it",
  reopened: "opened it again",
  undo_asked: "asked to undo it",
  round_opened: "runs it again",
  approval_asked: "asked for approval",
  approval_answered: "answered an approval",
  approval_void: "made an approval void",
  denied: "denied it",
  standing_allowed: "allowed calls for good",
  standing_revoked: "took an allowance back",
  stop_all: "stopped everything",
  fault_asked: "asked the lab to break something",
  fault_injected: "broke something on purpose",
  fault_heal_asked: "asked the lab to heal it",
  fault_ended: "healed what was broken",
  fault_failed: "could not break it",
  task_leased: "gave it to a device",
  task_started: "began",
  task_succeeded: "did it",
  task_failed: "failed",
  task_cancelled: "cancelled it",
  task_skipped: "skipped it",
  task_unknown: "lost sight of it",
  task_absent: "went silent",
  task_retried: "tries again",
  group_waits: "waits for devices",
  group_succeeded: "finished a group",
  group_failed: "a group failed",
};

interface DeedText {
  glyph: FeedLine["glyph"];
  tone: Tone;
  text: string;
}

export function deedText(deed: Deed, nameOf: (device: string) => string): DeedText {
  const about = deed.about?.startsWith("d-") ? nameOf(deed.about) : (deed.about ?? "");
  const told = WORDS[deed.kind] ?? deed.kind.replaceAll("_", " ");
  // Ids of sessions, tokens and constellations say nothing to a person; what is about them stands in the note.
  const named = about && deed.category !== "access" && !about.startsWith("c-");
  const text = named ? `${told}: ${about}` : told;
  return { ...mark(deed), text };
}

function mark(deed: Deed): Omit<DeedText, "text"> {
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
