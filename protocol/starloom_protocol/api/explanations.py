"""Answers to *why*: a sentence for each task that does not move, every candidate device, and the way out."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from starloom_protocol.api.fleet import PageAddress
from starloom_protocol.vocabulary import Attention, ConstellationState, Reason


class CandidateRow(TypedDict):
    """A device that was considered for a task; `reason` is in words, `code` is null where it fits."""

    device: str
    name: str
    fits: bool
    code: Reason | None
    reason: str


class WhyRow(TypedDict):
    """The explanation of a task, or of the whole constellation where `task` is null.

    `fix` is the first of `actions`, which are controls or command lines. `asleep` names the browser tabs for which the
    task waits, and `open` is the page that wakes them. The explanation of a constellation has no field of a task.
    """

    task: str | None
    state: str
    sentence: str
    candidates: list[CandidateRow]
    fix: str | None
    reason: NotRequired[Reason | None]
    word: NotRequired[str]
    waits_for: NotRequired[list[str]]
    actions: NotRequired[list[str]]
    possible: NotRequired[list[str]]
    warning: NotRequired[str]
    asleep: NotRequired[list[str]]
    open: NotRequired[PageAddress | None]


class AttentionRow(TypedDict):
    """A reason for which a constellation needs a person, as a sentence."""

    reason: Attention
    sentence: str


class WhyAll(TypedDict):
    """The explanations of a constellation; `more` counts the tasks that are left out."""

    state: ConstellationState
    attention: list[AttentionRow]
    items: list[WhyRow]
    more: int
