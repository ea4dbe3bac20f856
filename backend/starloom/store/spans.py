"""The index of the history: the commits that hold the events of a stream, and the kinds of these events.

Owns the content of its lines. It is derived from the events alone, so a reader of the whole log can check it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

import msgspec


class Numbered(msgspec.Struct):
    """The identity of an event: its stream and its number in it."""

    seq: int
    stream: str


decode_numbered: Final = msgspec.json.Decoder(Numbered).decode
"""Reads `Numbered` from an event's bytes."""


class Told(Protocol):
    """The fields of an event that are in the index."""

    @property
    def by(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def seq(self) -> int: ...

    @property
    def stream(self) -> str: ...


class Span(NamedTuple):
    """The events of one stream in one commit: the number of the last, and each different `kind by`, one a line."""

    stream: str
    last_seq: int
    told: str


def spans_of(events: Iterable[Told]) -> list[Span]:
    """Return the spans of a commit in the order of first appearance; numbers must rise within a stream."""
    last: dict[str, int] = {}
    told: dict[str, dict[tuple[str, str], None]] = {}
    for event in events:
        stream = event.stream
        last[stream] = event.seq
        pairs = told.get(stream)
        if pairs is None:
            pairs = told[stream] = {}
        pairs[event.kind, event.by] = None
    return [Span(stream, seq, "\n".join(map(" ".join, told[stream]))) for stream, seq in last.items()]
