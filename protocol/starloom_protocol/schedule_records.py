"""What a schedule is made of: its clock and its terms, what was approved with it, how it went, what it has to tell.

Entities of `fleet` (`schedule/ID`, `scheduled_plan/ID`) and their parts; `entities` has the table of all.
"""

from __future__ import annotations

from starloom_protocol.record import Fault, Record
from starloom_protocol.vocabulary import (
    CatchUp,
    ConstellationState,
    Effect,
    NotifyWhen,
    Overlap,
    ScheduleState,
)


class Consent(Record, frozen=True, kw_only=True):
    """What a person approved when a schedule was saved: a plan by its hash, and how far it may reach.

    A firing whose plan differs, or reaches a device, grant or effect that is not here, asks again.
    """

    at_ms: int
    by: str
    devices: list[str] = []
    effects: list[Effect] = []
    grants: list[str] = []
    hash: str


class Notice(Record, frozen=True, kw_only=True):
    """What a schedule has to tell a person; `count` says how many it stands for, `text` is of the newest.

    `told` says that the schedule's own device was asked to show it.
    """

    at_ms: int
    constellation: str | None = None
    count: int = 1
    text: str
    told: bool = False


class Firing(Record, frozen=True, kw_only=True):
    """How the newest firing that ended has ended; `digest` is of its answer."""

    constellation: str
    digest: str = ""
    due_ms: int
    ended_ms: int
    state: ConstellationState


class Schedule(Record, frozen=True, kw_only=True):
    """Work on a clock. `due_ms` is its next moment, 0 when it has none; a firing is known by (id, due moment).

    What it runs is `request` (words), `recipe` with `params`, or the plan kept under `scheduled_plan/ID`.
    `fired` and `skipped` count since it was made; `queued` are due moments that wait for the firing before them.
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
    token: str | None = None
    zone: str


class ScheduledPlan(Record, frozen=True, kw_only=True):
    """The plan of a schedule, written once: the JSON text of a lowered plan."""

    plan: str
