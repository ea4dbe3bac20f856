"""Commits and events as the engine would make them, small and readable."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from starloom.store.port import Commit, Ownership
from starloom_protocol.records.entities import Attempt, Head, encode_entity
from starloom_protocol.stream.feed import Event, decode_event, encode_event
from starloom_protocol.vocabulary import ConstellationState, Repeatability

Puts = dict[str, bytes | None]


def task(word: str) -> bytes:
    return f'{{"since_ms":1,"state":"{word}"}}'.encode()


def head(
    id: str,  # noqa: A002 - the entity's own word
    *,
    created_ms: int = 1,
    name: str = "A name",
    request: str = "",
    state: ConstellationState = ConstellationState.ACTIVE,
    version: int = 1,
    ended_ms: int = 0,
) -> bytes:
    return encode_entity(
        Head(
            author="person:ann",
            created_ms=created_ms,
            ended_ms=ended_ms,
            id=id,
            name=name,
            request=request,
            state=state,
            version=version,
        )
    )


def attempt(device: str) -> bytes:
    return encode_entity(Attempt(device=device, incarnation=1, leased_ms=1, repeatability=Repeatability.PURE))


def event(stream: str, seq: int, puts: Puts, *, at_ms: int = 1) -> bytes:
    return encode_event(
        Event(
            about="a",
            at_ms=at_ms,
            by="engine",
            kind="task_changed",
            puts={key: None if raw is None else msgspec.Raw(raw) for key, raw in puts.items()},
            seq=seq,
            stream=stream,
        )
    )


def commit(
    own: Ownership,
    pos: int,
    parts: Sequence[tuple[str, int, Puts]],
    *,
    at_ms: int = 1,
    incarnation: int | None = None,
    outbox: Sequence[bytes] = (),
    sent_pos: int = 0,
    term: int | None = None,
) -> Commit:
    """Return a commit of one event for each part (stream, seq, puts)."""
    entities: dict[str, dict[str, bytes | None]] = {}
    heads: dict[str, int] = {}
    for stream, seq, puts in parts:
        heads[stream] = seq
        for key, raw in puts.items():
            entities.setdefault(stream, {})[key] = raw
    return Commit(
        at_ms=at_ms,
        entities=entities,
        events=[event(stream, seq, puts, at_ms=at_ms) for stream, seq, puts in parts],
        heads=list(heads.items()),
        incarnation=own.incarnation if incarnation is None else incarnation,
        outbox=list(outbox),
        pos=pos,
        sent_pos=sent_pos,
        term=own.term if term is None else term,
    )


def seqs(events: list[bytes]) -> list[int]:
    return [decode_event(raw).seq for raw in events]
