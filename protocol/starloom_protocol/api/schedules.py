"""Answers about schedules and clocks; their moments are in the zone of the schedule."""

from __future__ import annotations

from typing import Any, TypedDict

from starloom_protocol.api.previews import PlanPreview
from starloom_protocol.records.entities import Fault
from starloom_protocol.vocabulary import CatchUp, ConstellationState, Effect, NotifyWhen, Overlap, ScheduleState


class FiringRow(TypedDict):
    """The newest firing that has ended. `alarm`: it succeeded, and its answer tells of trouble."""

    alarm: bool
    constellation: str
    due_at: str
    ended_at: str | None
    state: ConstellationState


class NoticeRow(TypedDict):
    """The notices that the caller has not seen, by the newest, and their number."""

    at: str | None
    constellation: str | None
    count: int
    text: str


class PauseRow(TypedDict):
    """The pause of a schedule: since when, by whom, and why."""

    at: str | None
    by: str
    reason: str


class ConsentRow(TypedDict):
    """The consent of a person to every firing that reaches no further.

    `devices` are those whose files or programs it may reach, `computing` those that only compute on values.
    """

    at: str | None
    by: str
    computing: list[str | None]
    devices: list[str | None]
    effects: list[Effect]
    grants: list[str]
    plan_hash: str


class BoundDeviceRow(TypedDict):
    """A device that the plan of a schedule names: by `name` there, whether it `left`, whether another has the name."""

    name: str
    left: bool
    another: bool


class LeftOutFiring(TypedDict):
    """A moment of a clock on a day without firings, the first of them, and the day or span in words."""

    at: str
    why: str


class ScheduleRow(TypedDict):
    """A schedule with its next five firings."""

    id: str
    name: str
    state: ScheduleState
    cron: str
    zone: str
    in_words: str
    next: list[str]
    except_days: str
    left_out: list[LeftOutFiring]
    """Moments before the last of `next` that its days leave out."""
    overlap: Overlap
    catch_up: CatchUp
    notify: NotifyWhen
    notify_device: str | None
    deadline_s: int
    request: str
    recipe: str | None
    params: Any
    running: list[str]
    asking: list[str]
    """Those of `running` whose plan waits for an approval."""
    waiting: list[str]
    fired: int
    skipped: int
    last: FiringRow | None
    notice: NoticeRow | None
    paused: PauseRow | None
    """Null: it is not paused, or an earlier release paused it."""
    stopped: Fault | None
    approved: ConsentRow | None
    devices: list[BoundDeviceRow]
    unseen_trash: bool | None
    """Whether the files that it finds go into the trash without a question each time; null: it puts none there."""
    author: str
    created_at: str | None


class RemovedSchedule(TypedDict):
    """A schedule that is removed; firings that still run go on."""

    id: str
    name: str
    removed: bool
    running: list[str]


class ClockWords(TypedDict):
    """The next five moments of a clock, those that its days leave out before the last of them, and it in words."""

    next: list[str]
    except_days: str
    left_out: list[LeftOutFiring]
    in_words: str


class ScheduledWork(TypedDict):
    """The work of a schedule: a plan, a recipe or words."""

    kind: str
    name: str
    params: Any
    recipe: str | None
    request: str


class SchedulePreview(ClockWords):
    """The moments of a clock and the plan as it would run now; either may be left out."""

    zone: str
    unseen_trash: bool | None
    """As that of a schedule with this work."""
    runs: ScheduledWork | None
    plan: PlanPreview | None
