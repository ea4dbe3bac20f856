"""The index of the history: which commits hold the events of a stream, and of what kind they are.

Owns what a line of it says. It is derived from the events alone, so whoever reads the whole log can check it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

import msgspec


class Numbered(msgspec.Struct):
    """By what an event is sorted out from others: its stream and its number in it."""

    seq: int
    stream: str


decode_numbered: Final = msgspec.json.Decoder(Numbered).decode
"""Reads `Numbered` from an event's bytes."""


class Told(Protocol):
    """What of an event is in the index."""

    @property
    def by(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def seq(self) -> int: ...

    @property
    def stream(self) -> str: ...


class Span(NamedTuple):
    """The events of one stream in one commit: the number of the last, and each `kind by` among them, a line each."""

    stream: str
    last_seq: int
    told: str


def spans_of(events: Iterable[Told]) -> list[Span]:
    """Return the spans of a commit in the order in which its streams come up; numbers must rise within a stream."""
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
