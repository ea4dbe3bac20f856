/** A deed of the record in words: what was done to what. Pure. */
import type { Deed } from "../link/history.ts";
import type { FeedLine } from "./feed.ts";
import { presentation } from "./presentation.ts";
import type { Tone } from "./types.ts";

/** What was done, `%` where its subject stands. A kind without words is not shown to a person: a test finds it. */
const WORDS: Record<string, string> = {
  principal_added: "added a person",
  token_added: "made a token",
  token_revoked: "revoked a token",
  signin_opened: "made a sign-in link",
  signed_in: "signed in",
  refused: "was refused",
  secret_given: "got the secret % for one attempt",
  secret_removed: "removed the secret %",
  secret_set: "set the secret %",
  enrollment_opened: "made a join code",
  enrollment_asked: "asked to join",
  enrollment_denied: "denied a device",
  device_joined: "let % join",
  device_online: "came online",
  device_offline: "went offline",
  device_full: "has a full disk",
  device_has_room: "has room on its disk again",
  device_offer: "listed its tools",
  device_revoked: "revoked %",
  device_left: "left the hub",
  device_asks: "asked its owner",
  device_ask_answered: "answered a question of %",
  device_drain: "drained %",
  device_drain_due: "moved the work of % away",
  device_resume: "gave % work again",
  device_restored: "trusts % again",
  device_stopping: "told % to stop its work",
  device_stopped: "stopped its work",
  device_woke: "woke up",
  history_older: "found a history that is older than the work of %",
  request_accepted: "asked for a constellation",
  planning_failed: "could not make a plan",
  plan_made: "made the plan",
  plan_edited: "changed the plan",
  group_expanded: "expanded the list %",
  forked: "forked a constellation",
  ended: "finished the constellation",
  rule_refused: "refused the edit of the rule %",
  started: "started the constellation",
  held: "held the constellation",
  paused: "paused the constellation",
  resumed: "resumed the constellation",
  cancelling: "cancelled the constellation",
  reopened: "opened the constellation again",
  undo_asked: "asked to undo the work",
  round_opened: "runs % again",
  budget_raised: "raised the budget",
  approval_asked: "asked for approval",
  approval_answered: "answered an approval",
  approval_void: "made an approval void",
  denied: "denied the plan",
  standing_allowed: "allowed a call permanently",
  standing_revoked: "took back a permission",
  question_asked: "asked a question for %",
  question_answered: "answered the question of %",
  recovery_asked: "asked how to go on with %",
  recovery_answered: "said how to go on with %",
  review_wish_asked: "asked to change more than was approved",
  review_wish_answered: "answered a wish of the reviewer",
  stop_all: "stopped everything",
  fault_asked: "asked the lab to break something",
  fault_injected: "broke something on purpose",
  fault_heal_asked: "asked the lab to repair it",
  fault_ended: "repaired the broken part",
  fault_failed: "could not break it",
  attempt_ended: "ended an attempt of %",
  attempt_refused: "refused an attempt of %",
  task_leased: "gave % to a device",
  task_started: "started %",
  task_succeeded: "finished %",
  task_failed: "failed at %",
  task_cancelling: "is cancelling %",
  task_cancelled: "cancelled %",
  task_skipped: "skipped %",
  task_unknown: "lost contact during %",
  task_absent: "stopped answering during %",
  task_retried: "retried %",
  task_marked: "marked %",
  task_verified: "checked whether % had happened",
  task_held: "held %",
  task_released: "released %",
  task_confirmed: "confirmed %",
  task_moved: "moved % to another device",
  group_waits: "let % wait for devices to connect again",
  group_succeeded: "finished the group %",
  group_failed: "failed at the group %",
  group_cancelled: "cancelled the group %",
  hedge_opened: "planned a second attempt of %",
  hedge_started: "started a second attempt of %",
  hedge_took_over: "went on with the second attempt of %",
  hedge_closed: "ended the second attempt of %",
  result_late: "brought a result of % too late",
  schedule_made: "made the schedule %",
  schedule_changed: "changed the schedule %",
  schedule_removed: "removed the schedule %",
  schedule_paused: "paused the schedule %",
  schedule_resumed: "resumed the schedule %",
  schedule_fired: "ran the schedule %",
  schedule_due: "reached a time of the schedule %",
  schedule_refused: "could not run the schedule %",
  schedule_asked: "asked for approval of the schedule %",
  schedule_approved: "approved the schedule %",
  schedule_ended: "ended a run of the schedule %",
  schedule_stopped: "stopped the schedule %",
  schedule_told: "sent a notice about the schedule %",
  schedule_seen: "read a notice of the schedule %",
  recipe_saved: "saved the recipe %",
  recipe_removed: "removed the recipe %",
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
  const named = about && !/^[cs]-/.test(about) && (deed.category !== "access" || deed.kind.startsWith("secret_"));
  const bare = told.replace(/ (?:(?:of|for|at|during|about|with) )?%/, "");
  const own = deed.by === `device:${deed.about}`;
  const text = !named ? bare : told.includes("%") ? told.replace("%", () => about) : own ? told : `${told}: ${about}`;
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
