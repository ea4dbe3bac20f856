"""Answers about the model: its settings, its budget, the text that would leave the machine, and a test."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from starloom_protocol.vocabulary import Sharing


class PromptRow(TypedDict):
    """A part of a planning prompt as it is sent."""

    title: str
    text: str


class Spent(TypedDict):
    """The use of the model today."""

    calls: int
    dollars: float
    tokens: int


class DayBudget(TypedDict):
    """The most that the model may cost in a day; null is no limit."""

    dollars_per_day: float | None
    tokens_per_day: int | None


class ModelFaultRow(TypedDict):
    """The fault of the settings of a model."""

    reason: str
    hint: str


class ModelOfRole(TypedDict):
    """The model that a role has beside the planner's: reviewer, writer, judge, worker, small or fallback."""

    role: str
    model: str
    host: str


class RoleSetting(TypedDict):
    """The model that the page has set for a role, without its key; an empty `url` is the planner's address."""

    role: str
    model: str
    url: str
    wire: str
    key: bool


class ModelState(TypedDict):
    """The model of this hub, without its key. `given`: the hub's own settings name it.

    `others` are the models of roles that have one of their own, `roles` those that the page has set, and `given_roles`
    the roles that the hub's own settings name.
    """

    parts: list[PromptRow]
    set: bool
    given: bool
    spent_today: Spent
    fault: NotRequired[ModelFaultRow]
    budget: NotRequired[DayBudget]
    host: NotRequired[str]
    key: NotRequired[bool]
    model: NotRequired[str]
    others: NotRequired[list[ModelOfRole]]
    given_roles: NotRequired[list[str]]
    roles: NotRequired[list[RoleSetting]]
    share: NotRequired[Sharing]
    url: NotRequired[str | None]
    wire: NotRequired[str]


class ModelHost(TypedDict):
    """A model and the host that it is asked at."""

    host: str
    model: str


class FirstPrompt(TypedDict):
    """The first text that the model would be sent for a request in words, and where it goes; nothing was sent.

    The first of `parts` is the instructions. The others are one message, with an empty line between two. `share` is
    what the model may be shown of results, at most `hub_share`. `bytes` are those of the parts. `tokens` is an
    estimate that has the form of an answer in it, `dollars` is about the price with an answer of usual length, null
    where it is not known.
    """

    parts: list[PromptRow]
    bytes: int
    dollars: float | None
    host: str
    hub_share: Sharing
    local: bool
    model: str
    share: Sharing
    tokens: int
    fallback: NotRequired[ModelHost]
    """The model that is asked where the first is away."""


class ModelReply(TypedDict):
    """The reply to a test of the model."""

    reply: str
    seconds: float
    tokens: int
