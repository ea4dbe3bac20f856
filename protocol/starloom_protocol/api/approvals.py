"""Answers about questions to people and standing approvals."""

from __future__ import annotations

from typing import Any, TypedDict

from starloom_protocol.records.entities import Choice
from starloom_protocol.vocabulary import Effect


class CallRow(TypedDict):
    """A call that a plan would make, with whole arguments."""

    args: Any
    devices: list[str]
    effects: list[Effect]
    task: str
    tool: str


class ChangingCalls(TypedDict):
    """The calls of a plan that do more than read, with devices by name, and how many more there are.

    `gone` has a sentence for each device that is gone and without which tasks of the plan cannot run, `held` one for
    each grant that a device lacks, so that tasks wait there after the approval.
    """

    items: list[CallRow]
    more: int
    gone: list[str]
    held: list[str]


ShownRow = TypedDict("ShownRow", {"from": str, "output": str, "value": Any, "left_out": int})
"""The part of a result that stands beside a question; of a longer one the beginning of its text."""


class QuestionRow(TypedDict):
    """A question to a person: an approval, a task for a person, or the wish of a reviewer."""

    id: str
    constellation: str
    question: str
    kind: str
    task: str | None
    text: str
    choices: list[Choice]
    effects: list[Effect]
    wider: list[str]
    operations: Any
    action: str | None
    version: int
    opened_at: str | None
    expires_at: str | None
    answer: str | None
    answered_by: str | None
    answered_at: str | None
    reason: str
    shown: ShownRow | None
    calls: list[CallRow]
    once_because: str
    usual: str


class NamedQuestionRow(QuestionRow):
    """A question with the name of its constellation.

    `takes_away` has the values of the choices after which files leave their place, `author` is who asked for the plan.
    Of an open question, `only` are the people whose answer alone counts; empty: everybody who may approve answers it.
    """

    author: str
    constellation_name: str
    only: list[str]
    takes_away: list[str]


class GivenAnswer(TypedDict):
    """The answer that a question took."""

    id: str
    answer: str


class NamedDevice(TypedDict):
    """A device by id and name."""

    id: str
    name: str


class StandingRow(TypedDict):
    """A standing approval."""

    id: str
    tool: str
    args: Any
    devices: list[NamedDevice]
    effects: list[Effect]
    by: str
    at: str | None
    constellation: str


class Revoked(TypedDict):
    """A standing approval that is revoked."""

    id: str
