"""The report of a run: what its time was spent on, in figures. The shapes that the hub, the CLI and the page share.

Owns the phases of a task's time and their words. Makes no figure: `core/answer` does. All times are in milliseconds;
a moment is counted from the beginning of the run, so that a report reads the same whenever the run was made.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from starloom_protocol.records.entities import TaskRecord
from starloom_protocol.vocabulary import ConstellationState, Reason, TaskState


class Phase(StrEnum):
    """The use of a part of the time: on a device, waiting, or a job of a model.

    A task that waits for other tasks is in no phase.
    """

    STARTING = "starting"
    WORKING = "working"
    STOPPING = "stopping"
    QUEUE = "queue"
    APPROVAL = "approval"
    PERSON = "person"
    HELD = "held"
    PAUSED = "paused"
    RETRY = "retry"
    MOMENT = "moment"
    REVIEW = "review"
    JUDGE = "judge"
    GRANT = "grant"
    SECRET = "secret"
    OWNER = "owner"
    AWAY = "away"
    UNKNOWN = "unknown"
    MODEL = "model"


WAITS: Final[dict[Phase, str]] = {
    Phase.QUEUE: "for a free device",
    Phase.APPROVAL: "for an approval",
    Phase.PERSON: "for an answer of a person",
    Phase.HELD: "while held by a person",
    Phase.PAUSED: "while paused by a person",
    Phase.RETRY: "before the next attempt",
    Phase.MOMENT: "for its time",
    Phase.REVIEW: "for a review of the plan",
    Phase.JUDGE: "for the verdict of a judge",
    Phase.GRANT: "for a grant on a device",
    Phase.SECRET: "for a secret",
    Phase.OWNER: "for the owner of a device",
    Phase.AWAY: "for a device that did not answer",
    Phase.UNKNOWN: "until it was known whether it had happened",
}
"""The phases in which a task waits, with words that follow "waited" or "waits"."""

FOR_A_PERSON: Final = frozenset(
    {Phase.APPROVAL, Phase.PERSON, Phase.HELD, Phase.PAUSED, Phase.GRANT, Phase.SECRET, Phase.OWNER, Phase.UNKNOWN}
)
"""The waits that a person ends."""

ON_A_DEVICE: Final = frozenset({Phase.STARTING, Phase.WORKING, Phase.STOPPING})

OF_REASON: Final[dict[Reason, Phase]] = {
    Reason.APPROVAL: Phase.APPROVAL,
    Reason.PERSON: Phase.PERSON,
    Reason.HELD: Phase.HELD,
    Reason.PAUSED: Phase.PAUSED,
    Reason.BACKOFF: Phase.RETRY,
    Reason.MOMENT: Phase.MOMENT,
    Reason.REVIEW: Phase.REVIEW,
    Reason.JUDGE: Phase.JUDGE,
    Reason.MISSING_GRANT: Phase.GRANT,
    Reason.MISSING_SECRET: Phase.SECRET,
    Reason.OWNER_ASKED: Phase.OWNER,
}
"""The phase of a ready task by its own reason."""
OF_RUN: Final[dict[ConstellationState, Phase]] = {
    ConstellationState.AWAITING_APPROVAL: Phase.APPROVAL,
    ConstellationState.PAUSED: Phase.PAUSED,
}
"""The phase of a ready task without a reason of its own, by the state of its run; also the phase of that run."""
OF_STATE: Final[dict[TaskState, Phase]] = {
    TaskState.LEASED: Phase.STARTING,
    TaskState.RUNNING: Phase.WORKING,
    TaskState.CANCELLING: Phase.STOPPING,
    TaskState.UNKNOWN: Phase.UNKNOWN,
}
"""The phase of a task that is not ready, by its state."""


def phase_of(record: TaskRecord, run: ConstellationState) -> Phase | None:
    """Return the phase of a task in this state, in a constellation in that state; None if it counts for none."""
    if record.state is TaskState.READY:
        return OF_REASON.get(record.reason, Phase.QUEUE) if record.reason else OF_RUN.get(run, Phase.QUEUE)
    if record.absent_since_ms and record.state in (TaskState.LEASED, TaskState.RUNNING):
        return Phase.AWAY
    if record.state is TaskState.RUNNING and record.reason is Reason.TAP:
        return Phase.PERSON
    return OF_STATE.get(record.state)


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """The waiting for one cause: of how many tasks, added up, and the time in which at least one of them waited."""

    cause: Phase
    tasks: int
    total_ms: int
    wall_ms: int


class PathStep(msgspec.Struct, frozen=True, kw_only=True):
    """A task of the critical path: when it could begin, when it ended, its time on devices, its waits by cause."""

    device: str
    ended_ms: int
    released_ms: int
    task: str
    time_ms: int
    waits: dict[str, int]


class ModelUse(msgspec.Struct, frozen=True, kw_only=True):
    """The use of a model: calls, tokens, millionths of a dollar, and the time of its jobs added up.

    `spared`: calls of the planner that were not needed, one for each task that succeeded by another call.
    `turns`: the turns of goals by tier, where there are several; `escalations`: how often the next tier went on.
    """

    calls: int = 0
    escalations: int = 0
    micros: int = 0
    spared: int = 0
    time_ms: int = 0
    tokens: int = 0
    turns: dict[str, int] = {}


class Recoveries(msgspec.Struct, frozen=True, kw_only=True):
    """How failures were mended, by the rung of the ladder: on the same device, on another one, by a second attempt
    beside the first, by another call that is as good, by a look at what had happened, by an edit of the plan's author
    or its rules, by a person."""

    retried: int = 0
    moved: int = 0
    hedged: int = 0
    rerouted: int = 0
    verified: int = 0
    edited: int = 0
    person: int = 0


class Tick(msgspec.Struct, frozen=True, kw_only=True):
    """A moment of the run: a version of the plan, a fault made on purpose, an attempt that was lost."""

    at_ms: int
    kind: str
    text: str


class Spans(msgspec.Struct, frozen=True, kw_only=True):
    """The phases of all tasks in columns, in the order in which they began. `to_ms` of one that goes on is -1.

    `task` and `device` are places in the lists `tasks` and `devices`; -1 stands for the whole run, and for no device.
    `hedge` is 1 for an attempt beside an earlier one.
    """

    attempt: list[int]
    device: list[int]
    devices: list[str]
    from_ms: list[int]
    hedge: list[int]
    phase: list[Phase]
    task: list[int]
    tasks: list[str]
    to_ms: list[int]


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """The report of a constellation as of `seq`."""

    attempts: int
    busy_ms: int
    """The time in which at least one task was on a device."""
    checks_passed: int
    constellation: str
    created_at: str
    device_names: dict[str, str]
    """The names of the devices that the report names by their ids."""
    devices: int
    ended: bool
    for_person_ms: int
    """The time in which at least one task waited for something that a person ends."""
    gain: float
    """1 - makespan / one at a time."""
    hedge_ms: int
    makespan_ms: int
    """From the request to the end, or until now."""
    model: ModelUse
    name: str
    one_at_a_time_ms: int
    """Work, and the time in which nothing was on a device: people and planning take it in any order."""
    parallelism: float
    """Work / path, the `parallelism_ratio` of UFO."""
    path: list[PathStep]
    """The critical path, each task the last of those that the next one needed: why the run took so long."""
    path_ms: int
    """The time on devices of the longest chain of tasks that followed each other: `critical_path_length` of UFO."""
    planning_ms: int
    """Until the first version of the plan."""
    recoveries: Recoveries
    repeated_ms: int
    """The part of the work whose attempts gave no result."""
    result_bytes: int
    seq: int
    spans: Spans | None = None
    """Only if they were asked for."""
    starting_ms: int
    """The part of the work between the choice of a device and the begin there, in which inputs are sent."""
    state: ConstellationState
    tasks: int
    """Those that were on a device at least once."""
    ticks: list[Tick]
    versions: int
    waits: list[Wait]
    width_mean: float
    """Tasks on devices at once, on average over the busy time (work / busy)."""
    width_most: int
    """Tasks on devices at once, at most."""
    work_ms: int
    """The time of all tasks on devices, added up, with every attempt."""


class TrendRun(msgspec.Struct, frozen=True, kw_only=True):
    """One ended run, in figures of its report."""

    attempts: int
    checks_passed: int
    constellation: str
    created_at: str
    makespan_ms: int
    micros: int
    """Millionths of a dollar for the model."""
    mended: int
    """Failures that were tried again, moved to another device, or gone round."""
    state: ConstellationState
    tasks: int
    wait: Phase | None
    """The cause for which it waited longest; None where it did not wait."""
    wait_ms: int
    width_mean: float
    work_ms: int


class RecipeTrend(msgspec.Struct, frozen=True, kw_only=True):
    """The last runs of a recipe, the newest first. `more`: there are earlier ones that are not looked at."""

    more: bool
    recipe: str
    runs: list[TrendRun]
    sentence: str


class ScheduleTrend(msgspec.Struct, frozen=True, kw_only=True):
    """The last runs of a schedule, the newest first. `more`: there are earlier ones that are not looked at."""

    more: bool
    runs: list[TrendRun]
    schedule: str
    """Its name."""
    sentence: str
