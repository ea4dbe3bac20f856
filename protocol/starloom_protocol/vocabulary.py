"""Every word that crosses a boundary: states, reasons, codes, effects, and the controls that a state allows.

Owns the names; decides nothing. A state, a reason or an error code that is not here does not exist. A state is shown as
`text.presentation` says. A control that is allowed may still ask for a person's `confirm`, where work must not be
repeated.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from starloom_protocol.codes import CODES as CODES
from starloom_protocol.codes import Code as Code
from starloom_protocol.codes import CodeClass as CodeClass
from starloom_protocol.codes import CodeInfo as CodeInfo


class TaskState(StrEnum):
    """The life of a task within one round; the last four are final."""

    WAITING = "waiting"
    READY = "ready"
    LEASED = "leased"
    RUNNING = "running"
    CANCELLING = "cancelling"
    UNKNOWN = "unknown"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


FINAL_TASK_STATES = frozenset({TaskState.SUCCEEDED, TaskState.FAILED, TaskState.CANCELLED, TaskState.SKIPPED})
AT_WORK_TASK_STATES = frozenset({TaskState.LEASED, TaskState.RUNNING, TaskState.CANCELLING})
STARTED_TASK_STATES = AT_WORK_TASK_STATES | {TaskState.UNKNOWN}


class GroupState(StrEnum):
    """The life of a group (`for_each`); a group is never leased."""

    WAITING = "waiting"
    EXPANDED = "expanded"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


FINAL_GROUP_STATES = frozenset({GroupState.SUCCEEDED, GroupState.FAILED, GroupState.CANCELLED, GroupState.SKIPPED})


class ConstellationState(StrEnum):
    PLANNING = "planning"
    LOOKING = "looking"
    AWAITING_APPROVAL = "awaiting_approval"
    ACTIVE = "active"
    PAUSED = "paused"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINAL_CONSTELLATION_STATES = frozenset(
    {
        ConstellationState.SUCCEEDED,
        ConstellationState.PARTIAL,
        ConstellationState.FAILED,
        ConstellationState.CANCELLED,
    }
)


WORKING_CONSTELLATION_STATES = frozenset({ConstellationState.ACTIVE, ConstellationState.LOOKING})
"""The states in which tasks are given to devices."""


class AttemptEnd(StrEnum):
    """How one attempt ended; `lost` was given up on silence, `revoked` was taken back by the hub."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    REFUSED = "refused"
    NEVER_STARTED = "never_started"
    LOST = "lost"
    REVOKED = "revoked"


class Outcome(StrEnum):
    """The outcome of an attempt in its `result` frame."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    REFUSED = "refused"
    NEVER_STARTED = "never_started"


class EffectSeen(StrEnum):
    """Whether the attempt may have changed the world before it ended."""

    NONE = "none"
    MAYBE = "maybe"


class Resume(StrEnum):
    """The action of a device on one attempt that the hub holds open, after it has come back."""

    CANCEL = "cancel"
    CONTINUE = "continue"
    """Go on; where nothing is known of the attempt, it is interrupted."""
    RESEND = "resend"
    """Send its end again; where nothing is known of it, a person decides."""


class DeviceLink(StrEnum):
    OFFLINE = "offline"
    ONLINE = "online"
    SUSPENDED = "suspended"


class DeviceFact(StrEnum):
    """The facts that a device reports beside its offer; `true` or `false`, unless described otherwise.

    `battery` is its charge in percent; `clock` the seconds that its clock is ahead of its hub's (below 0: behind), and
    empty where they are few (`CLOCK_OFF_S`). `disk` is `full` while its agent cannot write in `disk_folder`, else `ok`.
    `courtesy` is how the rule of its owner has it now, a `Courtesy`, and `courtesy_why` the `CourtesyCause`;
    `courtesy_until` is the time of day, by the clock of the device, at which quiet hours end. `tap` names its attempts
    that wait for a tap of the person who holds it, each as CONSTELLATION/TASK/ATTEMPT.
    """

    BATTERY = "battery"
    CHARGING = "charging"
    CLOCK = "clock"
    COURTESY = "courtesy"
    COURTESY_UNTIL = "courtesy_until"
    COURTESY_WHY = "courtesy_why"
    DISK = "disk"
    DISK_FOLDER = "disk_folder"
    OWNER_PRESENT = "owner_present"
    SUSPENDING = "suspending"
    TAP = "tap"


class Courtesy(StrEnum):
    """How much new work the rule of a device's owner lets it take now: any, only what no other can do, or none."""

    YES = "yes"
    LESS = "less"
    NO = "no"


class CourtesyCause(StrEnum):
    """The cause of a device's courtesy; it never says who sits there."""

    BATTERY = "battery"
    IN_USE = "in_use"
    QUIET_HOURS = "quiet_hours"


class Vital(StrEnum):
    """The figures of a device that the hub keeps for an hour, as a line each. The hub measures `latency_ms` itself."""

    BATTERY_PERCENT = "battery_percent"
    DISK_PERCENT = "disk_percent"
    LATENCY_MS = "latency_ms"
    LOAD_PERCENT = "load_percent"
    MEMORY_PERCENT = "memory_percent"


CLOCK_OFF_S: Final = 60
"""A clock that is off by more is named: people read times to the minute, and a slow line costs seconds."""
DISK_NEARLY_FULL_PERCENT: Final = 90
"""From here on a disk counts as nearly full. The recipe `disk-space` has the same bound."""


class Effect(StrEnum):
    """An effect that a tool may have on the world."""

    READ = "read"
    WRITE = "write"
    CHANGE = "change"
    DESTROY = "destroy"
    REACH = "reach"
    CONTROL = "control"


RISKY_EFFECTS = frozenset({Effect.CHANGE, Effect.DESTROY, Effect.CONTROL})


class Sharing(StrEnum):
    """The part of a result that a model may be shown: no value, its shape and facts, or the head of files too."""

    NAMES = "names"
    CARDS = "cards"
    HEADS = "cards_and_file_heads"


class Repeatability(StrEnum):
    """How often work may be run, from at will to once at most."""

    PURE = "pure"
    IDEMPOTENT = "idempotent"
    VERIFIABLE = "verifiable"
    COMPENSABLE = "compensable"
    NEVER = "never"


REPEATABLE = frozenset({Repeatability.PURE, Repeatability.IDEMPOTENT})
_BY_CARE = list(Repeatability)


def most_careful(declared: Iterable[Repeatability]) -> Repeatability:
    """Return the most careful repeatability that devices state for one tool; there must be at least one."""
    return max(declared, key=_BY_CARE.index)


class Profile(StrEnum):
    """The profile that a device's owner allows there, from least to most."""

    OBSERVE = "observe"
    FILES = "files"
    WORK = "work"
    OPERATE = "operate"


class Purpose(StrEnum):
    """The purpose of a recipe, as the gallery sorts them."""

    BACKUP = "backup"
    FILES = "files"
    HEALTH = "health"
    UPKEEP = "upkeep"
    BUILD = "build"


class Topic(StrEnum):
    """A list of the API that a page reads again once it has changed."""

    ACTIVITY = "activity"
    APPROVALS = "approvals"
    CONSTELLATIONS = "constellations"
    DEVICES = "devices"
    RECIPES = "recipes"
    REFUSALS = "refusals"
    SCENARIOS = "scenarios"
    SCHEDULES = "schedules"
    TASKS = "tasks"
    VITALS = "vitals"


class PrincipalKind(StrEnum):
    """The kind of a token's holder. An assistant asks for work and decides nothing: its words come from a model."""

    PERSON = "person"
    PROGRAM = "program"
    ASSISTANT = "assistant"


class Role(StrEnum):
    OWNER = "owner"
    OPERATOR = "operator"
    APPROVER = "approver"
    VIEWER = "viewer"


ROLE_RANK: Final = {Role.VIEWER: 0, Role.APPROVER: 1, Role.OPERATOR: 2, Role.OWNER: 3}
"""Each role has the rights of those below it."""


class Gate(StrEnum):
    """The condition of a control dependency; `output` and `data` carry more in their dependency."""

    SUCCESS = "success"
    FAILURE = "failure"
    FINISH = "finish"
    UNLESS_FAILED = "unless_failed"
    OUTPUT = "output"
    DATA = "data"


class GateState(StrEnum):
    OPEN = "open"
    SHUT = "shut"
    UNDECIDED = "undecided"


class Op(StrEnum):
    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"
    IN = "in"
    NOT_IN = "not_in"
    CONTAINS = "contains"
    EMPTY = "empty"
    NOT_EMPTY = "not_empty"
    EXISTS = "exists"


class Need(StrEnum):
    """The children that must succeed for a group to succeed; the number of `at_least` is in the group's spec."""

    ALL = "all"
    ANY = "any"
    AT_LEAST = "at_least"
    BEST_EFFORT = "best_effort"


class Approval(StrEnum):
    NEVER = "never"
    RISKY = "risky"
    ALWAYS = "always"


class Reason(StrEnum):
    """The reason why something does not move. Those of a task are stored with it; `why` joins the rest."""

    HELD = "held"
    BACKOFF = "backoff"
    MOMENT = "moment"
    APPROVAL = "approval"
    PERSON = "person"
    MISSING_GRANT = "missing_grant"
    MISSING_SECRET = "missing_secret"
    OWNER_ASKED = "owner_asked"
    REVIEW = "review"
    JUDGE = "judge"
    ABSENT = "absent"
    TAP = "tap"
    OVERDUE = "overdue"
    MOVING = "moving"
    MAY_HAVE_HAPPENED = "may_have_happened"
    PAUSED = "paused"
    NO_CAPABLE_DEVICE = "no_capable_device"
    DEVICE_AWAY = "device_away"
    DEVICE_ASIDE = "device_aside"
    BUSY = "busy"
    QUOTA = "quota"
    NOT_CHOSEN = "not_chosen"
    ENOUGH = "enough"
    HOPELESS = "hopeless"
    UPSTREAM_FAILED = "upstream_failed"
    UPSTREAM_CANCELLED = "upstream_cancelled"
    SKIPPED_BY_PERSON = "skipped_by_person"
    LEFT_OUT = "left_out"
    MARKED = "marked"


EXCUSED_SKIPS = frozenset(
    {
        Reason.NOT_CHOSEN,
        Reason.ENOUGH,
        Reason.SKIPPED_BY_PERSON,
        Reason.LEFT_OUT,
        Reason.DEVICE_AWAY,
        Reason.NO_CAPABLE_DEVICE,
    }
)
"""The reasons of skips that are nobody's failure: what waits for such a task counts it as not chosen."""


class Attention(StrEnum):
    """The reason why a constellation asks for a person, beside its state."""

    QUESTION_OPEN = "question_open"
    TASK_UNKNOWN = "task_unknown"
    NO_CAPABLE_DEVICE = "no_capable_device"
    WAITS_LONG = "waits_long"
    TAKES_LONG = "takes_long"
    RULE_REFUSED = "rule_refused"
    PLANNING_FAILED = "planning_failed"
    REVIEW_WISHES = "review_wishes"
    MISSING_GRANT = "missing_grant"
    MISSING_SECRET = "missing_secret"
    OWNER_ASKED = "owner_asked"
    WAITS_FOR_A_TAP = "waits_for_a_tap"
    UNDO_FAILED = "undo_failed"
    BUDGET = "budget"
    STALLED = "stalled"
    HISTORY_RESTORED = "history_restored"


ARTIFACT_BYTES_MOST: Final = 4 * 1024**3
"""A file that goes through the hub has at most so many, so that one of them does not fill it."""
PERSON_ATTENTION = frozenset(
    {
        Attention.QUESTION_OPEN,
        Attention.TASK_UNKNOWN,
        Attention.NO_CAPABLE_DEVICE,
        Attention.WAITS_LONG,
        Attention.STALLED,
        Attention.PLANNING_FAILED,
        Attention.MISSING_GRANT,
        Attention.MISSING_SECRET,
        Attention.OWNER_ASKED,
        Attention.WAITS_FOR_A_TAP,
        Attention.BUDGET,
        Attention.HISTORY_RESTORED,
    }
)
"""The attention that a person ends: a constellation that has it waits for somebody, whatever else of it runs."""


class ScheduleState(StrEnum):
    """`paused` by a person; `stopped` by the hub, with the reason kept beside it."""

    ACTIVE = "active"
    PAUSED = "paused"
    STOPPED = "stopped"


class Priority(StrEnum):
    """The priority of a constellation: the higher one of the same owner gets a free slot first."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


class Overlap(StrEnum):
    """The behaviour of a firing while the one before is still running."""

    SKIP = "skip"
    QUEUE = "queue"
    CANCEL_PREVIOUS = "cancel_previous"
    ALLOW = "allow"


class CatchUp(StrEnum):
    """The missed firings that are made up for: those that were due while no hub was running."""

    NONE = "none"
    LAST = "last"
    ALL = "all"


class NotifyWhen(StrEnum):
    """The ends of a schedule's firings that notify a person; a change is an answer that differs from the last one."""

    NEVER = "never"
    FAILURE = "failure"
    CHANGE = "change"
    ALWAYS = "always"


NOTICES, NO_NOTICES = "notices", "none"
"""The fact of a device that has nothing to show a notice on, and its value."""
AGENT_STOPPED: Final = "its agent was stopped"
TAB_STOPPED: Final = "the tab was told to leave the hub"
TAKEN_BACK: Final = "its owner took back what it was given"
ENDED_THERE: Final = (AGENT_STOPPED, TAB_STOPPED, TAKEN_BACK)
"""The last words of the detail of an attempt that its device ended because a person there said so."""

_UNSTARTED: Final = ("skip", "hold", "release", "cancel")
_ENDED: Final = ("retry", "retry-from", "mark")

CONTROLS: Final[dict[TaskState, tuple[str, ...]]] = {
    TaskState.WAITING: _UNSTARTED,
    TaskState.READY: _UNSTARTED,
    TaskState.LEASED: ("cancel",),
    TaskState.RUNNING: ("cancel",),
    TaskState.CANCELLING: (),
    TaskState.UNKNOWN: ("retry", "mark"),
    TaskState.SUCCEEDED: ("retry-from", "mark"),
    TaskState.FAILED: ("retry", "retry-from", "skip", "mark"),
    TaskState.CANCELLED: _ENDED,
    TaskState.SKIPPED: _ENDED,
}
