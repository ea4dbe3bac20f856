"""Answers about the history of a constellation: events, output, forks, undone work, authors, uploaded artifacts."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class EventRow(TypedDict):
    """One numbered event; `puts` are the entities that it changed, null for a removed one."""

    about: NotRequired[str]
    at_ms: int
    by: str
    kind: str
    note: NotRequired[str]
    puts: dict[str, Any]
    seq: int
    stream: str


class EventPage(TypedDict):
    """Events in order; `next` is the number of the last one."""

    items: list[EventRow]
    next: int


class OutputLine(TypedDict):
    """A found line of output, and the offset at which it begins."""

    offset: int
    text: str


class Output(TypedDict):
    """Output of an attempt: a range of it, or the found `lines`.

    `text` of a range covers `offset` to `next`; `end` is the number of bytes so far, `lost` are missing ranges.
    """

    text: str
    lines: NotRequired[list[OutputLine]]
    offset: NotRequired[int]
    next: NotRequired[int]
    end: NotRequired[int]
    lost: NotRequired[list[tuple[int, int]]]


class Forked(TypedDict):
    """A fork; only its id where the same request has made it before."""

    id: str
    state: NotRequired[str]
    version: NotRequired[int]


class Undone(TypedDict):
    """The version that undoes work, and the tasks whose work cannot be undone."""

    version: int
    undoing: list[str]
    cannot_be_undone: list[str]


class BlameLine(TypedDict):
    """A version with its author and reason."""

    version: int
    author: str
    trigger: str
    reason: str
    at: str | None


class BlameRow(TypedDict):
    """A task or dependency with the versions that made it as it is."""

    kind: Literal["task", "dependency"]
    id: str
    added: BlameLine | None
    changed: list[BlameLine]


class Uploaded(TypedDict):
    """An artifact that was uploaded, named by its hash."""

    artifact: str
    bytes: int
