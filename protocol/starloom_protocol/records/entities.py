"""The small records that events put; every state of Starloom is a map from key to one of these.

Each is frozen, its fields stand in alphabetical order and defaults are left out, so that its bytes are canonical and
TypeScript folds to the same ones. It has no floats. Times are hub time in ms. A value is canonical JSON (`values`).

Keys in the stream of a constellation: `head`, `answer`, `spec/ID`, `task/ID`, `group/ID`, `item/FAMILY/KEY`,
`dep/FROM>TO:NAME`, `attempt/ID/N`, `finding/N`, `rule/NAME`, `question/ID`, `version/N`, `job/ID`, `draft/BY`. In
`fleet`: `device/ID`, `offer/ID`, `enrollment/ID`, `recipe/NAME/N`, `schedule/ID`, `schedule_course/ID`,
`scheduled_plan/ID`, `standing/ID`, `model_day/DAY`, `spending/OF`, `lab_fault/ID`. In `access`: `principal/ID`,
`token/ID`, `signin/ID`, `idem/PRINCIPAL/KEY`, `secret/NAME`, `kept/HASH`. `KINDS` has them all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from starloom_protocol.records.access import Idempotency as Idempotency
from starloom_protocol.records.access import KeptResult as KeptResult
from starloom_protocol.records.access import Principal as Principal
from starloom_protocol.records.access import Secret as Secret
from starloom_protocol.records.access import SignIn as SignIn
from starloom_protocol.records.access import Token as Token
from starloom_protocol.records.approvals import Call, DeviceAsks, Standing
from starloom_protocol.records.fleet import Device as Device
from starloom_protocol.records.fleet import Enrollment as Enrollment
from starloom_protocol.records.fleet import Health, KeptOffers, Pace, Stopping
from starloom_protocol.records.fleet import Offer as Offer
from starloom_protocol.records.fleet import ToolOffer as ToolOffer
from starloom_protocol.records.goals import Goal as Goal
from starloom_protocol.records.goals import GoalRun as GoalRun
from starloom_protocol.records.goals import GoalTurn as GoalTurn
from starloom_protocol.records.lab import LabFault
from starloom_protocol.records.models import Budget as Budget
from starloom_protocol.records.models import ModelCall, ModelDay, Spending
from starloom_protocol.records.record import Fault as Fault
from starloom_protocol.records.record import Record as Record
from starloom_protocol.records.schedules import PlannerAnswer as PlannerAnswer
from starloom_protocol.records.schedules import RecipeProposal as RecipeProposal
from starloom_protocol.records.schedules import RecipeRuns as RecipeRuns
from starloom_protocol.records.schedules import RecipeVersion as RecipeVersion
from starloom_protocol.records.schedules import Schedule, ScheduleCourse, ScheduledPlan
from starloom_protocol.records.schedules import VersionRuns as VersionRuns
from starloom_protocol.records.specs import Approved, Moment, Shows, StopWhen
from starloom_protocol.records.specs import Check as Check
from starloom_protocol.records.specs import Choice as Choice
from starloom_protocol.records.specs import Condition as Condition
from starloom_protocol.records.specs import FileOut as FileOut
from starloom_protocol.records.specs import Finds as Finds
from starloom_protocol.records.specs import ForEach as ForEach
from starloom_protocol.records.specs import Input as Input
from starloom_protocol.records.specs import Judge as Judge
from starloom_protocol.records.specs import OnAbsence as OnAbsence
from starloom_protocol.records.specs import OtherCall as OtherCall
from starloom_protocol.records.specs import ResultSpec as ResultSpec
from starloom_protocol.records.specs import Retry as Retry
from starloom_protocol.records.specs import Reuse as Reuse
from starloom_protocol.records.specs import Selector as Selector
from starloom_protocol.records.specs import SentenceSpec as SentenceSpec
from starloom_protocol.records.specs import Timeouts as Timeouts
from starloom_protocol.records.specs import VerifyCall as VerifyCall
from starloom_protocol.vocabulary import (
    Approval,
    AttemptEnd,
    Attention,
    Code,
    ConstellationState,
    Effect,
    EffectSeen,
    Gate,
    GroupState,
    Priority,
    Reason,
    Repeatability,
    Sharing,
    TaskState,
)


class Origin(Record, frozen=True, kw_only=True):
    """The origin of a fork: another constellation after its event `seq`, at `version`, or from `task` on."""

    constellation: str
    seq: int
    task: str | None = None
    version: int


class UndoCall(Record, frozen=True, kw_only=True):
    """The call that undoes a task on the device that ran it; it must be safe to repeat.

    `outputs` are further arguments: a name, and the pointer to its value in the task's own result.
    """

    args: str = "{}"
    outputs: dict[str, str] = {}
    tool: str


class Policy(Record, frozen=True, kw_only=True):
    """How a plan is approved, carried on after a failure, reviewed and judged."""

    approval: Approval = Approval.RISKY
    drop_below: int = 0
    """The chance in hundredths of ending in time below which optional parts are left out; 0: none are."""
    judge: Judge | None = None
    """The question about the whole answer; no change of the policy removes it."""
    on_failure: str = "fail"
    """`fail`, or `ask`: a person decides before a task has failed for good."""
    partial: bool = False
    """Whether the constellation may end in part."""
    priority: Priority = Priority.NORMAL
    review: str = "never"
    review_at: list[str] = []
    """Tasks and groups after whose end a model reviews the plan, whatever they gave."""


class Head(Record, frozen=True, kw_only=True):
    """The constellation itself; displays derive `wall_ms`. At `reopened_ms` a retry or an undo opened it again last."""

    approves: bool = True
    """Whether its author's rights let the plan begin without another person."""
    attention: list[Attention] = []
    author: str
    budget: Budget | None = None
    """The most that its models may use; None: there is no bound of its own."""
    cancelled_by: str | None = None
    controls: bool = False
    """Its author may control devices, so its plan may as well."""
    created_ms: int
    deadline_s: int = 0
    ended_ms: int = 0
    fault: Fault | None = None
    given_up: str = ""
    """The reason of a review that ended it; empty: none did."""
    hold: bool = False
    """It was submitted to wait until a person starts it."""
    id: str
    idle_ms: int = 0
    """The time between its ends and the retries or undos that opened it again."""
    labels: dict[str, str] = {}
    name: str
    origin: Origin | None = None
    """Where it was forked from."""
    params: str = "{}"
    """The values of the parameters of its recipe, as canonical text."""
    paused_since_ms: int = 0
    plan_hash: str | None = None
    """The hash of the plan that was shown before it was submitted."""
    policy: Policy = Policy()
    priority: Priority | None = None
    """The priority of the request, which takes precedence over the plan's own in `policy`."""
    recipe: str | None = None
    recipe_version: int = 0
    """The newest version of a saved `recipe` when the plan was made; 0: it is none."""
    reopened_ms: int = 0
    request: str = ""
    results: list[ResultSpec] = []
    schedule: str | None = None
    """The schedule that fired it."""
    sentences: list[SentenceSpec] = []
    sharing: Sharing | None = None
    """A narrower bound than that of the hub on the part of results that a model is shown."""
    state: ConstellationState
    taught: bool = False  # its cost was learned at an end after which it was opened again
    tool_ms: dict[str, int] = {}
    """The expected time of a call of each tool when the plan was made; ranks in the queues count it."""
    undone_from: ConstellationState | None = None
    """Its final state before its work was undone."""
    version: int = 0
    """The number of its newest plan; 0: there is none yet."""


class AnswerItem(Record, frozen=True, kw_only=True):
    """One thing given back; `value` is canonical text, or `artifact` names bytes by hash.

    With a `pointer` the thing is only that part of the JSON value in the artifact: it was too large to be brought.
    Without a value `lacks` names the tasks before it that gave nothing.
    """

    artifact: str | None = None
    attempt: int = 0
    bytes: int = 0
    checked: bool = False
    device: str | None = None
    lacks: str = ""
    media: str | None = None
    pointer: str = ""
    show: str
    task: str
    title: str
    value: str | None = None


class Cite(Record, frozen=True, kw_only=True):
    """The evidence of an answer in words: a task's value, or the part of it at `pointer`."""

    pointer: str = ""
    task: str


class Verdict(Record, frozen=True, kw_only=True):
    """The answer about a result: `holds` is yes, no or unclear; `by` is model, a person, or engine where none came."""

    because: str = ""
    by: str
    cites: list[Cite] = []
    holds: str


class Answer(Record, frozen=True, kw_only=True):
    """The result of a constellation; the core makes the sentence without a model.

    `stated`: the sentence begins with one of the plan's own; `alarm`: that one tells of trouble. `compared` is the hash
    of the parts that the plan compares, empty for all of it. `verdict` is that of the judge of the whole answer.
    """

    alarm: bool = False
    cites: list[Cite] = []  # the evidence of `words`: `[1]` in them is the first
    compared: str = ""
    ended: int = 0  # the number of ended tasks that a partial answer counts
    items: list[AnswerItem] = []
    sentence: str = ""
    state: str = "none"  # `none`, `partial` or `final`
    stated: bool = False
    struck: list[str] = []
    """Sentences of the model's with a figure or a name that no cited value holds."""
    verdict: Verdict | None = None
    waited_ms: int = 0
    """The time in which at least one question to a person was open."""
    words: str = ""  # a model's answer in words; empty: the sentence stands alone


class TaskSpec(Record, frozen=True, kw_only=True):
    """A task's specification, by edits alone. A group has `for_each`, `nested` or `goal`, others `tool` or `person`."""

    again_of: str | None = None
    """The task whose call this one makes again, because its finding had grown too old."""
    any_of: list[OtherCall] = []
    """The calls that are as good and were not taken yet, in their order."""
    args: str = "{}"
    """The arguments as canonical text."""
    ask: list[str] = []
    """The names of the people who alone answer its question; empty: all who may answer."""
    changed_in: int
    """The version of the plan that changed it last."""
    checks: list[Check] = []
    choices: list[Choice] = []
    device: Selector | None = None
    family: str | None = None
    """The family of the group that it belongs to: groups over the same list, row by row."""
    files_out: list[FileOut] = []
    finds: Finds | None = None
    """The topic under which it publishes a part of its result."""
    for_each: ForEach | None = None
    goal: Goal | None = None
    """It is a goal, which grows by its steps; its result is that of the child `goals.goal_answer` names."""
    group: str | None = None
    """The group whose child it is."""
    id: str
    inputs: list[Input] = []
    instead_of: str = ""
    """Which call this one was taken for, and why, in words."""
    judge: Judge | None = None
    key: str | None = None
    """The key of the item for which it is, in its family."""
    look: int = 0
    """The round in which a planner or a reviewer looked by it; it is of no version and not in the outcome."""
    nested: bool = False
    """It is a plan within the plan, whose tasks are its children from the beginning."""
    not_before: Moment | None = None
    """The moment before which it does not begin."""
    on_absence: OnAbsence = OnAbsence()
    optional: bool = False
    """Its failure does not fail the constellation."""
    person: str | None = None
    """The question to a person, in place of a tool."""
    repeatability: Repeatability | None = None
    retry: Retry = Retry()
    reuse: Reuse | None = None
    secrets: list[str] = []
    """The names that its arguments ask for, as the author wrote them: no rule and no item adds one."""
    shows: Shows | None = None
    """The part of a result that stands beside its question."""
    stop_when: StopWhen | None = None
    """The rule on its progress by which it ends as hopeless."""
    superseded_by: str | None = None
    """The task that counts in its place in the outcome, where it ended without success."""
    timeouts: Timeouts = Timeouts()
    tool: str | None = None
    undo: UndoCall | None = None
    """The call that takes its work back."""
    undoes: str | None = None
    """The task whose work it takes back."""
    undoes_attempt: int = 0
    """The attempt of that task; 0: the one that gave its present result."""
    verifies: str | None = None
    """The attempt (`task/number`) of which it checks whether it had its effect."""
    verify: VerifyCall | None = None
    """The call that tells whether an attempt of it had its effect."""


class TaskRecord(Record, frozen=True, kw_only=True):
    """The state of a task."""

    absent_since_ms: int = 0
    """The time since which its device does not answer; 0: it does."""
    attempt: int = 0
    """The number of the attempt that counts."""
    cause: str | None = None
    """Of a skip, the first task that failed or was cancelled on the way, or `not_chosen`."""
    checked: bool = False
    code: Code | None = None
    confirmed: bool = False
    """A person confirmed that it may run again, though it may have happened."""
    device: str | None = None
    hedge: int = 0
    """The highest number of a hedge; above `attempt` and open, both run and the first result ends both."""
    held: bool = False
    judged: int = 0
    """The number of the attempt that its judge let pass."""
    marked: str | None = None
    """The answer of a person in place of a result, as canonical text."""
    not_before_ms: int = 0
    reason: Reason | None = None
    refusals: int = 0
    """The number of its attempts in this round that used up no try: refused, never begun or ended by their fences."""
    review: str | None = None
    """The job whose review holds it."""
    reviews: int = 0
    round: int = 1
    since_ms: int
    started: int = 0
    """The number of its attempts in this round."""
    state: TaskState
    stood_ms: int = 0
    """The time for which the clock of `schedule_to_close_s` stood still in this round."""
    took: dict[str, str] = {}
    """By input, the number of the finding that it takes; empty where it takes the value that stands in for one."""


class GroupRecord(Record, frozen=True, kw_only=True):
    """The state of a group; its children are the tasks whose spec names it.

    `list_round` is the round, at the expansion, of the task whose output is the list. `until_ms`: the group waits at
    most until then for devices that are expected back (0: it does not).
    """

    cause: str | None = None
    code: Code | None = None
    count: int = 0
    list_round: int = 1
    reason: Reason | None = None
    review: str | None = None
    reviews: int = 0
    round: int = 1
    since_ms: int
    state: GroupState
    until_ms: int = 0


class Item(Record, frozen=True, kw_only=True):
    """One item of a family's list; `value` is canonical text. A dropped one is kept, so that it stays dropped.
    `added`: by a person's edit. `off_since_ms`: the time since which its device was off, when that was reported.
    """

    added: bool = False
    dropped: bool = False
    key: str
    off_since_ms: int = 0
    value: str


class Dependency(Record, frozen=True, kw_only=True):
    """One gate between two tasks; its identity is `FROM>TO:NAME` (a gate's word, its pointer, or an input).

    With a `topic`, the target waits until the source has ended, or has published a finding of that topic.
    """

    all: bool = False
    changed_in: int
    condition: Condition | None = None
    gate: Gate
    input: str | None = None
    optional: bool = False
    source: str
    target: str
    topic: str = ""


class ProgressPoint(Record, frozen=True, kw_only=True):
    """The value that a program reported last after so many reports, as canonical text."""

    lines: int
    value: str


class TaskProgress(Record, frozen=True, kw_only=True):
    """The reports of an attempt so far: their number, the time of the newest that counted, and some of their values."""

    at_ms: int
    lines: int
    points: list[ProgressPoint] = []


class Attempt(Record, frozen=True, kw_only=True):
    """One try of a task on one device; its output is `value` or `artifact`."""

    artifact: str | None = None
    bytes: int = 0
    cancel_by: str | None = None
    """Who asked it to stop."""
    code: Code | None = None
    detail: str = ""
    device: str
    effect: EffectSeen | None = None
    end: AttemptEnd | None = None
    ended_ms: int = 0
    expects_ms: int = 0
    """The time from lease to end that paces led to expect; 0: nothing was known."""
    facts: dict[str, str] = {}
    """Pointers into the result, each with its value as canonical text."""
    hedge: bool = False
    """It runs beside an earlier one that takes long; the first result ends both."""
    incarnation: int
    late: str | None = None
    """The report that came after it had been given up, as OUTCOME:DIGEST."""
    leased_ms: int
    origin: str | None = None
    """The constellation that made it, where a fork goes on from its result."""
    origin_ms: int = 0
    """The end of the attempt whose result was taken over."""
    origin_task: str = ""
    """The attempt of an earlier run whose result was taken over, as TASK/NUMBER."""
    other_call: bool = False
    """Its device began another call under this name, or may have, in a lost history: no result of it counts."""
    others: list[str] = []
    """The devices that could have taken it as well, the next best first."""
    progress: TaskProgress | None = None
    """The reports so far, kept where a rule of the plan reads them."""
    repeatability: Repeatability
    round: int = 1
    started_ms: int = 0
    tail: str = ""
    """The end of its output."""
    value: str | None = None
    why: str = ""
    """The reason for which its device was chosen."""


class Finding(Record, frozen=True, kw_only=True):
    """A part of a result that stands under a topic; it never changes, and a newer one of the topic takes its place.

    The task or goal `by` publishes the part `output` of what `attempt` of `task` gave; `round` is that of `by`. `at_ms`
    is the time of that result. `value` is canonical text of a part that is short; `hash` is that of the part, or of the
    file that holds the whole result. `stranger` is the task by which it rests on what a stranger may have written.
    """

    at_ms: int
    attempt: int = 0
    by: str
    bytes: int = 0
    device: str | None = None
    hash: str
    output: str = ""
    round: int = 1
    stranger: str = ""
    task: str
    topic: str
    value: str | None = None


class RuleRecord(Record, frozen=True, kw_only=True):
    """A rule; `operations` is text of its edit, `failed` a number of failed tasks, `fired_for` its last rounds."""

    attempts: Condition | None = None
    code: Code | None = None
    condition: Condition | None = None
    event: str
    failed: Condition | None = None
    fired: int = 0
    fired_for: dict[str, int] = {}
    name: str
    operations: str
    order: int
    reason: str
    task: str
    whole: bool = False


class Shown(Record, frozen=True, kw_only=True):
    """The part of a result that stands beside a question: `value` is canonical text.

    A longer one is the text of its beginning, and `left_out` counts the characters that are missing.
    """

    left_out: int = 0
    output: str = ""
    source: str
    value: str


class Question(Record, frozen=True, kw_only=True):
    """A durable question to a person: a `person:` task, an approval bound to an action's hash, or a reviewer's wish."""

    action: str | None = None
    """The hash of the action that an approval or a wish is bound to."""
    answer: str | None = None
    """The answer; None while it is open, empty where it is void."""
    answered_by: str | None = None
    answered_ms: int = 0
    calls: list[Call] = []
    """The calls that the answer `always` allows from now on."""
    choices: list[Choice] = []
    effects: list[Effect] = []
    expires_ms: int = 0
    """The time at which an approval that is open counts as denied; 0: never."""
    id: str
    kind: str
    once_because: str = ""
    """Why there is no answer `always`."""
    opened_ms: int
    operations: str = ""
    """The edit of a wish, or the calls of a step, as JSON text."""
    reason: str = ""
    shown: Shown | None = None
    """The part of a result that stands beside it."""
    task: str | None = None
    """The task or the group that waits for it; None: the whole constellation does."""
    text: str
    usual: str = ""
    """The choice that a planner would take; a planner's question takes other words as well."""
    version: int = 0
    wider: list[str] = []
    """The ways in which a wish is wider than what was approved, in words."""


class Version(Record, frozen=True, kw_only=True):
    """One version of a plan: who made it, why, and what it changed."""

    added: list[str] = []
    at_ms: int
    author: str
    changed: list[str] = []
    number: int
    operations: str = "[]"
    reason: str = ""
    removed: list[str] = []
    trigger: str = ""


class Draft(Record, frozen=True, kw_only=True):
    """A person is editing these tasks until then, unless it is renewed; one a person."""

    by: str
    expires_ms: int
    opened_ms: int
    tasks: list[str] = []


class Read(Record, frozen=True, kw_only=True):
    """A part of a look's result that the planner reads: from `offset` on, in characters or items of the value there."""

    offset: int = 0
    pointer: str = ""
    task: str


class Look(Record, frozen=True, kw_only=True):
    """One round in which a planner or a reviewer looked, and why: by these tasks, and in results it had.

    `shown` are the tools whose arguments it had asked for; the next round begins with them.
    """

    at_ms: int
    reads: list[Read] = []
    round: int
    shown: list[str] = []
    tasks: list[str] = []
    why: str = ""


class Job(Record, frozen=True, kw_only=True):
    """Work for a Celery worker, opened by an effect and claimed like an attempt; the broker only wakes."""

    calls: int = 0
    """The number of calls of a model that it made."""
    causes: list[str] = []
    """The like failures of items that a review stands for, as GROUP/ROUND and the cause: one review for each."""
    claimed_by: str | None = None
    claims: int = 0
    expires_ms: int = 0
    fault: Fault | None = None
    goal: GoalRun | None = None
    """The conversation of a goal, which `tasks` names as GROUP/ROUND."""
    hold_ms: int = 0
    """How long a review holds what waits for it, where its endpoint has more time than the usual hold."""
    id: str
    kind: str
    look: Look | None = None
    """The answer of a planning job that looks first."""
    looks: list[Look] = []
    """The rounds of a review, whose state is `looking` until the newest has ended."""
    micros: int = 0
    """The cost of its calls, in millionths of a dollar."""
    opened_ms: int
    resumed_ms: int = 0
    """The time at which a review went on after its newest round of looks."""
    state: str = "open"
    tasks: list[str] = []
    """The tasks of a review as TASK/ROUND; of a judge TASK/ROUND/ATTEMPT, or how far the whole is."""
    tokens: int = 0
    verdict: Verdict | None = None
    """The verdict of a judge."""


Entity = (
    Head
    | Answer
    | TaskSpec
    | TaskRecord
    | GroupRecord
    | Item
    | Dependency
    | Attempt
    | Finding
    | RuleRecord
    | Question
    | Version
    | Job
    | ModelCall
    | Draft
    | Approved
    | Device
    | Offer
    | Enrollment
    | RecipeVersion
    | RecipeRuns
    | Schedule
    | ScheduleCourse
    | ScheduledPlan
    | Standing
    | DeviceAsks
    | Health
    | Pace
    | Stopping
    | LabFault
    | ModelDay
    | Spending
    | Principal
    | Token
    | Secret
    | SignIn
    | Idempotency
    | KeptResult
    | RecipeProposal
)

KINDS: dict[str, type[Record]] = {
    "head": Head,
    "answer": Answer,
    "spec": TaskSpec,
    "task": TaskRecord,
    "group": GroupRecord,
    "item": Item,
    "dep": Dependency,
    "attempt": Attempt,
    "finding": Finding,
    "rule": RuleRecord,
    "question": Question,
    "version": Version,
    "job": Job,
    "call": ModelCall,
    "draft": Draft,
    "approved": Approved,
    "device": Device,
    "offer": Offer,
    "enrollment": Enrollment,
    "recipe": RecipeVersion,
    "recipe_runs": RecipeRuns,
    "schedule": Schedule,
    "schedule_course": ScheduleCourse,
    "scheduled_plan": ScheduledPlan,
    "standing": Standing,
    "asks": DeviceAsks,
    "health": Health,
    "pace": Pace,
    "stopping": Stopping,
    "lab_fault": LabFault,
    "model_day": ModelDay,
    "spending": Spending,
    "principal": Principal,
    "token": Token,
    "secret": Secret,
    "signin": SignIn,
    "idem": Idempotency,
    "kept": KeptResult,
    "proposal": RecipeProposal,
}

_encoder = msgspec.json.Encoder(order="deterministic")
_decoders = {kind: msgspec.json.Decoder(record) for kind, record in KINDS.items()} | {"offer": KeptOffers()}


def kind_of(key: str) -> str:
    """Return the part of a key that names its kind of entity."""
    return key.partition("/")[0]


# The encoder's own method, for a function around it costs half as much again and each task asks for some ten.
encode_entity: Final[Callable[[Record], bytes]] = _encoder.encode
"""Return the canonical bytes of a record."""


def decode_entity(key: str, raw: bytes | msgspec.Raw) -> Record:
    """Return the record of a key.

    Raises:
        KeyError: for an unknown kind of key.
        msgspec.ValidationError: for bytes that are not such a record.
    """
    decoded: Record = _decoders[kind_of(key)].decode(raw)
    return decoded


_DATA: Final = Gate.DATA


def dependency_id(dependency: Dependency) -> str:
    """Return the identity of a dependency, as it stands in its key and in edits."""
    if dependency.gate is _DATA:
        name = dependency.input or ""
    elif dependency.condition is not None:
        name = f"{dependency.gate}:{dependency.condition.output}"
    else:
        name = str(dependency.gate)
    return f"{dependency.source}>{dependency.target}:{name}"
