"""The shapes of the plan language as people write them (Pydantic); their meaning is in `lowering` and `checks`.

No unions between models, so that the place of a fault is the place in the document. Parameters are put in before
these see a document; `{each}`, `{secret}` and a rule's `{output}` live only inside values.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from starloom_protocol.text.look_alikes import person_name_fault
from starloom_protocol.text.wording import PLACEHOLDER, quoted
from starloom_protocol.values import composed, name_fault, pointer_fault
from starloom_protocol.vocabulary import Approval, Code, Gate, Need, Op, Priority, Repeatability

PLAN_FORMAT: Final = 1
TASK_ID: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
NODE_ID: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}(\.[A-Za-z0-9_-]{1,80}){0,8}")
NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
NOUN: Final = re.compile(r"[^\W\d_][^\W_ -]*(?:[ -][^\W_ -]+){0,3}(?:/[^\W\d_][^\W_ -]*(?:[ -][^\W_ -]+){0,3})?")
NOUN_CHARS_MAX: Final = 60
SECONDS_MAX: Final = 30 * 24 * 3600
"""Timers and leases are kept as state; beyond a month a schedule is the way."""
TIMES_MAX: Final = 1000
"""Each turn of a group is a task of its own."""
MILESTONES_MAX: Final = 10
"""They stand in every prompt of the goal, and in its approval."""
VOTES_MAX: Final = 25
"""Each vote is a call, and a result table of more says nothing to a person."""
OTHER_CALLS_MAX: Final = 4
TOPIC_CHARS_MAX: Final = 80
NO_VALUE_OPS: Final = frozenset({Op.EMPTY, Op.NOT_EMPTY})


def refuse(reason: str, hint: str = "", code: Code = Code.PLAN_INVALID) -> PydanticCustomError:
    """Return a fault for a validator to raise; braces in the reason are kept as they are."""
    return PydanticCustomError("refused", "{reason}", {"reason": reason, "hint": hint, "code": code})


def _one_of(*words: str) -> AfterValidator:
    def check(value: str) -> str:
        if value not in words:
            raise refuse(f"{quoted(value[:40])} is none of {', '.join(words)}")
        return value

    return AfterValidator(check)


def _task_id(value: str) -> str:
    if not TASK_ID.fullmatch(value):
        raise refuse(
            f"{quoted(value[:80])} is no id", "An id has 1 to 64 of a-z 0-9 _ - and starts with a letter or digit."
        )
    return value


def _node_id(value: str) -> str:
    if not NODE_ID.fullmatch(value):
        raise refuse(f"{quoted(value[:80])} is no id", "Use the id of a task, or of a child such as `fetch.3`.")
    return value


def _name(value: str) -> str:
    if not NAME.fullmatch(value):
        raise refuse(f"{quoted(value[:80])} is no name", "A name has 1 to 64 letters, digits, _ . or -.")
    return value


def _person_name(value: str) -> str:
    name = composed(value)
    fault = person_name_fault(name)
    if fault:
        raise refuse(f"{quoted(value[:80])} names nobody: {fault}")
    return name


def _pointer(value: str) -> str:
    fault = pointer_fault(value)
    if fault:
        raise refuse(fault, _as_pointer(value[:40]) if not value.startswith("/") else "")
    return value


def _as_pointer(value: str) -> str:
    """Return the hint for a path that does not start with a slash, as `$.rows[0].name` of other languages."""
    whole = value.removeprefix("#").removeprefix("$").lstrip("./")
    steps = whole.replace("[", "/").replace("]", "").replace(".", "/")
    if steps == whole:
        return f"Write it as `/{whole}`."
    return f"Write it as `/{steps}`; a dot that belongs to a name stays: `/{whole}`."


def _topic(value: str) -> str:
    fault = name_fault(value, most=TOPIC_CHARS_MAX)
    if fault:
        raise refuse(fault)
    return value


def _label(value: str) -> str:
    fault = name_fault(value, most=200)
    if fault:
        raise refuse(fault)
    return value


def _noun(value: str) -> str:
    if len(value) > NOUN_CHARS_MAX or not NOUN.fullmatch(value):
        raise refuse(f"{quoted(value[:40])} is no noun", "Write `file`, or with its plural `copy/copies`.")
    return value


DeviceName = Annotated[str, AfterValidator(composed)]
TaskId = Annotated[str, AfterValidator(_task_id)]
NodeId = Annotated[str, AfterValidator(_node_id)]
Name = Annotated[str, AfterValidator(_name)]
PersonName = Annotated[str, AfterValidator(_person_name)]
Pointer = Annotated[str, AfterValidator(_pointer)]
Label = Annotated[str, AfterValidator(_label)]
Topic = Annotated[str, AfterValidator(_topic)]
Seconds = Annotated[int, Field(ge=1, le=SECONDS_MAX)]
OpWord = Annotated[Op, Field(strict=False)]


class Doc(BaseModel):
    """The base of every part of a document: strict, closed."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=False, defer_build=True)


class ConditionDoc(Doc):
    output: Pointer
    op: OpWord
    value: Any = None


class CheckDoc(Doc):
    """Either `exit_code` or a condition; `says` tells what is wrong, `{name}` in it is a field of the result."""

    exit_code: int | None = None
    output: Pointer | None = None
    op: Annotated[Op | None, Field(strict=False)] = None
    value: Any = None
    says: Annotated[str, Field(max_length=200)] = ""


class AttemptsDoc(Doc):
    op: OpWord
    value: int


class SelectorDoc(Doc):
    name: DeviceName | None = None
    id: str | None = None
    labels: list[str] = []
    os: str | None = None
    tools: list[Name] = []
    any: Annotated[list[SelectorDoc], Field(max_length=32)] = []


class PlaceDoc(SelectorDoc):
    """The device of a task: a selector, or one `within` a selector that the result of another task names."""

    source: NodeId | None = Field(alias="from", default=None)
    output: Pointer = ""
    within: SelectorDoc | None = None


class InputDoc(Doc):
    """A value from another task, or the newest finding of a topic, wherever it comes from."""

    source: NodeId | None = Field(alias="from", default=None)
    finding: Topic | None = None
    fresh_s: Seconds | None = None
    otherwise: Any = Field(alias="else", default=None)
    output: Pointer = ""
    optional: bool = False
    flatten: bool = False
    all: bool = False
    off: bool = False
    who: bool = False


class NeedDoc(Doc):
    word: Need
    count: int = 0


def _need(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"at_least"}:
        count = value["at_least"]
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise refuse("`at_least` needs a whole number from 1")
        return NeedDoc(word=Need.AT_LEAST, count=count)
    if isinstance(value, str) and value in (Need.ALL, Need.ANY, Need.BEST_EFFORT):
        return NeedDoc(word=Need(value))
    raise refuse("`need` is all, any, best_effort or {at_least: k}")


class ForEachDoc(Doc):
    source: NodeId | None = Field(alias="from", default=None)
    output: Pointer = ""
    devices: SelectorDoc | None = None
    same: NodeId | None = None
    times: Annotated[int | None, Field(ge=1, le=TIMES_MAX)] = None
    flatten: bool = False
    in_turn: bool = False
    when_off: Annotated[str, _one_of("wait", "report")] | None = None
    after_s: Annotated[int, Field(ge=0, le=SECONDS_MAX)] | None = None
    max_parallel: Annotated[int, Field(ge=1, le=10_000)] | None = None
    need: Annotated[NeedDoc, BeforeValidator(_need)] = NeedDoc(word=Need.ALL)


class FileOutDoc(Doc):
    output: Pointer
    to: Annotated[str, Field(min_length=1, max_length=1024)]


class TimeoutsDoc(Doc):
    heartbeat_s: Seconds = 15
    schedule_to_close_s: Seconds = 3600
    schedule_to_start_s: Seconds = 300
    start_to_close_s: Seconds = 600


class RetryDoc(Doc):
    max_attempts: Annotated[int, Field(ge=1, le=100)] | None = None
    on_check: bool = False
    on_exit: bool = False


def _absence(value: Any) -> Any:
    return {"then": value} if isinstance(value, str) else value


class OnAbsenceDoc(Doc):
    after_s: Annotated[int, Field(ge=0, le=SECONDS_MAX)] = 0
    then: Annotated[str, _one_of("reassign", "fail", "wait")]


class ChoiceDoc(Doc):
    value: Name
    label: Label
    fails: bool = False


class UndoDoc(Doc):
    """The undo call of a task: `outputs` are further arguments, each a pointer into the task's own result."""

    tool: Name
    args: dict[str, Any] = Field(default_factory=dict)
    outputs: dict[Name, Pointer] = Field(default_factory=dict)


def _judge(value: Any) -> Any:
    return {"question": value} if isinstance(value, str) else value


class JudgeDoc(Doc):
    question: Annotated[str, Field(min_length=1, max_length=500)]
    unclear: Annotated[str, _one_of("ask", "fail")] = "ask"


class VerifyDoc(Doc):
    """The verification of a task that may have had its effect: a read-only call, and its expected output."""

    tool: Name
    args: dict[str, Any] = Field(default_factory=dict)
    expect: Annotated[list[CheckDoc], Field(min_length=1, max_length=32)]


WHICH: Final = "Which of these results answers best what was asked?"
"""The question to the judge of a vote whose plan has none of its own."""


def _rule(value: Any) -> Any:
    if value == "majority":
        return 0
    if value == "judge":
        return JudgeDoc(question=WHICH)
    if isinstance(value, dict) and set(value) == {"judge"}:
        return _chooser(_judge(value["judge"]))
    if isinstance(value, dict) and set(value) == {"ahead_by"}:
        lead = value["ahead_by"]
        if isinstance(lead, int) and not isinstance(lead, bool) and 1 <= lead <= VOTES_MAX:
            return lead
        raise refuse(f"`ahead_by` needs a whole number from 1 to {VOTES_MAX}")
    raise refuse("`rule` is majority or {ahead_by: k}, or judge or {judge: QUESTION}")


def _chooser(value: Any) -> JudgeDoc:
    try:
        return JudgeDoc.model_validate(value)
    except ValidationError as error:
        # In place of the faults of each form that a rule may have.
        raise refuse("the `judge` of a vote is a question of 1 to 500 characters, or {question, unclear}") from error


class VoteDoc(Doc):
    """`n` like calls whose results are compared at `on`.

    `rule` is the lead that a value needs, 0 for `majority`, or the question to the judge that chooses.
    """

    n: Annotated[int, Field(ge=2, le=VOTES_MAX)]
    on: Pointer = ""
    rule: Annotated[int | JudgeDoc, BeforeValidator(_rule)] = 0
    tolerance: Annotated[float | None, Field(ge=0, allow_inf_nan=False)] = None
    apart: bool = False


class OtherCallDoc(Doc):
    """A call that is as good as that of the task; it gets the same inputs."""

    tool: Name
    args: dict[str, Any] = Field(default_factory=dict)
    device: SelectorDoc | None = None


class TaskDoc(Doc):
    # Factories: Pydantic copies a default that is a list or a map by walking it, for each of 10,000 tasks.
    id: TaskId
    tool: Name | None = None
    goal: str | None = None
    person: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    ask: Annotated[list[PersonName], Field(max_length=20)] = Field(default_factory=list)
    plan: dict[str, Any] | None = None
    for_each: ForEachDoc | None = None
    any_of: Annotated[list[OtherCallDoc], Field(max_length=OTHER_CALLS_MAX)] = Field(default_factory=list)
    args: dict[str, Any] = Field(default_factory=dict)
    inputs: dict[Name, InputDoc] = Field(default_factory=dict)
    files_out: list[FileOutDoc] = Field(default_factory=list)
    device: PlaceDoc | None = None
    repeatability: Annotated[Repeatability | None, Field(strict=False)] = None
    timeouts: TimeoutsDoc = TimeoutsDoc()
    retry: RetryDoc = RetryDoc()
    on_absence: Annotated[OnAbsenceDoc | None, BeforeValidator(_absence)] = None
    optional: bool = False
    checks: list[CheckDoc] = Field(default_factory=list)
    choices: list[ChoiceDoc] = Field(default_factory=list)
    undo: UndoDoc | None = None
    verify: VerifyDoc | None = None
    judge: Annotated[JudgeDoc | None, BeforeValidator(_judge)] = None
    vote: VoteDoc | None = None
    # Of goals; their shapes are in `lowering.goals`.
    may: dict[str, Any] | None = None
    gives: dict[str, Any] | None = None
    until: list[CheckDoc] = Field(default_factory=list)
    milestones: Annotated[list[dict[str, Any]], Field(max_length=MILESTONES_MAX)] = Field(default_factory=list)
    budget: dict[str, Any] | None = None
    repeat: dict[str, Any] | None = None
    not_before: dict[str, Any] | None = None
    shows: dict[str, Any] | None = None
    reuse: dict[str, Any] | None = None
    stop_when: dict[str, Any] | None = None
    finds: dict[str, Any] | None = None


class TaskPatchDoc(TaskDoc):
    """The fields of an `update_task`: those that are given replace the task's own, whole.

    `set` gives single arguments; the others stay as they are.
    """

    id: NodeId
    some_args: dict[str, Any] = Field(alias="set", default_factory=dict)


class WhenDoc(Doc):
    gate: Gate
    condition: ConditionDoc | None = None


def read_when(value: Any) -> Any:
    words = (Gate.SUCCESS, Gate.FAILURE, Gate.FINISH, Gate.UNLESS_FAILED)
    if isinstance(value, str) and value in words:
        return {"gate": Gate(value)}
    if isinstance(value, dict):
        return {"gate": Gate.OUTPUT, "condition": value}
    raise refuse("`when` is success, failure, finish, unless_failed or {output, op, value}", _when_meant(value))


_GATES_MEANT: Final = {
    **dict.fromkeys(("completed", "ok", "succeeded", "true", "on_success"), Gate.SUCCESS),
    **dict.fromkeys(("error", "failed", "on_error", "on_failure"), Gate.FAILURE),
    **dict.fromkeys(("all_done", "always", "any", "done", "ended", "finished"), Gate.FINISH),
}


def _when_meant(value: Any) -> str:
    """Return the way to write a gate that was most likely meant."""
    gate = _GATES_MEANT.get(value.strip().lower()) if isinstance(value, str) else None
    if gate is not None:
        return f"Write `{gate}`."
    return "A value is compared by a map: `when: {output: /status, op: ne, value: 200}`."


class DependencyDoc(Doc):
    source: NodeId = Field(alias="from")
    target: NodeId = Field(alias="to")
    all: bool = False
    when: Annotated[WhenDoc, BeforeValidator(read_when)] = WhenDoc(gate=Gate.SUCCESS)


class RuleWhenDoc(Doc):
    task: TaskId
    event: Annotated[str, _one_of("succeeded", "failed", "attempt_ended")]
    output: Pointer | None = None
    op: Annotated[Op | None, Field(strict=False)] = None
    value: Any = None
    attempts: AttemptsDoc | None = None
    failed: AttemptsDoc | None = None
    code: Annotated[Code | None, Field(strict=False)] = None
    whole: bool = False


class RuleDoc(Doc):
    name: TaskId
    when: RuleWhenDoc
    edit: Annotated[list[Any], Field(min_length=1, max_length=100)]
    reason: Label


class PolicyDoc(Doc):
    approval: Annotated[Approval, Field(strict=False)] = Approval.RISKY
    drop_optional_below: Annotated[float, Field(ge=0.01, le=0.99)] | None = None
    on_failure: Annotated[str, _one_of("fail", "ask")] = "fail"
    partial: bool = False
    priority: Annotated[Priority, Field(strict=False)] = Priority.NORMAL
    review: Annotated[str, _one_of("never", "on_failure", "always")] = "never"
    review_at: Annotated[list[NodeId], Field(max_length=20)] = []


class ResultDoc(Doc):
    title: Label
    source: NodeId = Field(alias="from")
    output: Pointer = ""
    show: Annotated[str, _one_of("text", "markdown", "table", "file", "image", "value")] = "value"
    compare: Annotated[list[Name], Field(max_length=32)] | None = None
    """The fields of its rows by which a schedule sees a change; an empty list: none, absent: all of it."""


class SentenceValueDoc(Doc):
    source: NodeId = Field(alias="from")
    noun: Annotated[str, AfterValidator(_noun)] = ""
    output: Pointer = ""
    show: Annotated[str, _one_of("value", "bytes", "percent", "duration", "count", "device")] = "value"

    @model_validator(mode="after")
    def _counts_what_it_names(self) -> Self:
        if self.noun and self.show not in ("value", "count"):
            raise refuse(f"`noun` stands after a number, and `show` is {self.show}", "Leave one of them out.")
        return self


class SentenceWhenDoc(ConditionDoc):
    source: NodeId = Field(alias="from")


class SentenceDoc(Doc):
    """A sentence for the answer: `{name}` in `text` stands for a value of that name; `alarm`: it tells of trouble."""

    text: Label
    alarm: bool = False
    values: Annotated[dict[Name, SentenceValueDoc], Field(max_length=8)] = Field(default_factory=dict)
    when: SentenceWhenDoc | None = None

    @model_validator(mode="after")
    def _names_its_values(self) -> Self:
        placeholders = set(PLACEHOLDER.findall(self.text))
        if strange := sorted(placeholders - set(self.values)):
            raise refuse(f"the sentence has no value {quoted(strange[0])}", "Give it in `values`.")
        if spare := sorted(set(self.values) - placeholders):
            raise refuse(f"the text does not use the value {quoted(spare[0])}", f"Write {{{spare[0]}}} into it.")
        if set("{}") & set(PLACEHOLDER.sub("", self.text)):
            raise refuse("a brace of the text belongs to no value", "Write a value as {name}, and no other brace.")
        return self


class PlanDoc(Doc):
    """The head of a plan; its lists are looked at part by part, so that one fault hides no other."""

    starloom: int
    name: Label = "Untitled plan"
    tasks: list[Any]
    dependencies: list[Any] = []
    rules: Annotated[list[Any], Field(max_length=100)] = []
    policy: PolicyDoc = PolicyDoc()
    judge: Annotated[JudgeDoc | None, BeforeValidator(_judge)] = None
    result: Annotated[list[Any], Field(max_length=100)] = []
    sentence: Annotated[list[Any], Field(max_length=8)] = []
