"""The records of what is kept to be run again: schedules with their consent and last firing, and recipes with theirs.

Entities of `fleet` (`schedule/ID`, `schedule_course/ID`, `scheduled_plan/ID`, `recipe/NAME/N`) and their parts, and the
runs and proposals of recipes; `entities` has the table of all.
"""

from __future__ import annotations

from msgspec.structs import replace

from starloom_protocol.records.record import Fault, Record
from starloom_protocol.vocabulary import (
    CatchUp,
    Code,
    ConstellationState,
    Effect,
    NotifyWhen,
    Overlap,
    ScheduleState,
    Sharing,
)


class Consent(Record, frozen=True, kw_only=True):
    """The consent of a person at the saving of a schedule: a plan by its hash, and its devices, effects and grants.

    A firing asks again if its plan differs, or reaches a device, grant or effect that is not listed here.
    """

    at_ms: int
    by: str
    computing: list[str] = []
    """Those of `devices` that only compute on values: no tool of theirs has an effect. Told apart, bound alike."""
    devices: list[str] = []
    effects: list[Effect] = []
    grants: list[str] = []
    hash: str


class Unseen(Record, frozen=True, kw_only=True):
    """The cause of a firing that failed only because nobody could see its notice: the device and its fault."""

    code: Code
    device: str
    since_ms: int
    """When the first of the notices that were not seen since ended so."""


class Notice(Record, frozen=True, kw_only=True):
    """A notice of a schedule to people; `count` is the number of notices it stands for, `text` that of the newest.

    `seen`: the people who have seen it, by id, each with the `count` of that moment. `told`: the schedule's own device
    was asked to show it. `unseen`: nothing failed but the notices of its firing.
    """

    at_ms: int
    constellation: str | None = None
    count: int = 1
    seen: dict[str, int] = {}
    text: str
    told: bool = False
    unseen: Unseen | None = None

    def news_for(self, person: str) -> int:
        """Return the number of its notices that a person has not seen."""
        return self.count - self.seen.get(person, 0)


class Firing(Record, frozen=True, kw_only=True):
    """The end of the newest firing that has ended; `digest` is that of its answer.

    `alarm`: trouble was found, and no look has found it well since. `blind`: the newest firing could not see whether it
    is well. `looked`: what has to look again before the alarm ends, as GROUP/DEVICE.
    """

    alarm: bool = False
    blind: bool = False
    constellation: str
    digest: str = ""
    due_ms: int
    ended_ms: int
    looked: list[str] = []
    seen_ms: int = 0
    """The end of the newest firing that saw all; 0: none did."""
    state: ConstellationState


class Pause(Record, frozen=True, kw_only=True):
    """The pause of a schedule: since when, by whom (the hub does it after a restored backup), and the reason given."""

    at_ms: int
    by: str
    reason: str = ""


class Blocked(Record, frozen=True, kw_only=True):
    """The firing for which a later moment could not start; `told`: a notice has told of it, once."""

    constellation: str
    told: bool = False


class Schedule(Record, frozen=True, kw_only=True):
    """Work on a clock; a firing is known by (id, due moment).

    It runs `request`, `recipe` with `params`, or the plan kept under `scheduled_plan/ID`.
    """

    author: str
    """The author of its firings: the one who saved it, or last changed more than its name."""
    blocked: Blocked | None = None
    """The last firing that held up a later moment; null: none did, or an earlier release kept none."""
    catch_up: CatchUp = CatchUp.LAST
    """Which moments that were missed while no hub ran it makes up for."""
    consent: Consent | None = None
    """The approval of what its firings may do; null: none was needed when it was saved."""
    created_ms: int
    cron: str
    """Five fields, or a word such as `@daily`; read in `zone`."""
    deadline_s: int = 0
    """A firing that takes longer is cancelled; 0: no bound."""
    devices: dict[str, str] = {}
    """The ids of the devices that its plan names, by the name there: another device of such a name is asked about."""
    due_ms: int = 0
    """Its next moment; 0: it has none, since it is paused or stopped."""
    except_days: list[str] = []
    """Days and spans of days of `zone` on which it does not fire: `12-25` in each year, `2026-12-24/2027-01-02`."""
    fired: int = 0
    """The number of its firings since its creation."""
    id: str
    last: Firing | None = None
    """The newest firing that has ended."""
    name: str
    notice: Notice | None = None
    """The newest news, and who has seen it; null: there was none since it was made or resumed."""
    notify: NotifyWhen = NotifyWhen.FAILURE
    """The ends of firings of which it gives a notice."""
    notify_device: str | None = None
    """The device that shows its notices, too; null: none does."""
    overlap: Overlap = Overlap.SKIP
    """The rule for a moment that comes while a firing goes on."""
    owner: str
    """The id of the principal by whose rights it runs."""
    params: str = "{}"
    """The values of `recipe`, as canonical text."""
    paused: Pause | None = None
    """Who paused it; null: it is not paused, or an earlier release paused it."""
    queued: list[int] = []
    """Due moments that wait for the firing before them."""
    recipe: str | None = None
    """The name of the recipe that it runs; null: words, or a plan."""
    request: str = ""
    """The words that it runs; empty: a recipe, or a plan."""
    running: dict[str, int] = {}
    """The constellations of its firings that go on, each with its due moment."""
    sharing: Sharing | None = None
    """The narrower bound, on the part of results that a model is shown, of the request that it repeats."""
    skipped: int = 0
    """The number of moments since its creation that were missed, left out or refused."""
    state: ScheduleState = ScheduleState.ACTIVE
    stopped: Fault | None = None
    """Why the hub stopped it."""
    strict: bool = False
    """Its firings are judged as it was when it was saved; earlier releases kept schedules without it."""
    token: str | None = None
    """The id of the token with which it was saved, and with which it ends; null: that of a session."""
    unseen_trash: bool | None = None
    """Whether found files go into the trash without a question; null: it finds none, or an earlier release saved it."""
    zone: str


class ScheduleCourse(Record, frozen=True, kw_only=True):
    """The fields of a schedule that each firing changes, which hold instead of those of `schedule/ID`.

    A firing leaves its events in the log for good, so they do not repeat the terms of the schedule.
    """

    blocked: Blocked | None = None
    due_ms: int = 0
    fired: int = 0
    last: Firing | None = None
    queued: list[int] = []
    running: dict[str, int] = {}
    skipped: int = 0


def course_of(schedule: Schedule) -> ScheduleCourse:
    """Return the course of a schedule."""
    return ScheduleCourse(**{name: getattr(schedule, name) for name in ScheduleCourse.__struct_fields__})


def with_course(schedule: Schedule, course: ScheduleCourse | None) -> Schedule:
    """Return a schedule with its course, or as it is without one."""
    if course is None:
        return schedule
    return replace(schedule, **{name: getattr(course, name) for name in ScheduleCourse.__struct_fields__})


class ScheduledPlan(Record, frozen=True, kw_only=True):
    """The plan of a schedule, written once: the JSON text of a lowered plan."""

    plan: str


class RecipeVersion(Record, frozen=True, kw_only=True):
    """One version of a saved recipe, never changed; `text` is as it was written, by an author who approves or may not.

    Where the hub went back to an earlier text, `back_from` is the version whose runs failed, and `because` says why.
    """

    approves: bool = True
    at_ms: int
    author: str
    back_from: int = 0
    because: str = ""
    name: str
    number: int
    text: str
    title: str


class VersionRuns(Record, frozen=True, kw_only=True):
    """The runs of one version of a saved recipe; `ends` has the newest last: c for a clean one, f for a failed one."""

    clean: int = 0
    clean_id: str = ""
    clean_ms: int = 0
    ends: str = ""
    failed: int = 0
    failed_id: str = ""
    failed_ms: int = 0
    number: int


class RecipeRuns(Record, frozen=True, kw_only=True):
    """The runs of a saved recipe by version, oldest version first.

    `trial`: it was kept from a proposal, and words alone do not start it yet; `in_a_row` are its clean runs since the
    last failed one. `source` is the constellation of that proposal. `told` is the version by which the hub went back,
    0 where it did not since the last save, and `seen` are the people who have read of it, as authors.
    """

    in_a_row: int = 0
    name: str
    seen: list[str] = []
    source: str = ""
    told: int = 0
    trial: bool = False
    versions: list[VersionRuns] = []


class PlannerAnswer(Record, frozen=True, kw_only=True):
    answer: str
    question: str


class RecipeProposal(Record, frozen=True, kw_only=True):
    """A plan of `owner` that ended clean and may be kept as a recipe, or the mark that it was proposed once.

    `plan` is the JSON text of the lowered plan, `request` its words, `answers` those of its person. `shape` is the hash
    of the plan with its slots open. `state`: open, kept, dismissed, passed (newer ones took its place), or left: code
    cannot make it again, `because` says why. Only an open one has a plan, only an open or a left one has words.
    """

    answers: list[PlannerAnswer] = []
    at_ms: int
    because: str = ""
    constellation: str
    id: str
    owner: str
    plan: str = ""
    recipe: str = ""
    request: str = ""
    shape: str
    state: str = "open"
