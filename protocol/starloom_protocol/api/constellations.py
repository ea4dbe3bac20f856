"""Answers about constellations: rows, snapshots, answers, versions, controls, stops, and why a task does not move."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict, final

from starloom_protocol.api.approvals import QuestionRow
from starloom_protocol.api.fleet import PageAddress
from starloom_protocol.records.entities import Fault, Origin, Policy, TaskSpec
from starloom_protocol.text.presentation import Glyph, Tone
from starloom_protocol.vocabulary import (
    AttemptEnd,
    Attention,
    Code,
    ConstellationState,
    EffectSeen,
    Gate,
    Reason,
)


class ConstellationRow(TypedDict):
    """A line of the list of constellations."""

    id: str
    name: str
    request: str
    recipe: str | None
    schedule: str | None
    state: ConstellationState
    undone_from: ConstellationState | None
    """Its final state before work of it was undone."""
    version: int
    attention: list[Attention]
    labels: dict[str, str]
    author: str
    created_at: str | None
    ended_at: str | None
    sentence: str
    alarm: bool
    """It succeeded, and its answer tells of trouble."""
    waited_ms: int
    """Of an ended one, the time in which a question to a person was open."""
    running: int
    """Its tasks that are at work on a device: not those on one that does not answer, or that wait for a tap."""


class AttemptRow(TypedDict):
    """One attempt of a task."""

    number: int
    round: int
    device: str
    device_name: str | None
    others: list[str]
    why: str
    end: AttemptEnd | None
    effect: EffectSeen | None
    code: Code | None
    detail: str
    value: Any
    artifact: str | None
    bytes: int
    tail: str
    leased_at: str | None
    started_at: str | None
    ended_at: str | None
    incarnation: int
    origin: str | None
    origin_at: str | None
    origin_task: str


class TaskRow(TypedDict):
    """A task with its spec, its state and how that is shown.

    The state is a `TaskState`, or the `GroupState` of a group; a group has the `count` of its items.
    """

    id: str
    kind: Literal["group", "question", "task"]
    tool: str | None
    group: str | None
    family: str | None
    key: str | None
    state: str | None
    reason: Reason | None
    word: str
    glyph: Glyph | None
    tone: Tone | None
    round: int
    attempt: int
    device: str | None
    device_name: str | None
    code: Code | None
    cause: str | None
    checked: bool
    since: str | None
    attempts: list[AttemptRow]
    reused_from: str | None
    spec: TaskSpec
    count: NotRequired[int]


class WaitingRow(TypedDict):
    """A task that waits, and its reason."""

    task: str
    state: str | None
    reason: Reason | None
    word: str


class ConditionRow(TypedDict):
    """The condition of a dependency on a value of its source."""

    output: str
    op: str
    value: Any


DependencyRow = TypedDict(
    "DependencyRow",
    {
        "id": str,
        "from": str,
        "to": str,
        "when": Gate,
        "input": str | None,
        "optional": bool,
        "changed_in": int,
        "condition": NotRequired[ConditionRow],
    },
)
"""A dependency between two tasks."""


class AnswerSource(TypedDict):
    """The attempt that gave a part of an answer."""

    task: str
    attempt: int
    device: str | None
    device_name: str | None


AnswerPart = TypedDict(
    "AnswerPart",
    {
        "title": str,
        "show": str,
        "value": Any,
        "artifact": str | None,
        "bytes": int,
        "media": str | None,
        "pointer": str,
        "lacks": str,
        "checked": bool,
        "from": AnswerSource,
    },
)
"""A part of an answer, and the attempt that gave it; without a value `lacks` names tasks before it without a result."""


class CiteRow(TypedDict):
    """The evidence of an answer in words: a task's value, or the part of it at `pointer`."""

    task: str
    pointer: str


class VerdictRow(TypedDict):
    """The verdict of a judge on the whole answer: `holds` is yes, no or unclear; `by` says who gave it."""

    holds: str
    because: str
    by: str
    cites: list[CiteRow]


class AnswerShape(TypedDict):
    """The answer of a constellation; one without an answer yet has the state `none`.

    `words` are a model's, with `[1]` for the first of `cites`; `struck` are its sentences without evidence.
    """

    state: str
    sentence: str
    items: list[AnswerPart]
    words: NotRequired[str]
    cites: NotRequired[list[CiteRow]]
    struck: NotRequired[list[str]]
    verdict: NotRequired[VerdictRow]


class Metrics(TypedDict):
    """Counts of tasks, and wall time beside the time of all attempts together; a retry or an undo begins it again."""

    tasks: int
    final: int
    states: dict[str, int]
    attempts: int
    task_ms: int
    wall_ms: int | None
    held: int


class Snapshot(ConstellationRow):
    """A whole constellation at one event of its log."""

    seq: int
    origin: Origin | None
    params: Any
    policy: Policy
    plan_hash: str | None
    fault: Fault | None
    answer: AnswerShape
    tasks: list[TaskRow]
    dependencies: list[DependencyRow]
    waiting: list[WaitingRow]
    questions: list[QuestionRow]
    metrics: Metrics


class Result(AnswerShape):
    """The answer alone, with the state of its constellation."""

    id: str
    constellation_state: ConstellationState
    fault: Fault | None


class VersionRow(TypedDict):
    """A version of a plan: its author, trigger, reason and changes."""

    number: int
    author: str
    trigger: str
    reason: str
    at: str | None
    added: list[str]
    changed: list[str]
    removed: list[str]
    operations: Any


class PlanItem(TypedDict):
    """A task, dependency or rule that only one of two plans has."""

    kind: str
    id: str
    value: dict[str, Any]


class PlanChange(TypedDict):
    """A task, dependency or rule that two plans have differently: the fields that differ."""

    kind: str
    id: str
    before: dict[str, Any]
    after: dict[str, Any]


class Difference(TypedDict):
    """The difference of two plans."""

    added: list[PlanItem]
    removed: list[PlanItem]
    changed: list[PlanChange]


Comparison = TypedDict(
    "Comparison",
    {
        "from": int,
        "to": int,
        "versions": list[VersionRow],
        "added": list[PlanItem],
        "removed": list[PlanItem],
        "changed": list[PlanChange],
    },
)
"""The difference of two versions of a plan, and the versions between them."""


class CandidateRow(TypedDict):
    """A device that was considered for a task; `reason` is in words, `code` is null where it fits."""

    device: str
    name: str
    fits: bool
    code: Reason | None
    reason: str


class AskedRow(TypedDict):
    """An open question to a person, beside the explanation of what waits for it."""

    id: str
    """`CONSTELLATION:QUESTION`, as `starloom approve` takes it."""
    task: str | None
    """The task or group that waits for the answer; null: the whole constellation does."""
    by: str
    """Who asks, as the subject of a sentence."""
    text: str
    values: list[str]
    """The values that answer it."""
    words: bool
    """Whether words of a person's own answer it as well."""
    only: list[str]
    """The people whose answer alone counts; empty: everybody who may approve answers it."""
    yours: bool
    """Whether the caller may answer it; else only those of `only` do, or somebody who may approve."""


@final
class WhyRow(TypedDict):
    """The explanation of a task, or of the whole constellation where `task` is null, which has no field of a task."""

    task: str | None
    state: str
    sentence: str
    candidates: list[CandidateRow]
    fix: str | None
    """The first of `actions`."""
    reason: NotRequired[Reason | None]
    word: NotRequired[str]
    waits_for: NotRequired[list[str]]
    actions: NotRequired[list[str]]
    """Controls or command lines, the most useful first."""
    line: NotRequired[str]
    """The command line that gives the grant or the secret that it lacks; empty where it lacks none."""
    possible: NotRequired[list[str]]
    """The controls that the task allows now."""
    warning: NotRequired[str]
    """The consequence of moving the task to another device."""
    confirm: NotRequired[list[str]]
    """The tasks that a retry has to confirm."""
    doubted: NotRequired[list[str]]
    """Of a group, the calls that may have happened: a mark of the group ends them all."""
    brought_by: NotRequired[list[str]]
    """Of a failed task, those that brought its files from a device: retry-from of these reads them again."""
    asleep: NotRequired[list[str]]
    """The browser tabs for which the task waits, by name."""
    open: NotRequired[PageAddress | None]
    """The page that wakes them."""
    questions: NotRequired[list[AskedRow]]
    """The open questions whose answer it waits for."""
    alike: NotRequired[int]
    """The tasks that are left out of the list and wait as this one does."""


class AttentionRow(TypedDict):
    """A reason for which a constellation needs a person, as a sentence."""

    reason: Attention
    sentence: str


@final
class WhyAll(TypedDict):
    """The explanations of a constellation; `more` counts the tasks of which no item tells.

    `sentence` says how far the whole is; empty where an item explains the whole. `waits` says for whom, for which
    device and until when it waits; empty where nothing of it waits for that.
    """

    state: ConstellationState
    sentence: NotRequired[str]
    waits: NotRequired[str]
    attention: list[AttentionRow]
    questions: list[AskedRow]
    """All its open questions, the oldest first."""
    items: list[WhyRow]
    brought_by: NotRequired[list[str]]
    """The tasks that brought files to failed ones: retry-from of these reads them again."""
    more: int


class Edited(TypedDict):
    """The version that an edit made."""

    version: int


class DraftRow(TypedDict):
    """The tasks that a draft reserves, and until when."""

    tasks: list[str]
    expires_at: str | None


class Closed(TypedDict):
    """A draft that is closed."""

    closed: bool


class Controlled(TypedDict):
    """A constellation after a control, and the last event of its log then."""

    id: str
    seq: int
    state: NotRequired[ConstellationState]


class StopRow(TypedDict):
    """A device in the last stop of everything; `link` is `revoked` for a device that no longer belongs here."""

    id: str
    name: str
    link: str
    link_since: str | None
    asked: int
    left: list[str]
    confirmed_at: str | None


class Stop(TypedDict):
    """The last stop of everything, and the devices that have confirmed it."""

    at: str | None
    by: str | None
    reason: str
    devices: list[StopRow]


class Stopped(Stop):
    """A stop of everything with the constellations that it ended, and the names of the schedules that fire again.

    `left_out` is the number of firings that waited for one before them.
    """

    constellations: list[str]
    left_out: int
    schedules: list[str]
