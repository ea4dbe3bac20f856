"""What requests may carry: one strict model per body; an unknown field is an error with its place."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from starloom_protocol.values import name_fault
from starloom_protocol.vocabulary import CatchUp, NotifyWhen, Overlap, Profile, Role

WORDS_MAX = 4_000
REASON_MAX = 1_000

Reason = Annotated[str, StringConstraints(max_length=REASON_MAX)]
Name = Annotated[str, StringConstraints(max_length=128)]


class Body(BaseModel):
    """What every body is."""

    model_config = ConfigDict(extra="forbid")


def _clean(name: str) -> str:
    fault = name_fault(name)
    if fault is not None:
        raise ValueError(fault)
    return name


class Asked(Body):
    """What is asked for: words, a plan (a document, or its text), or a recipe; exactly one of them."""

    request: Annotated[str, StringConstraints(max_length=WORDS_MAX)] | None = None
    plan: dict[str, Any] | str | None = None
    recipe: Name | None = None
    params: dict[str, Any] = {}


class Create(Asked):
    """A new constellation. `budget` bounds what a language model may cost; without a model nothing costs."""

    plan_hash: Annotated[str, StringConstraints(max_length=128)] | None = None
    hold: bool = False
    deadline_s: Annotated[int, Field(ge=0, le=30 * 86_400)] = 0
    budget: Annotated[float, Field(ge=0)] | None = None
    labels: Annotated[dict[Name, Name], Field(max_length=32)] = {}
    name: Name = ""


class Edit(Body):
    base_version: Annotated[int, Field(ge=0)]
    operations: list[Any]
    reason: Reason = ""


class DraftOf(Body):
    """The tasks that a person is editing; a page says so again before `ttl_s` is over."""

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
    """`always` allows this tool with these arguments here from now on."""

    always: bool = False
    reason: Reason = ""


class Reasoned(Body):
    reason: Reason = ""


class PatchDevice(Body):
    name: Name | None = None
    labels: Annotated[list[Name], Field(max_length=32)] | None = None

    @field_validator("name")
    @classmethod
    def _name(cls, value: str | None) -> str | None:
        return None if value is None else _clean(value)

    @field_validator("labels")
    @classmethod
    def _labels(cls, value: list[str] | None) -> list[str] | None:
        for label in value or []:
            if "," in _clean(label):
                raise ValueError("a label has no comma")
        return value


class Enroll(Body):
    """`preapproved` lets the device in without comparing words: for devices of this very machine, or reached by ssh.

    `installs` says that it will want the agent's wheels all the same; `replaces` is the device whose name it takes.
    """

    label: Name = ""
    name: Name = ""
    profile_most: Profile = Profile.OPERATE
    preapproved: bool = False
    demo: bool = False
    installs: bool = False
    replaces: Annotated[str, StringConstraints(max_length=64)] = ""


class Join(Body):
    """A device redeems a join code with its own public key (base64 of 32 bytes)."""

    code: Annotated[str, StringConstraints(max_length=64)]
    key: Annotated[str, StringConstraints(max_length=64)]
    name: Name
    os: Annotated[str, StringConstraints(max_length=64)] = ""
    profile: Profile = Profile.OBSERVE

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        return _clean(value)


class SignInBody(Body):
    id: Annotated[str, StringConstraints(max_length=64)]
    secret: Annotated[str, StringConstraints(max_length=128)]


class NewToken(Body):
    role: Role = Role.VIEWER
    ttl_s: Annotated[int, Field(ge=0, le=366 * 86_400)] = 30 * 86_400
    label: Name = ""
    scopes: Annotated[list[Name], Field(max_length=16)] = []


class NewFault(Body):
    """A note of what the lab did, for the log of a constellation."""

    constellation: Name
    note: Reason


Cron = Annotated[str, StringConstraints(max_length=128, strip_whitespace=True)]


class ClockAsked(Asked):
    """What is to run on a clock, and when. `from_constellation` repeats what was asked for there."""

    from_constellation: Name | None = None
    cron: Cron = ""
    zone: Name = ""


class NewSchedule(ClockAsked):
    """`plan_hash` approves what the preview showed, for every firing that reaches no further."""

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
    """What is given changes; giving `request`, `plan` or `recipe` changes what runs."""

    request: Annotated[str, StringConstraints(max_length=WORDS_MAX)] | None = None
    plan: dict[str, Any] | str | None = None
    recipe: Name | None = None
    params: dict[str, Any] | None = None
    cron: Cron | None = None
    zone: Name | None = None
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
        return _clean(value) if value else value
