"""The kinds of events: what the log can tell, each with its subject and its words.

Owns the closed list. The core emits members only; a log may hold kinds of another version, which count as `other`.
`%` in the words stands for the thing that the event is about.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Category(StrEnum):
    """The subject of an event, by which people filter the record of activity."""

    ACCESS = "access"
    REFUSED = "refused"
    DEVICES = "devices"
    APPROVALS = "approvals"
    PLANS = "plans"
    CONTROLS = "controls"
    WORK = "work"
    SCHEDULES = "schedules"
    RECIPES = "recipes"
    LAB = "lab"
    OTHER = "other"


class EventKind(StrEnum):
    """Every kind of event that this version emits."""

    ANSWER_GREW = "answer_grew"
    ANSWER_WORDED = "answer_worded"
    APPROVAL_ANSWERED = "approval_answered"
    APPROVAL_ASKED = "approval_asked"
    APPROVAL_VOID = "approval_void"
    ATTEMPT_ENDED = "attempt_ended"
    ATTEMPT_REFUSED = "attempt_refused"
    ATTENTION_CLEARED = "attention_cleared"
    ATTENTION_RAISED = "attention_raised"
    BUDGET_RAISED = "budget_raised"
    CANCELLING = "cancelling"
    DENIED = "denied"
    DEVICE_ASK_ANSWERED = "device_ask_answered"
    DEVICE_ASKS = "device_asks"
    DEVICE_CONDITION = "device_condition"
    DEVICE_DRAIN = "device_drain"
    DEVICE_DRAIN_DUE = "device_drain_due"
    DEVICE_FAULT = "device_fault"
    DEVICE_FORGOTTEN = "device_forgotten"
    DEVICE_FULL = "device_full"
    DEVICE_HAS_ROOM = "device_has_room"
    DEVICE_JOINED = "device_joined"
    DEVICE_LABELLED = "device_labelled"
    DEVICE_LEFT = "device_left"
    DEVICE_OFFER = "device_offer"
    DEVICE_OFFLINE = "device_offline"
    DEVICE_ONLINE = "device_online"
    DEVICE_PROBED = "device_probed"
    DEVICE_PROBING = "device_probing"
    DEVICE_QUARANTINED = "device_quarantined"
    DEVICE_REFUSED = "device_refused"
    DEVICE_RENAMED = "device_renamed"
    DEVICE_RESERVED = "device_reserved"
    DEVICE_RESTORED = "device_restored"
    DEVICE_RESUME = "device_resume"
    DEVICE_REVOKED = "device_revoked"
    DEVICE_SHARED = "device_shared"
    DEVICE_SOUND = "device_sound"
    DEVICE_STOPPED = "device_stopped"
    DEVICE_STOPPING = "device_stopping"
    DEVICE_SUSPECTED = "device_suspected"
    DEVICE_TRIED = "device_tried"
    DEVICE_WOKE = "device_woke"
    DRAFT_CLOSED = "draft_closed"
    DRAFT_OPENED = "draft_opened"
    ENDED = "ended"
    ENROLLMENT_ASKED = "enrollment_asked"
    ENROLLMENT_DENIED = "enrollment_denied"
    ENROLLMENT_OPENED = "enrollment_opened"
    FACTS_TOLD = "facts_told"
    FAULT_ASKED = "fault_asked"
    FAULT_ENDED = "fault_ended"
    FAULT_FAILED = "fault_failed"
    FAULT_HEAL_ASKED = "fault_heal_asked"
    FAULT_INJECTED = "fault_injected"
    FINDING_PUBLISHED = "finding_published"
    FINDING_REFUSED = "finding_refused"
    FORGOTTEN = "forgotten"
    FORKED = "forked"
    GOAL_ANSWERED = "goal_answered"
    GOAL_BEGAN = "goal_began"
    GOAL_ENDS = "goal_ends"
    GOAL_ESCALATED = "goal_escalated"
    GOAL_HINTED = "goal_hinted"
    GOAL_REFUSED = "goal_refused"
    GOAL_STALLED = "goal_stalled"
    GOAL_STEPPED = "goal_stepped"
    GROUP_CANCELLED = "group_cancelled"
    GROUP_EXPANDED = "group_expanded"
    GROUP_FAILED = "group_failed"
    GROUP_SKIPPED = "group_skipped"
    GROUP_SUCCEEDED = "group_succeeded"
    GROUP_WAITS = "group_waits"
    HEDGE_CLOSED = "hedge_closed"
    HEDGE_OPENED = "hedge_opened"
    HEDGE_STARTED = "hedge_started"
    HEDGE_TOOK_OVER = "hedge_took_over"
    HELD = "held"
    HISTORY_OLDER = "history_older"
    HISTORY_SEEN = "history_seen"
    JOB_CLAIMED = "job_claimed"
    JOB_DONE = "job_done"
    JOB_OPENED = "job_opened"
    JOB_RENEWED = "job_renewed"
    JUDGE_ASKED = "judge_asked"
    JUDGED = "judged"
    KEY_USED = "key_used"
    LOOKS_ENDED = "looks_ended"
    LOOKS_OPENED = "looks_opened"
    MODEL_USED = "model_used"
    PACE_LEARNED = "pace_learned"
    PAUSED = "paused"
    PLAN_EDITED = "plan_edited"
    PLAN_MADE = "plan_made"
    PLANNING_FAILED = "planning_failed"
    PRINCIPAL_ADDED = "principal_added"
    ROLE_GIVEN = "role_given"
    QUESTION_ANSWERED = "question_answered"
    QUESTION_ASKED = "question_asked"
    QUESTION_CLOSED = "question_closed"
    RECIPE_PROPOSAL_CLOSED = "recipe_proposal_closed"
    RECIPE_PROPOSED = "recipe_proposed"
    RECIPE_RAN = "recipe_ran"
    RECIPE_REMOVED = "recipe_removed"
    RECIPE_SAVED = "recipe_saved"
    RECIPE_SEEN = "recipe_seen"
    RECIPE_WENT_BACK = "recipe_went_back"
    RECOVERY_ANSWERED = "recovery_answered"
    RECOVERY_ASKED = "recovery_asked"
    REFUSED = "refused"
    REOPENED = "reopened"
    REQUEST_ACCEPTED = "request_accepted"
    RESULT_KEPT = "result_kept"
    RESULT_LATE = "result_late"
    RESUMED = "resumed"
    REVIEW_CLOSED = "review_closed"
    REVIEW_OPENED = "review_opened"
    REVIEW_PROLONGED = "review_prolonged"
    REVIEW_WISH_ANSWERED = "review_wish_answered"
    REVIEW_WISH_ASKED = "review_wish_asked"
    ROUND_OPENED = "round_opened"
    RULE_REFUSED = "rule_refused"
    SCHEDULE_APPROVED = "schedule_approved"
    SCHEDULE_ASKED = "schedule_asked"
    SCHEDULE_CHANGED = "schedule_changed"
    SCHEDULE_DUE = "schedule_due"
    SCHEDULE_ENDED = "schedule_ended"
    SCHEDULE_FIRED = "schedule_fired"
    SCHEDULE_MADE = "schedule_made"
    SCHEDULE_PAUSED = "schedule_paused"
    SCHEDULE_REFUSED = "schedule_refused"
    SCHEDULE_REMOVED = "schedule_removed"
    SCHEDULE_RESUMED = "schedule_resumed"
    SCHEDULE_SEEN = "schedule_seen"
    SCHEDULE_STOPPED = "schedule_stopped"
    SCHEDULE_TOLD = "schedule_told"
    SECRET_GIVEN = "secret_given"
    SECRET_REMOVED = "secret_removed"
    SECRET_SET = "secret_set"
    SIGNED_IN = "signed_in"
    SIGNIN_OPENED = "signin_opened"
    SPENDING_LEARNED = "spending_learned"
    STANDING_ALLOWED = "standing_allowed"
    STANDING_REVOKED = "standing_revoked"
    STARTED = "started"
    STOP_ALL = "stop_all"
    TASK_ABSENT = "task_absent"
    TASK_AWAITS_TAP = "task_awaits_tap"
    TASK_CANCELLED = "task_cancelled"
    TASK_CANCELLING = "task_cancelling"
    TASK_CONFIRMED = "task_confirmed"
    TASK_FAILED = "task_failed"
    TASK_HEARD = "task_heard"
    TASK_HELD = "task_held"
    TASK_HINTED = "task_hinted"
    TASK_LEASED = "task_leased"
    TASK_MARKED = "task_marked"
    TASK_MOVED = "task_moved"
    TASK_MOVING = "task_moving"
    TASK_OVERDUE = "task_overdue"
    TASK_PROGRESS = "task_progress"
    TASK_READY = "task_ready"
    TASK_RELEASED = "task_released"
    TASK_REROUTED = "task_rerouted"
    TASK_RETRIED = "task_retried"
    TASK_REUSED = "task_reused"
    TASK_SKIPPED = "task_skipped"
    TASK_STARTED = "task_started"
    TASK_SUCCEEDED = "task_succeeded"
    TASK_TAPPED = "task_tapped"
    TASK_UNKNOWN = "task_unknown"
    TASK_VERIFIED = "task_verified"
    TASK_WAITING = "task_waiting"
    TASKS_READY = "tasks_ready"
    TOKEN_ADDED = "token_added"
    TOKEN_REVOKED = "token_revoked"
    UNDO_ASKED = "undo_asked"


@dataclass(frozen=True, slots=True)
class KindRow:
    """`housekeeping`: a step of the engine itself, which the log has and the record of activity leaves out.

    `own`: the words where the thing that it is about did it.
    """

    category: Category
    words: str
    housekeeping: bool = False
    own: str = ""


KINDS: Final[dict[EventKind, KindRow]] = {
    EventKind.PRINCIPAL_ADDED: KindRow(Category.ACCESS, "added a person"),
    EventKind.ROLE_GIVEN: KindRow(Category.ACCESS, "gave a person another role"),
    EventKind.SECRET_GIVEN: KindRow(Category.ACCESS, "got the secret % for one attempt"),
    EventKind.SECRET_REMOVED: KindRow(Category.ACCESS, "removed the secret %"),
    EventKind.SECRET_SET: KindRow(Category.ACCESS, "set the secret %"),
    EventKind.SIGNED_IN: KindRow(Category.ACCESS, "signed in"),
    EventKind.SIGNIN_OPENED: KindRow(Category.ACCESS, "made a sign-in link"),
    EventKind.TOKEN_ADDED: KindRow(Category.ACCESS, "made a token"),
    EventKind.TOKEN_REVOKED: KindRow(Category.ACCESS, "revoked a token"),
    EventKind.ATTEMPT_REFUSED: KindRow(Category.REFUSED, "refused an attempt of %"),
    EventKind.REFUSED: KindRow(Category.REFUSED, "was refused"),
    EventKind.RULE_REFUSED: KindRow(Category.REFUSED, "refused the edit of the rule %"),
    EventKind.DEVICE_ASK_ANSWERED: KindRow(Category.DEVICES, "answered a question of %"),
    EventKind.DEVICE_ASKS: KindRow(Category.DEVICES, "asked its owner"),
    EventKind.DEVICE_CONDITION: KindRow(Category.DEVICES, "told of its condition", housekeeping=True),
    EventKind.DEVICE_DRAIN: KindRow(Category.DEVICES, "drained %"),
    EventKind.DEVICE_DRAIN_DUE: KindRow(Category.DEVICES, "moved the work of % away"),
    EventKind.DEVICE_FAULT: KindRow(Category.DEVICES, "noted a fault of %", housekeeping=True),
    EventKind.DEVICE_FORGOTTEN: KindRow(Category.DEVICES, "forgot %"),
    EventKind.DEVICE_FULL: KindRow(Category.DEVICES, "has a full disk"),
    EventKind.DEVICE_HAS_ROOM: KindRow(Category.DEVICES, "has room on its disk again"),
    EventKind.DEVICE_JOINED: KindRow(Category.DEVICES, "let % join", own="joined"),
    EventKind.DEVICE_LABELLED: KindRow(Category.DEVICES, "changed the labels of %"),
    EventKind.DEVICE_LEFT: KindRow(Category.DEVICES, "left the hub"),
    EventKind.DEVICE_OFFER: KindRow(Category.DEVICES, "listed its tools"),
    EventKind.DEVICE_OFFLINE: KindRow(Category.DEVICES, "went offline"),
    EventKind.DEVICE_ONLINE: KindRow(Category.DEVICES, "came online"),
    EventKind.DEVICE_PROBED: KindRow(Category.DEVICES, "did the task that tried it"),
    EventKind.DEVICE_PROBING: KindRow(Category.DEVICES, "is tried again"),
    EventKind.DEVICE_QUARANTINED: KindRow(Category.DEVICES, "set % aside"),
    EventKind.DEVICE_REFUSED: KindRow(Category.DEVICES, "refused the agent of %"),
    EventKind.DEVICE_RENAMED: KindRow(Category.DEVICES, "renamed %"),
    EventKind.DEVICE_RESERVED: KindRow(Category.DEVICES, "reserved %"),
    EventKind.DEVICE_RESTORED: KindRow(Category.DEVICES, "trusts % again"),
    EventKind.DEVICE_RESUME: KindRow(Category.DEVICES, "gave % work again"),
    EventKind.DEVICE_REVOKED: KindRow(Category.DEVICES, "revoked %"),
    EventKind.DEVICE_SHARED: KindRow(Category.DEVICES, "shared % again"),
    EventKind.DEVICE_SOUND: KindRow(Category.DEVICES, "works well again", housekeeping=True),
    EventKind.DEVICE_STOPPED: KindRow(Category.DEVICES, "stopped its work"),
    EventKind.DEVICE_STOPPING: KindRow(Category.DEVICES, "told % to stop its work"),
    EventKind.DEVICE_SUSPECTED: KindRow(Category.DEVICES, "asks % last, after its faults"),
    EventKind.DEVICE_TRIED: KindRow(Category.DEVICES, "tries % with one task", housekeeping=True),
    EventKind.DEVICE_WOKE: KindRow(Category.DEVICES, "woke up"),
    EventKind.ENROLLMENT_ASKED: KindRow(Category.DEVICES, "asked to join"),
    EventKind.ENROLLMENT_DENIED: KindRow(Category.DEVICES, "denied a device"),
    EventKind.ENROLLMENT_OPENED: KindRow(Category.DEVICES, "made a join code"),
    EventKind.HISTORY_OLDER: KindRow(Category.DEVICES, "found a history that is older than the work of %"),
    EventKind.HISTORY_SEEN: KindRow(Category.DEVICES, "read the note about an older history of %"),
    EventKind.STOP_ALL: KindRow(Category.DEVICES, "stopped everything"),
    EventKind.APPROVAL_ANSWERED: KindRow(Category.APPROVALS, "answered an approval"),
    EventKind.APPROVAL_ASKED: KindRow(Category.APPROVALS, "asked for approval"),
    EventKind.APPROVAL_VOID: KindRow(Category.APPROVALS, "made an approval void"),
    EventKind.DENIED: KindRow(Category.APPROVALS, "denied the plan"),
    EventKind.QUESTION_ANSWERED: KindRow(Category.APPROVALS, "answered the question of %"),
    EventKind.QUESTION_ASKED: KindRow(Category.APPROVALS, "asked a question for %"),
    EventKind.QUESTION_CLOSED: KindRow(Category.APPROVALS, "closed a question", housekeeping=True),
    EventKind.RECOVERY_ANSWERED: KindRow(Category.APPROVALS, "said how to go on with %"),
    EventKind.RECOVERY_ASKED: KindRow(Category.APPROVALS, "asked how to go on with %"),
    EventKind.REVIEW_WISH_ANSWERED: KindRow(Category.APPROVALS, "answered a wish of the reviewer"),
    EventKind.REVIEW_WISH_ASKED: KindRow(Category.APPROVALS, "asked to change more than was approved"),
    EventKind.STANDING_ALLOWED: KindRow(Category.APPROVALS, "allowed a call permanently"),
    EventKind.STANDING_REVOKED: KindRow(Category.APPROVALS, "took back a permission"),
    EventKind.ENDED: KindRow(Category.PLANS, "finished the constellation"),
    EventKind.FORKED: KindRow(Category.PLANS, "forked a constellation"),
    EventKind.GOAL_ANSWERED: KindRow(Category.PLANS, "answered the goal of %"),
    EventKind.GOAL_BEGAN: KindRow(Category.PLANS, "began the goal %"),
    EventKind.GOAL_ENDS: KindRow(Category.PLANS, "ends the goal % without an answer"),
    EventKind.GOAL_ESCALATED: KindRow(Category.PLANS, "gave the goal % to its next tier"),
    EventKind.GOAL_REFUSED: KindRow(Category.PLANS, "refused a turn of the goal %"),
    EventKind.GOAL_STALLED: KindRow(Category.PLANS, "noticed that the goal % gets nowhere"),
    EventKind.GROUP_EXPANDED: KindRow(Category.PLANS, "expanded the list %"),
    EventKind.LOOKS_ENDED: KindRow(Category.PLANS, "has looked and goes on"),
    EventKind.LOOKS_OPENED: KindRow(Category.PLANS, "looks first"),
    EventKind.JUDGE_ASKED: KindRow(Category.PLANS, "asked a judge about %"),
    EventKind.JUDGED: KindRow(Category.PLANS, "gave its verdict on %"),
    EventKind.PLAN_EDITED: KindRow(Category.PLANS, "changed the plan"),
    EventKind.PLAN_MADE: KindRow(Category.PLANS, "made the plan"),
    EventKind.PLANNING_FAILED: KindRow(Category.PLANS, "could not make a plan"),
    EventKind.REQUEST_ACCEPTED: KindRow(Category.PLANS, "asked for a constellation"),
    EventKind.BUDGET_RAISED: KindRow(Category.CONTROLS, "raised the budget"),
    EventKind.CANCELLING: KindRow(Category.CONTROLS, "cancelled the constellation"),
    EventKind.GOAL_HINTED: KindRow(Category.CONTROLS, "gave the goal % a hint"),
    EventKind.HELD: KindRow(Category.CONTROLS, "held the constellation"),
    EventKind.PAUSED: KindRow(Category.CONTROLS, "paused the constellation"),
    EventKind.REOPENED: KindRow(Category.CONTROLS, "opened the constellation again"),
    EventKind.RESUMED: KindRow(Category.CONTROLS, "resumed the constellation"),
    EventKind.ROUND_OPENED: KindRow(Category.CONTROLS, "runs % again"),
    EventKind.STARTED: KindRow(Category.CONTROLS, "started the constellation"),
    EventKind.TASK_CONFIRMED: KindRow(Category.CONTROLS, "confirmed %"),
    EventKind.TASK_HELD: KindRow(Category.CONTROLS, "held %"),
    EventKind.TASK_HINTED: KindRow(Category.CONTROLS, "gave the agent of % a hint"),
    EventKind.TASK_MARKED: KindRow(Category.CONTROLS, "marked %"),
    EventKind.TASK_RELEASED: KindRow(Category.CONTROLS, "released %"),
    EventKind.TASK_RETRIED: KindRow(Category.CONTROLS, "retried %"),
    EventKind.TASK_VERIFIED: KindRow(Category.CONTROLS, "checked whether % had happened"),
    EventKind.UNDO_ASKED: KindRow(Category.CONTROLS, "asked to undo the work"),
    EventKind.ATTEMPT_ENDED: KindRow(Category.WORK, "ended an attempt of %"),
    EventKind.GROUP_CANCELLED: KindRow(Category.WORK, "cancelled the group %"),
    EventKind.GROUP_FAILED: KindRow(Category.WORK, "failed at the group %"),
    EventKind.GROUP_SKIPPED: KindRow(Category.WORK, "skipped the group %"),
    EventKind.GROUP_SUCCEEDED: KindRow(Category.WORK, "finished the group %"),
    EventKind.GROUP_WAITS: KindRow(Category.WORK, "let % wait for devices to connect again"),
    EventKind.HEDGE_CLOSED: KindRow(Category.WORK, "ended the second attempt of %"),
    EventKind.HEDGE_OPENED: KindRow(Category.WORK, "planned a second attempt of %"),
    EventKind.HEDGE_STARTED: KindRow(Category.WORK, "started a second attempt of %"),
    EventKind.HEDGE_TOOK_OVER: KindRow(Category.WORK, "went on with the second attempt of %"),
    EventKind.RESULT_LATE: KindRow(Category.WORK, "brought a result of % too late"),
    EventKind.TASK_ABSENT: KindRow(Category.WORK, "stopped answering during %"),
    EventKind.TASK_AWAITS_TAP: KindRow(Category.WORK, "waits for a tap for %"),
    EventKind.TASK_CANCELLED: KindRow(Category.WORK, "cancelled %"),
    EventKind.TASK_CANCELLING: KindRow(Category.WORK, "is cancelling %"),
    EventKind.TASK_FAILED: KindRow(Category.WORK, "failed at %"),
    EventKind.TASK_HEARD: KindRow(Category.WORK, "answered again during %", housekeeping=True),
    EventKind.TASK_LEASED: KindRow(Category.WORK, "gave % to a device"),
    EventKind.TASK_MOVED: KindRow(Category.WORK, "moved % to another device"),
    EventKind.TASK_MOVING: KindRow(Category.WORK, "is moving % to another device", housekeeping=True),
    EventKind.TASK_OVERDUE: KindRow(Category.WORK, "took longer than planned for %", housekeeping=True),
    EventKind.TASK_REROUTED: KindRow(Category.WORK, "took another call for %"),
    EventKind.TASK_PROGRESS: KindRow(Category.WORK, "reported how % goes on", housekeeping=True),
    EventKind.TASK_READY: KindRow(Category.WORK, "made % ready", housekeeping=True),
    EventKind.TASK_REUSED: KindRow(Category.WORK, "took over an earlier result for %"),
    EventKind.FINDING_PUBLISHED: KindRow(Category.WORK, "published a finding of %"),
    EventKind.FINDING_REFUSED: KindRow(Category.WORK, "published no finding of %"),
    EventKind.TASK_SKIPPED: KindRow(Category.WORK, "skipped %"),
    EventKind.TASK_STARTED: KindRow(Category.WORK, "started %"),
    EventKind.TASK_SUCCEEDED: KindRow(Category.WORK, "finished %"),
    EventKind.TASK_TAPPED: KindRow(Category.WORK, "waits for no tap any more for %", housekeeping=True),
    EventKind.TASK_UNKNOWN: KindRow(Category.WORK, "lost contact during %"),
    EventKind.TASK_WAITING: KindRow(Category.WORK, "lets % wait", housekeeping=True),
    EventKind.SCHEDULE_APPROVED: KindRow(Category.SCHEDULES, "approved the schedule %"),
    EventKind.SCHEDULE_ASKED: KindRow(Category.SCHEDULES, "asked for approval of the schedule %"),
    EventKind.SCHEDULE_CHANGED: KindRow(Category.SCHEDULES, "changed the schedule %"),
    EventKind.SCHEDULE_DUE: KindRow(Category.SCHEDULES, "reached a time of the schedule %"),
    EventKind.SCHEDULE_ENDED: KindRow(Category.SCHEDULES, "ended a run of the schedule %"),
    EventKind.SCHEDULE_FIRED: KindRow(Category.SCHEDULES, "ran the schedule %"),
    EventKind.SCHEDULE_MADE: KindRow(Category.SCHEDULES, "made the schedule %"),
    EventKind.SCHEDULE_PAUSED: KindRow(Category.SCHEDULES, "paused the schedule %"),
    EventKind.SCHEDULE_REFUSED: KindRow(Category.SCHEDULES, "could not run the schedule %"),
    EventKind.SCHEDULE_REMOVED: KindRow(Category.SCHEDULES, "removed the schedule %"),
    EventKind.SCHEDULE_RESUMED: KindRow(Category.SCHEDULES, "resumed the schedule %"),
    EventKind.SCHEDULE_SEEN: KindRow(Category.SCHEDULES, "read a notice of the schedule %"),
    EventKind.SCHEDULE_STOPPED: KindRow(Category.SCHEDULES, "stopped the schedule %"),
    EventKind.SCHEDULE_TOLD: KindRow(Category.SCHEDULES, "sent a notice about the schedule %"),
    EventKind.RECIPE_PROPOSAL_CLOSED: KindRow(Category.RECIPES, "closed the proposal of a recipe"),
    EventKind.RECIPE_PROPOSED: KindRow(Category.RECIPES, "proposed a recipe"),
    EventKind.RECIPE_RAN: KindRow(Category.RECIPES, "counted a run of the recipe %", housekeeping=True),
    EventKind.RECIPE_REMOVED: KindRow(Category.RECIPES, "removed the recipe %"),
    EventKind.RECIPE_SAVED: KindRow(Category.RECIPES, "saved the recipe %"),
    EventKind.RECIPE_SEEN: KindRow(Category.RECIPES, "read a notice of the recipe %"),
    EventKind.RECIPE_WENT_BACK: KindRow(Category.RECIPES, "took the recipe % back to an earlier version"),
    EventKind.FAULT_ASKED: KindRow(Category.LAB, "asked the lab to break something"),
    EventKind.FAULT_ENDED: KindRow(Category.LAB, "repaired the broken part"),
    EventKind.FAULT_FAILED: KindRow(Category.LAB, "could not break it"),
    EventKind.FAULT_HEAL_ASKED: KindRow(Category.LAB, "asked the lab to repair it"),
    EventKind.FAULT_INJECTED: KindRow(Category.LAB, "broke something on purpose"),
    EventKind.ANSWER_WORDED: KindRow(Category.OTHER, "told the answer in words", housekeeping=True),
    EventKind.ANSWER_GREW: KindRow(Category.OTHER, "took % into the answer so far", housekeeping=True),
    EventKind.ATTENTION_CLEARED: KindRow(Category.OTHER, "no longer needs %", housekeeping=True),
    EventKind.ATTENTION_RAISED: KindRow(Category.OTHER, "asks for attention", housekeeping=True),
    EventKind.DRAFT_CLOSED: KindRow(Category.OTHER, "closed a draft", housekeeping=True),
    EventKind.DRAFT_OPENED: KindRow(Category.OTHER, "opened a draft", housekeeping=True),
    EventKind.FACTS_TOLD: KindRow(Category.OTHER, "told a fact of %", housekeeping=True),
    EventKind.FORGOTTEN: KindRow(Category.OTHER, "forgot what had expired", housekeeping=True),
    EventKind.GOAL_STEPPED: KindRow(Category.OTHER, "let the goal % go on", housekeeping=True),
    EventKind.JOB_CLAIMED: KindRow(Category.OTHER, "took the job %", housekeeping=True),
    EventKind.JOB_DONE: KindRow(Category.OTHER, "finished the job %", housekeeping=True),
    EventKind.JOB_OPENED: KindRow(Category.OTHER, "opened the job %", housekeeping=True),
    EventKind.JOB_RENEWED: KindRow(Category.OTHER, "kept the job %", housekeeping=True),
    EventKind.KEY_USED: KindRow(Category.OTHER, "noted a key of a request", housekeeping=True),
    EventKind.MODEL_USED: KindRow(Category.OTHER, "asked the model", housekeeping=True),
    EventKind.PACE_LEARNED: KindRow(Category.OTHER, "learned the pace of %", housekeeping=True),
    EventKind.RESULT_KEPT: KindRow(Category.OTHER, "kept the result of %", housekeeping=True),
    EventKind.REVIEW_CLOSED: KindRow(Category.OTHER, "closed the review of %", housekeeping=True),
    EventKind.REVIEW_OPENED: KindRow(Category.OTHER, "opened a review of %", housekeeping=True),
    EventKind.REVIEW_PROLONGED: KindRow(Category.OTHER, "gave the review of % more time", housekeeping=True),
    EventKind.SPENDING_LEARNED: KindRow(Category.OTHER, "learned the cost of the model for %", housekeeping=True),
    EventKind.TASKS_READY: KindRow(Category.OTHER, "made tasks ready", housekeeping=True),
}

HOUSEKEEPING: Final = tuple(kind for kind, row in KINDS.items() if row.housekeeping)


def category_of(kind: str) -> Category:
    """Return the subject of a kind; `other` for one that this version does not know."""
    member = _BY_TEXT.get(kind)
    return KINDS[member].category if member is not None else Category.OTHER


def kinds_of(category: Category) -> list[EventKind]:
    """Return the kinds of a subject, in the order of the table."""
    return [kind for kind, row in KINDS.items() if row.category is category]


_BY_TEXT: Final[dict[str, EventKind]] = {kind.value: kind for kind in EventKind}
