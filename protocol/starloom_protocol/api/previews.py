"""Answers about what has not run yet: previews of plans, expected times of plans and of the rest of a run, matches with
recipes; and a new constellation.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from starloom_protocol.api.constellations import AnswerShape
from starloom_protocol.api.models import ModelFaultRow
from starloom_protocol.vocabulary import Attention, ConstellationState, Effect, Repeatability, Sharing


class Estimate(TypedDict):
    """The time that a plan should take in milliseconds; four of five runs should end between `low` and `high`."""

    expected_ms: int
    low_ms: int
    high_ms: int


class Course(Estimate):
    """An estimate with its chance to end within the time that was asked for; null if none was.

    `left_out` are tasks whose tools ran too seldom for a figure: their time is not in it, and there is no chance.
    """

    chance: float | None
    plays: int
    left_out: NotRequired[list[str]]


class WhatIf(TypedDict):
    """A plan on the fleet of now and on a changed one; null where there is no estimate, and `said` says why."""

    name: str
    plan_hash: str
    change: str
    within_ms: int | None
    now: Course | None
    then: Course | None
    said: str


class BudgetChance(TypedDict):
    """The chance to stay inside the budget of the model that most probably ends first; null: it is not known yet.

    `of` is the goal with that budget, empty for the whole; `budget` names it in words. `runs`: so many runs before are
    known. `said` is all of it in a sentence.
    """

    of: str
    budget: str
    chance: float | None
    runs: int
    said: str


class ExpectedTask(TypedDict):
    """When an open task began or should begin, when it should end, and the id of its expected device."""

    task: str
    device: str
    begin_ms: int
    end_ms: int


class RunCourse(TypedDict):
    """The rest of a run; four of five runs should end between `low_ms` and `high_ms`, which are moments.

    They and the `chance` to end by the deadline are null where too many tasks are open for more than one play. `tasks`
    is the play in which each call takes its expected time, the first to begin first; `more` of them are not listed.
    `left_out` are tasks whose tools ran too seldom for a figure: their time is not in it, and there is no chance.
    """

    end_ms: int
    low_ms: int | None
    high_ms: int | None
    chance: float | None
    plays: int
    tasks: list[ExpectedTask]
    more: int
    left_out: NotRequired[list[str]]


class RunWhatIf(TypedDict):
    """The rest of a run after event `seq`, at the hub's time `at_ms`, now and after a change.

    `by_ms` is the moment of the chance. `now` and `then` are null where there is no forecast, and `said` says
    why; without a `change` there is no `then`. `budget` is absent where nothing bounds the cost of the model. An
    answer within `stands_ms` is the same.
    """

    id: str
    seq: int
    at_ms: int
    change: str
    by_ms: int | None
    now: RunCourse | None
    then: RunCourse | None
    said: str
    stands_ms: int
    budget: NotRequired[BudgetChance]


class GrantLine(TypedDict):
    """A grant that the owner of a device would have to give, with the line to type there."""

    device: str
    grant: str
    line: str
    task: str


class Alternative(TypedDict):
    """A device that was looked at for a task."""

    device: str
    fits: bool
    why: str


Take = TypedDict("Take", {"from": str, "output": str})
"""An output of another task that a task takes."""


class TaskPreviewRow(TypedDict):
    """A task of a preview; `device` is null where none fits. For a goal `why` is its envelope in words."""

    id: str
    tool: str | None
    person: str | None
    judged: bool
    """Whether a judge answers the question of `person` first."""
    each: str | None
    device: str | None
    devices: list[str]
    why: str
    alternatives: list[Alternative]
    effects: list[Effect]
    repeatability: Repeatability | None
    grant: str | None
    optional: bool
    after: list[str]
    takes: list[Take]
    missing: list[GrantLine]
    secrets: list[str]
    goal: str | None


ResultRow = TypedDict("ResultRow", {"title": str, "from": str, "show": str})
"""A part of the answer that a plan will give."""


class RuleRow(TypedDict):
    """A rule of a plan; `calls` are the calls of tasks that it may add or change, as `tell: notify`."""

    name: str
    task: str | None
    reason: str
    calls: list[str]


class SecretNeed(TypedDict):
    """A secret that a plan names, and the devices that would be given it; `line` sets one that is missing."""

    name: str
    set: bool
    version: int | None
    tasks: list[str]
    devices: list[str]
    line: str | None


class PreviewFault(TypedDict):
    """A task that cannot work as it is written, why, and what to type or write in its place."""

    task: str
    reason: str
    way_out: str


class PlanPreview(TypedDict):
    """A plan as it would run now; `faults` are among the `warnings`.

    `may_not`: why it should not start, with the way out; faults that only a grant mends are left out.
    `estimate` is null where too little is known; `estimate_said` tells why, or which tasks are not in it.
    """

    name: str
    recipe: str | None
    params: Any
    plan_hash: str
    tasks: list[TaskPreviewRow]
    missing_grants: list[GrantLine]
    held: list[str]
    """The tasks that are held, or refused, until somebody has given a grant or a secret; optional ones are none."""
    secrets: list[SecretNeed]
    effects: list[Effect]
    asks_approval: bool
    results: list[ResultRow]
    rules: list[RuleRow]
    cost: None
    estimate: Estimate | None
    estimate_said: NotRequired[str]
    budget: NotRequired[BudgetChance]
    warnings: list[str]
    may_not: NotRequired[str]
    faults: NotRequired[list[PreviewFault]]


class MissingParam(TypedDict):
    """A parameter of a recipe that words did not give."""

    name: str
    type: str
    title: str
    reason: str
    choices: list[str]


class TrialRow(TypedDict):
    """A recipe that words alone do not start yet: its clean runs in a row, those `needed`, the time of the newest."""

    clean: int
    needed: int
    last_at: str | None


class RecipeCandidate(TypedDict):
    """A recipe that words may mean; `score` is thousandths. `trial` is null for one that is trusted.

    `unused` are the words that it has no place for.
    """

    recipe: str
    title: str
    score: int
    params: dict[str, Any]
    missing: list[MissingParam]
    trial: TrialRow | None
    unused: NotRequired[list[str]]


class RhythmRow(TypedDict):
    """How often words say that they run: the clock of a schedule, also in words, and the words without it.

    `except_days` are the dates that the words leave out, empty where they leave out none.
    """

    cron: str
    except_days: str
    in_words: str
    request: str


class PlaceRow(TypedDict):
    """A page that answers words; its path is below the address of the hub."""

    title: str
    path: str


class Understood(TypedDict):
    """The match of words with recipes; without an exact one, the sentence that says so.

    `rhythm` is how often the words say: a request runs once, so they are offered as a schedule.
    """

    outcome: str
    candidates: list[RecipeCandidate]
    rhythm: NotRequired[RhythmRow]
    said: NotRequired[str]
    title: NotRequired[str]
    hint: NotRequired[str]
    """The ways out, a plan by hand among them."""
    gap: NotRequired[str]
    """Why no recipe carries them out, with requests between asterisks that help."""
    places: NotRequired[list[PlaceRow]]
    """The pages that answer them, where they ask about Starloom itself."""
    examples: NotRequired[list[str]]
    by_model: NotRequired[bool]
    model_fault: NotRequired[ModelFaultRow]
    """The reason for which the model that is set cannot be asked."""
    share: NotRequired[Sharing]
    """The most that this hub lets its model be shown of results, where the model can plan these words."""


class RequestPreview(TypedDict):
    """The plan that a request would run now; words without an exact match have no plan.

    `may_not`: why it should not start, or whoever asks may not start it, with the way out.
    """

    plan_hash: str | None
    tasks: list[TaskPreviewRow]
    may_not: NotRequired[str]
    name: NotRequired[str]
    recipe: NotRequired[str | None]
    params: NotRequired[Any]
    missing_grants: NotRequired[list[GrantLine]]
    held: NotRequired[list[str]]
    secrets: NotRequired[list[SecretNeed]]
    effects: NotRequired[list[Effect]]
    asks_approval: NotRequired[bool]
    results: NotRequired[list[ResultRow]]
    rules: NotRequired[list[RuleRow]]
    cost: NotRequired[None]
    estimate: NotRequired[Estimate | None]
    estimate_said: NotRequired[str]
    budget: NotRequired[BudgetChance]
    warnings: NotRequired[list[str]]
    faults: NotRequired[list[PreviewFault]]
    understood: NotRequired[Understood]


class BriefText(TypedDict):
    """A request as a text for an assistant, and the parts that did not fit."""

    text: str
    bytes: int
    left_out: list[str]


class PastedPlan(PlanPreview):
    """The plan that was found in an assistant's answer, with its preview."""

    plan: str


class Created(TypedDict):
    """A new constellation; the answer is there where the caller waited for it and it came.

    Where it did not come, `attention` and `running` (tasks on devices now) tell whether a person has to move it.
    """

    id: str
    state: ConstellationState
    version: int
    answer: NotRequired[AnswerShape]
    attention: NotRequired[list[Attention]]
    running: NotRequired[int]


class Forked(TypedDict):
    """A fork; only its id where the same request has made it before. Of a preview the plan, and an empty id."""

    id: str
    preview: NotRequired[PlanPreview]
    state: NotRequired[str]
    version: NotRequired[int]
