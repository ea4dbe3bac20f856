"""Records of the hub as answers of the REST API have them: JSON objects. Types only.

Generated from protocol/schema/openapi.json by `make gen`; change the records or starloom_protocol/api instead. To have
one more field, write its name in quotes where it is read.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from starloom_protocol.api.approvals import CallRow, ShownRow
from starloom_protocol.api.constellations import (
    AnswerPart,
    AnswerShape,
    AttemptRow,
    CiteRow,
    DependencyRow,
    Metrics,
    VerdictRow,
    WaitingRow,
)
from starloom_protocol.api.schedules import BoundDeviceRow, ConsentRow, FiringRow, LeftOutFiring, NoticeRow, PauseRow


class CheckJson(TypedDict):
    """A condition on the own result; `exit_code` is written as a condition on `/exit_code`."""

    output: str
    says: NotRequired[str]
    value: NotRequired[str | None]


class ChoiceJson(TypedDict):
    fails: NotRequired[bool]
    label: str
    value: str


class ConditionJson(TypedDict):
    """`value` is canonical text; null where the operator needs none."""

    output: str
    value: NotRequired[str | None]


class DeviceVitalsJson(TypedDict):
    """The lines of one device."""

    device: str
    lines: dict[str, list[int | None]]


class FaultJson(TypedDict):
    """One fault: a code, a sentence, the place, the remedy."""

    code: str
    hint: NotRequired[str]
    place: NotRequired[str]
    reason: str


class ForEachJson(TypedDict):
    """A group's list: `source` with `output`, `devices`, `same`, `times` or `repeat`."""

    devices: NotRequired[SelectorJson | None]
    max_parallel: NotRequired[int]
    output: NotRequired[str]
    repeat: NotRequired[RepeatJson | None]
    same: NotRequired[str | None]
    source: NotRequired[str | None]
    times: NotRequired[int]


class GoalJson(TypedDict):
    """The aim of a goal and its envelope; the devices are those of the task's selector."""

    gives: NotRequired[str]
    hosts: NotRequired[list[str]]
    micros: NotRequired[int]
    paths: NotRequired[list[str]]
    steps: NotRequired[int]
    tokens: NotRequired[int]
    tools: NotRequired[list[str]]
    until: NotRequired[list[CheckJson]]
    within_s: NotRequired[int]


class InputJson(TypedDict):
    """One data dependency of a task: the pointer `output` into what `source` gives, handed over as `name`."""

    all: NotRequired[bool]
    name: str
    optional: NotRequired[bool]
    output: NotRequired[str]
    source: str
    topic: NotRequired[str]


class JudgeJson(TypedDict):
    """A question about a result, which a model in the role of judge answers after the checks by code."""

    question: str


class ModelCallJson(TypedDict):
    """One call of a model for a job: the texts that went and came, and the cost."""

    cached_tokens: NotRequired[int]
    fault: NotRequired[str]
    input_tokens: NotRequired[int]
    job: str
    micros: NotRequired[int]
    model: NotRequired[str]
    number: NotRequired[int]
    output_tokens: NotRequired[int]
    prompt: NotRequired[str | None]
    reply: NotRequired[str | None]
    stage: str
    tier: NotRequired[str]
    took_ms: NotRequired[int]


class ModelUseJson(TypedDict):
    """The use of a model: calls, tokens, millionths of a dollar, and the time of its jobs added up."""

    calls: NotRequired[int]
    micros: NotRequired[int]
    tokens: NotRequired[int]
    turns: NotRequired[dict[str, int]]


class NamedQuestionRowJson(TypedDict):
    """A question with the name of its constellation."""

    answer: str | None
    answered_at: str | None
    answered_by: str | None
    author: str
    calls: list[CallRow]
    choices: list[ChoiceJson]
    constellation: str
    constellation_name: str
    effects: list[str]
    expires_at: str | None
    id: str
    kind: str
    once_because: str
    only: list[str]
    operations: Any
    question: str
    reason: str
    shown: ShownRow | None
    task: str | None
    text: str
    usual: str
    version: int
    wider: list[str]


class OtherCallJson(TypedDict):
    args: NotRequired[str]
    device: NotRequired[SelectorJson | None]
    tool: str


class PathStepJson(TypedDict):
    """A task of the critical path: when it could begin, when it ended, its time on devices, its waits by cause."""

    device: str
    ended_ms: int
    task: str
    waits: dict[str, int]


class PolicyJson(TypedDict):
    """How a plan is approved, carried on after a failure, reviewed and judged."""

    approval: NotRequired[str]
    judge: NotRequired[JudgeJson | None]
    partial: NotRequired[bool]
    priority: NotRequired[str]
    review: NotRequired[str]
    review_at: NotRequired[list[str]]


class QuestionRowJson(TypedDict):
    """A question to a person: an approval, a task for a person, or the wish of a reviewer."""

    answer: str | None
    answered_at: str | None
    answered_by: str | None
    calls: list[CallRow]
    choices: list[ChoiceJson]
    constellation: str
    effects: list[str]
    expires_at: str | None
    id: str
    kind: str
    once_because: str
    operations: Any
    question: str
    reason: str
    shown: ShownRow | None
    task: str | None
    text: str
    usual: str
    version: int
    wider: list[str]


class RecipeTrendJson(TypedDict):
    """The last runs of a recipe, the newest first."""

    more: bool
    recipe: str
    runs: list[TrendRunJson]
    sentence: str


class RecoveriesJson(TypedDict):
    edited: NotRequired[int]
    hedged: NotRequired[int]
    moved: NotRequired[int]
    person: NotRequired[int]
    rerouted: NotRequired[int]
    retried: NotRequired[int]
    verified: NotRequired[int]


class RepeatJson(TypedDict):
    in_a_row: NotRequired[int]
    most: int
    until: NotRequired[ConditionJson | None]


class ResultJson(TypedDict):
    """The answer alone, with the state of its constellation."""

    cites: NotRequired[list[CiteRow]]
    constellation_state: str
    fault: FaultJson | None
    id: str
    items: list[AnswerPart]
    sentence: str
    state: str
    struck: NotRequired[list[str]]
    verdict: NotRequired[VerdictRow]
    words: NotRequired[str]


class RetryJson(TypedDict):
    """`max_attempts` 0 means the default: 3 for pure and idempotent work, else 1."""

    max_attempts: NotRequired[int]


class RunReportJson(TypedDict):
    """The report of a constellation as of `seq`."""

    attempts: int
    constellation: str
    created_at: str
    devices: int
    ended: bool
    gain: float
    model: ModelUseJson
    name: str
    parallelism: float
    path: list[PathStepJson]
    planning_ms: int
    recoveries: RecoveriesJson
    seq: int
    starting_ms: int
    state: str
    tasks: int
    versions: int
    waits: list[WaitJson]


class ScheduleRowJson(TypedDict):
    """A schedule with its next five firings."""

    approved: ConsentRow | None
    asking: list[str]
    author: str
    catch_up: str
    created_at: str | None
    cron: str
    deadline_s: int
    devices: list[BoundDeviceRow]
    except_days: str
    fired: int
    id: str
    in_words: str
    last: FiringRow | None
    left_out: list[LeftOutFiring]
    name: str
    next: list[str]
    notice: NoticeRow | None
    notify: str
    notify_device: str | None
    overlap: str
    params: Any
    paused: PauseRow | None
    recipe: str | None
    request: str
    running: list[str]
    skipped: int
    state: str
    stopped: FaultJson | None
    unseen_trash: bool | None
    waiting: list[str]
    zone: str


class ScheduleTrendJson(TypedDict):
    """The last runs of a schedule, the newest first."""

    more: bool
    runs: list[TrendRunJson]
    schedule: str
    sentence: str


class SelectorJson(TypedDict):
    """The devices that fit: every given field must hold, `any` needs one of its own."""

    any: NotRequired[list[SelectorJson]]
    id: NotRequired[str | None]
    labels: NotRequired[list[str]]
    name: NotRequired[str | None]
    os: NotRequired[str | None]
    tools: NotRequired[list[str]]


class SnapshotJson(TypedDict):
    """A whole constellation at one event of its log."""

    alarm: bool
    answer: AnswerShape
    attention: list[str]
    author: str
    created_at: str | None
    dependencies: list[DependencyRow]
    ended_at: str | None
    fault: FaultJson | None
    id: str
    labels: dict[str, str]
    metrics: Metrics
    name: str
    params: Any
    plan_hash: str | None
    policy: PolicyJson
    questions: list[QuestionRowJson]
    recipe: str | None
    request: str
    running: int
    schedule: str | None
    sentence: str
    seq: int
    state: str
    tasks: list[TaskRowJson]
    undone_from: str | None
    version: int
    waiting: list[WaitingRow]


class TaskRowJson(TypedDict):
    """A task with its spec, its state and how that is shown."""

    attempt: int
    attempts: list[AttemptRow]
    cause: str | None
    checked: bool
    code: str | None
    count: NotRequired[int]
    device: str | None
    glyph: str | None
    group: str | None
    id: str
    key: str | None
    kind: str
    reason: str | None
    since: str | None
    spec: TaskSpecJson
    state: str | None
    tone: str | None
    tool: str | None
    word: str


class TaskSpecJson(TypedDict):
    """A task's specification, by edits alone."""

    any_of: NotRequired[list[OtherCallJson]]
    args: NotRequired[str]
    ask: NotRequired[list[str]]
    checks: NotRequired[list[CheckJson]]
    choices: NotRequired[list[ChoiceJson]]
    device: NotRequired[SelectorJson | None]
    for_each: NotRequired[ForEachJson | None]
    goal: NotRequired[GoalJson | None]
    group: NotRequired[str | None]
    id: str
    inputs: NotRequired[list[InputJson]]
    judge: NotRequired[JudgeJson | None]
    key: NotRequired[str | None]
    look: NotRequired[int]
    optional: NotRequired[bool]
    person: NotRequired[str | None]
    repeatability: NotRequired[str | None]
    retry: NotRequired[RetryJson]
    secrets: NotRequired[list[str]]
    superseded_by: NotRequired[str | None]
    timeouts: NotRequired[TimeoutsJson]
    tool: NotRequired[str | None]
    undo: NotRequired[UndoCallJson | None]
    verifies: NotRequired[str | None]
    verify: NotRequired[VerifyCallJson | None]


class TimeoutsJson(TypedDict):
    schedule_to_close_s: NotRequired[int]
    start_to_close_s: NotRequired[int]


class TranscriptJson(TypedDict):
    """The calls of a model for one constellation, in the order of time."""

    calls: list[TranscriptCallJson]


class TranscriptCallJson(TypedDict):
    """A call with its texts; a text is absent where it was not asked for, not kept, or too large for one reply."""

    call: ModelCallJson
    prompt_text: NotRequired[str | None]
    reply_text: NotRequired[str | None]


class TrendRunJson(TypedDict):
    """One ended run, in figures of its report."""

    attempts: int
    constellation: str
    created_at: str
    mended: int
    micros: int
    state: str
    tasks: int
    wait: str | None


class UndoCallJson(TypedDict):
    """The call that undoes a task on the device that ran it; it must be safe to repeat."""

    args: NotRequired[str]
    tool: str


class VerifyCallJson(TypedDict):
    """The read-only call that finds out whether an attempt had its effect, on the device that ran it."""

    args: NotRequired[str]
    expect: list[CheckJson]
    tool: str


class VitalsJson(TypedDict):
    """Lines as one hub has heard them, `step_s` between two points."""

    hub: str
    items: list[DeviceVitalsJson]
    left_out: NotRequired[int]
    slots: int
    step_s: int


class WaitJson(TypedDict):
    """The waiting for one cause: of how many tasks, added up, and the time in which at least one of them waited."""

    cause: str
    tasks: int
    wall_ms: int
