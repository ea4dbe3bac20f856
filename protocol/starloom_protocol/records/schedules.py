"""The records of a schedule: its clock and terms, the consent given with it, its last firing, its notice.

Entities of `fleet` (`schedule/ID`, `scheduled_plan/ID`) and their parts; `entities` has the table of all.
"""

from __future__ import annotations

from starloom_protocol.records.record import Fault, Record
from starloom_protocol.vocabulary import (
    CatchUp,
    ConstellationState,
    Effect,
    NotifyWhen,
    Overlap,
    ScheduleState,
)


class Consent(Record, frozen=True, kw_only=True):
    """The consent of a person at the saving of a schedule: a plan by its hash, and its devices, effects and grants.

    A firing asks again if its plan differs, or reaches a device, grant or effect that is not listed here.
    """

    at_ms: int
    by: str
    devices: list[str] = []
    effects: list[Effect] = []
    grants: list[str] = []
    hash: str


class Notice(Record, frozen=True, kw_only=True):
    """A notice of a schedule to a person; `count` is the number of notices it stands for, `text` that of the newest.

    `told`: the schedule's own device was asked to show it.
    """

    at_ms: int
    constellation: str | None = None
    count: int = 1
    text: str
    told: bool = False


class Firing(Record, frozen=True, kw_only=True):
    """The end of the newest firing that has ended; `digest` is that of its answer."""

    constellation: str
    digest: str = ""
    due_ms: int
    ended_ms: int
    state: ConstellationState


class Schedule(Record, frozen=True, kw_only=True):
    """Work on a clock. `due_ms` is its next moment, 0 when it has none; a firing is known by (id, due moment).

    It runs `request` (words), `recipe` with `params`, or the plan kept under `scheduled_plan/ID`.
    `fired` and `skipped` count since its creation; `queued` are due moments that wait for the firing before them.
    `strict`: its firings are judged as it was when it was saved. Earlier releases kept schedules without it.
    """

    author: str
    catch_up: CatchUp = CatchUp.LAST
    consent: Consent | None = None
    created_ms: int
    cron: str
    deadline_s: int = 0
    due_ms: int = 0
    fired: int = 0
    id: str
    last: Firing | None = None
    name: str
    notice: Notice | None = None
    notify: NotifyWhen = NotifyWhen.FAILURE
    notify_device: str | None = None
    overlap: Overlap = Overlap.SKIP
    owner: str
    params: str = "{}"
    queued: list[int] = []
    recipe: str | None = None
    request: str = ""
    running: dict[str, int] = {}
    skipped: int = 0
    state: ScheduleState = ScheduleState.ACTIVE
    stopped: Fault | None = None
    strict: bool = False
    token: str | None = None
    zone: str


class ScheduledPlan(Record, frozen=True, kw_only=True):
    """The plan of a schedule, written once: the JSON text of a lowered plan."""

    plan: str
