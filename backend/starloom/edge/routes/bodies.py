"""The bodies of requests: one strict model per body; an unknown field is an error with its place."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, field_validator

from starloom_protocol.records.lab import FAULT_MAX_S, FaultKind, FaultTarget
from starloom_protocol.values import name_fault
from starloom_protocol.vocabulary import (
    CatchUp,
    NotifyWhen,
    Overlap,
    PrincipalKind,
    Priority,
    Profile,
    Role,
    Sharing,
)

WORDS_MAX = 4_000
"""A request is a few sentences; a model is given all of it, and each character of it costs tokens."""
REASON_MAX = 1_000
"""A reason is kept in the log and shown in one paragraph beside the decision."""

Reason = Annotated[str, StringConstraints(max_length=REASON_MAX)]
Name = Annotated[str, StringConstraints(max_length=128)]

JOINS_A_CODE_MOST = 10_000
"""Devices of one code: as many as a hub holds (docs/self-hosting.md)."""
CODE_LIFE_MOST_S = 7 * 86_400
"""A rollout by a tool takes days at the most; a code that stays in its files for longer is one that leaks."""


class Body(BaseModel):
    """The base of every body: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


def _clean(name: str) -> str:
    fault = name_fault(name)
    if fault is not None:
        raise ValueError(fault)
    return name


class Asked(Body):
    """A request: words, a plan (a document, or its text), or a recipe; exactly one of them."""

    request: Annotated[str, StringConstraints(max_length=WORDS_MAX)] | None = None
    plan: dict[str, Any] | str | None = None
    recipe: Name | None = None
    params: dict[str, Any] = {}


class AskedPrompt(Body):
    """A request in words whose first prompt is shown; `sharing` as in a submission."""

    request: Annotated[str, StringConstraints(min_length=1, max_length=WORDS_MAX)]
    params: dict[str, Any] = {}
    sharing: Annotated[Sharing, Field(strict=False)] | None = None


class A2aCall(Body):
    """One call of A2A by JSON-RPC."""

    jsonrpc: Literal["2.0"]
    id: Annotated[str, StringConstraints(max_length=128)] | int | None = None
    method: Name
    params: dict[str, Any] = {}


class AskedWhatIf(Asked):
    """A request, and the change: devices that are not there, and devices of which there is a copy, by name or id."""

    without: Annotated[list[Name], Field(max_length=20)] = []
    with_copy_of: Annotated[list[Name], Field(max_length=20)] = []
    within_s: Annotated[int, Field(ge=1, le=30 * 86_400)] | None = None


class EditAsked(Body):
    """An edit that is only asked about: a base version and its operations."""

    base_version: Annotated[int, Field(ge=0)]
    operations: list[Any]


class AskedOfRun(Body):
    """A change of a running constellation that is only asked about: of its devices, or an edit of its plan.

    `within_s` counts from now; without it the chance told is that of the deadline.
    """

    without: Annotated[list[Name], Field(max_length=20)] = []
    with_copy_of: Annotated[list[Name], Field(max_length=20)] = []
    edit: EditAsked | None = None
    within_s: Annotated[int, Field(ge=1, le=30 * 86_400)] | None = None


class Preview(Asked):
    """A request to be looked at. `budget` is the money that it would be given for a language model, in dollars."""

    budget: Annotated[float, Field(gt=0, le=1_000_000)] | None = None


class Create(Asked):
    """A new constellation. `budget` bounds the cost of a language model, in dollars; `attempts` the work of devices.

    `priority` takes precedence over that of the plan. `sharing` narrows the part of results that a model is shown.
    A plan is refused that has a task which no device of now can ever begin; `able: false` takes it nevertheless, to
    wait for a device that joins later.
    """

    able: bool = True
    plan_hash: Annotated[str, StringConstraints(max_length=128)] | None = None
    hold: bool = False
    deadline_s: Annotated[int, Field(ge=0, le=30 * 86_400)] = 0
    attempts: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    budget: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    labels: Annotated[dict[Name, Name], Field(max_length=32)] = {}
    name: Name = ""
    priority: Annotated[Priority, Field(strict=False)] | None = None
    sharing: Annotated[Sharing, Field(strict=False)] | None = None


class Edit(Body):
    """A batch of operations; `{undo: {version: n}}` stands alone and takes back that version.

    The tasks of `retry` run again as the operations leave them, also where the constellation has ended; `confirm` names
    those that may run again although they are not safe to repeat. Without `base_version` it is made on the present
    version. As a new plan is, an edit is refused whose tasks no device of now can ever begin, unless `able` is false.
    """

    able: bool = True

    base_version: Annotated[int, Field(ge=0)] | None = None
    operations: list[Any]
    reason: Reason = ""
    retry: Annotated[list[Name], Field(max_length=10_000)] = []
    confirm: Annotated[list[Name], Field(max_length=10_000)] = []

    @property
    def undone_version(self) -> int | None:
        """The version to take back, if this batch is such an `undo`; else None."""
        if len(self.operations) != 1 or not isinstance(self.operations[0], dict):
            return None
        match self.operations[0]:
            case {"undo": {"version": int(version), **rest}, **more} if not rest and not more and version is not True:
                return version
        return None


class Fork(Body):
    """A fork from a version or a task; `inputs`: new arguments by task and name; `confirm`: work that may run again.

    `preview` only tells the plan that would run.
    """

    from_version: Annotated[int | None, Field(ge=1, le=1_000_000)] = None
    from_task: Name | None = None
    inputs: Annotated[dict[Name, dict[str, Any]], Field(max_length=100)] = {}
    confirm: Annotated[list[Name], Field(max_length=10_000)] = []
    name: Name = ""
    preview: bool = False
    reason: Reason = ""


class UndoWork(Body):
    """The tasks whose work is taken back; without names, all tasks that declare how. `preview` only tells them."""

    preview: bool = False
    tasks: Annotated[list[Name], Field(max_length=1_000)] = []
    reason: Reason = ""


class DraftOf(Body):
    """The tasks that a person is editing; a page repeats this before `ttl_s` is over."""

    tasks: Annotated[list[Name], Field(min_length=1, max_length=200)]
    ttl_s: Annotated[int, Field(ge=1, le=120)] = 120


class Control(Body):
    """`value` and `state` belong to `mark`; `confirm` names work that may run again."""

    reason: Reason = ""
    confirm: Annotated[list[Name], Field(max_length=10_000)] = []
    state: Literal["succeeded", "failed", "skipped"] = "succeeded"
    value: Any = None


class Answered(Body):
    value: Annotated[str, StringConstraints(max_length=1_000)]
    reason: Reason = ""


class Approved(Body):
    """`always` allows this tool with these arguments here from now on; `anyway`: devices of the plan may be gone."""

    always: bool = False
    anyway: bool = False
    reason: Reason = ""


class Reasoned(Body):
    reason: Reason = ""


class SeenNotices(Body):
    """The schedules whose notices a person has seen, by id or name."""

    schedules: Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=500)]


class Judged(Body):
    """`action` identifies the question that the caller saw; an answer to another one is refused."""

    action: Annotated[str, Field(max_length=200)] = ""
    reason: Reason = ""


class SetModel(Body):
    """`key` absent: the one that is kept for just this address; "": none."""

    url: Annotated[str, Field(min_length=1, max_length=500)]
    model: Annotated[str, Field(min_length=1, max_length=200)]
    wire: Literal["", "openai", "anthropic"] = ""
    key: Annotated[str, Field(max_length=4096)] | None = None
    dollars_per_day: Annotated[float, Field(ge=0, le=1_000_000)] | None = None
    share: Annotated[Sharing, Field(strict=False)] = Sharing.CARDS
    tokens_per_day: Annotated[int, Field(ge=0, le=10**12)] | None = None


class SetRole(Body):
    """The model of a role. An empty `url` is the planner's address, with the planner's key; `key` as for `SetModel`."""

    model: Annotated[str, Field(min_length=1, max_length=200)]
    url: Annotated[str, Field(max_length=500)] = ""
    wire: Literal["", "openai", "anthropic"] = ""
    key: Annotated[str, Field(max_length=4096)] | None = None


class TriedModel(SetModel):
    """An empty body tries the model that is set; with `role` the model that it would be given."""

    url: Annotated[str, Field(max_length=500)] = ""
    model: Annotated[str, Field(max_length=200)] = ""
    role: Literal["", "reviewer", "writer", "judge", "worker", "small", "fallback"] = ""


def _label(value: str) -> str:
    if "," in _clean(value):
        raise ValueError("a label has no comma")
    return value


Labels = Annotated[list[Annotated[Name, AfterValidator(_label)]], Field(max_length=32)]


class PatchDevice(Body):
    name: Name | None = None
    labels: Labels | None = None

    @field_validator("name")
    @classmethod
    def _name(cls, value: str | None) -> str | None:
        return None if value is None else _clean(value)


class DeviceControl(Reasoned):
    """`deadline_s` belongs to a drain: repeatable work is moved away after it; 0 is at once, absent never."""

    deadline_s: Annotated[int, Field(ge=0, le=7 * 86_400)] | None = None


class Enroll(Body):
    """`preapproved` lets the device in without comparing words: for devices of this machine, or reached by ssh.

    `installs`: a preapproved device needs the agent's wheels, too; `replaces` is the device whose name it takes.
    `devices` of them may use the code, until `ends_in_s` is over (0: as in the hub's settings). `labels` are given to
    each of them, beside those that it asks for.
    """

    label: Name = ""
    labels: Labels = []
    name: Name = ""
    profile_most: Profile = Profile.OPERATE
    preapproved: bool = False
    demo: bool = False
    installs: bool = False
    replaces: Annotated[str, StringConstraints(max_length=64)] = ""
    devices: Annotated[int, Field(ge=1, le=JOINS_A_CODE_MOST)] = 1
    ends_in_s: Annotated[int, Field(ge=0)] = 0


class Join(Body):
    """A device redeems a join code with its own public key (base64 of 32 bytes).

    `labels` are a request: the person who approves the device sees them and grants them.
    """

    code: Annotated[str, StringConstraints(max_length=64)]
    key: Annotated[str, StringConstraints(max_length=64)]
    name: Name
    os: Annotated[str, StringConstraints(max_length=64)] = ""
    profile: Profile = Profile.OBSERVE
    labels: Labels = []

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        return _clean(value)


class SignedBody(Body):
    """A request that a device signs with its key (`starloom_protocol.wire.channel`)."""

    device: Annotated[str, StringConstraints(max_length=64)]
    nonce: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    signature: Annotated[str, StringConstraints(max_length=128)]


class SignInBody(Body):
    id: Annotated[str, StringConstraints(max_length=64)]
    secret: Annotated[str, StringConstraints(max_length=128)]


class NewToken(Body):
    role: Role = Role.VIEWER
    ttl_s: Annotated[int, Field(ge=0, le=366 * 86_400)] = 30 * 86_400
    label: Name = ""
    scopes: Annotated[list[Name], Field(max_length=16)] = []
    holder: Annotated[Name, Field(alias="for")] = ""
    kind: PrincipalKind | None = None


class NewLink(Body):
    """A sign-in link: for oneself, or for a person by name with the rights that it is to have."""

    holder: Annotated[Name, Field(alias="for")] = ""
    role: Role | None = None
    scopes: Annotated[list[Name], Field(max_length=16)] = []
    ttl_s: Annotated[int, Field(ge=60, le=366 * 86_400)] = 30 * 86_400


class NewRole(Body):
    """The role that a person or a program is to have."""

    role: Role


class LabNote(Body):
    """A note for the log of a constellation: the lab's action on something that is not a device of this hub."""

    constellation: Name
    note: Reason


Seconds = Annotated[float, Field(gt=0, le=FAULT_MAX_S)]


class NewFault(Body):
    """A fault to inject: its device (name or id), kind and duration. `by_s` is the size of a delay or clock error."""

    target: Literal["device", "link"]
    device: Name
    kind: FaultKind
    for_s: Seconds = 5.0
    by_s: Annotated[float, Field(ge=-366 * 86_400, le=366 * 86_400)] | None = None


class FaultReport(Body):
    """The report of the lab's program on a fault: what was done, or why it was not (`failed`)."""

    note: Reason = ""
    failed: bool = False


class LabHold(Body):
    """The devices that a program of the lab runs, the faults possible for each, and the orders that it has seen."""

    devices: Annotated[
        dict[Name, Annotated[dict[FaultTarget, Annotated[list[FaultKind], Field(max_length=10)]], Field(max_length=5)]],
        Field(max_length=16),
    ]
    seen: Annotated[list[Name], Field(max_length=100)] = []


class NewRun(Body):
    """A run of a scenario, with its own seed or another."""

    seed: Annotated[int, Field(ge=0, lt=2**53)] | None = None


Cron = Annotated[str, StringConstraints(max_length=128, strip_whitespace=True)]
DaysOff = Annotated[str, StringConstraints(max_length=256 * 1024)]


class ClockAsked(Asked):
    """Scheduled work and its clock. `from_constellation` repeats the request of that constellation.

    `except_days` are days without a firing, as people write them, or the text of a calendar file that has them.

    Without `lists`, found files go into the trash unseen each time; the schedule then keeps exactly this plan.
    """

    from_constellation: Name | None = None
    lists: bool = True
    cron: Cron = ""
    zone: Name = ""
    except_days: DaysOff = ""


class NewSchedule(ClockAsked):
    """`plan_hash` approves the plan of the preview, for every firing that reaches no further."""

    plan_hash: Annotated[str, StringConstraints(max_length=128)] | None = None
    name: Name = ""
    overlap: Overlap = Overlap.SKIP
    catch_up: CatchUp = CatchUp.LAST
    notify: NotifyWhen = NotifyWhen.FAILURE
    notify_device: Name | None = None
    deadline_s: Annotated[int, Field(ge=0, le=30 * 86_400)] = 0

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        return _clean(value) if value else value


class PatchSchedule(Body):
    """The fields that are given change; `request`, `plan` or `recipe` change the work of the schedule."""

    request: Annotated[str, StringConstraints(max_length=WORDS_MAX)] | None = None
    plan: dict[str, Any] | str | None = None
    recipe: Name | None = None
    params: dict[str, Any] | None = None
    lists: bool | None = None
    cron: Cron | None = None
    zone: Name | None = None
    except_days: DaysOff | None = None
    plan_hash: Annotated[str, StringConstraints(max_length=128)] | None = None
    name: Name | None = None
    overlap: Overlap | None = None
    catch_up: CatchUp | None = None
    notify: NotifyWhen | None = None
    notify_device: Name | None = None
    deadline_s: Annotated[int, Field(ge=0, le=30 * 86_400)] | None = None

    @field_validator("name")
    @classmethod
    def _name(cls, value: str | None) -> str | None:
        return None if value is None else _clean(value)

    @property
    def brings_work(self) -> bool:
        """Whether it says all of what runs from now on, and changes nothing of what ran before."""
        return self.request is not None or self.plan is not None or self.recipe is not None
