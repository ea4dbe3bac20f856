"""Reads of the history as a record of activity: whole commits for the audit chain, and events newest first.

Writes nothing; `chain` defines the links. Each function runs in one transaction of its caller and reads a bounded part
of the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, exists, func, or_, select

from starloom.store.chain import ChainedCommit, Span
from starloom.store.port import ActivityFilter, ActivityPage
from starloom.store.sql.history import COMMITS, CONSTELLATIONS, PRUNED, SPANS, read_meta, unpack
from starloom_protocol.stream.authors import who
from starloom_protocol.stream.feed import ACCESS, FLEET, Event, decode_event

LOOKED_AT_MOST: Final = 20_000
"""The most commits that are searched for one page of activity."""

COMMITS_AT_ONCE: Final = 50
"""The commits whose events are in memory together while a page is searched."""


def read_whole_commits(connection: Connection, after: int, limit: int) -> list[ChainedCommit]:
    """Return whole commits after a position."""
    rows = connection.execute(select(COMMITS).where(COMMITS.c.pos > after).order_by(COMMITS.c.pos).limit(limit)).all()
    if not rows:
        return []
    spans: dict[int, list[Span]] = {row.pos: [] for row in rows}
    for span in connection.execute(select(SPANS).where(SPANS.c.pos.between(rows[0].pos, rows[-1].pos))):
        if span.pos in spans:
            spans[span.pos].append(Span(span.stream, span.last_seq, span.told))
    return [
        ChainedCommit(
            at_ms=row.at_ms,
            chain=None if row.chain is None else bytes(row.chain),
            events=_listed(row.events),
            incarnation=row.incarnation,
            inputs=_listed(row.inputs),
            pos=row.pos,
            pruning=row.pruning or 0,
            spans=spans[row.pos],
            term=row.term,
        )
        for row in rows
    ]


def _listed(raw: bytes | None) -> list[bytes]:
    """Return a column's list; an unreadable one is empty, which differs from the chained one."""
    try:
        return unpack(raw) if raw else []
    except msgspec.DecodeError:
        return []


def read_position(connection: Connection, stream: str, seq: int) -> int | None:
    """Return the position of an event of a stream, for 0 of its newest; None for a pruned stream."""
    query = select(SPANS.c.pos).where(SPANS.c.stream == stream, ~exists().where(PRUNED.c.id == stream))
    if seq:
        query = query.where(SPANS.c.last_seq >= seq).order_by(SPANS.c.last_seq)
    else:
        query = query.order_by(SPANS.c.last_seq.desc())
    pos = connection.execute(query.limit(1)).scalar()
    return None if pos is None else int(pos)


def read_owned_since(connection: Connection, pos: int) -> int:
    """Return the first position of the term to which a commit belongs."""
    term = select(COMMITS.c.term).where(COMMITS.c.pos == pos).scalar_subquery()
    foreign_pos = connection.execute(
        select(func.max(COMMITS.c.pos)).where(COMMITS.c.pos < pos, COMMITS.c.term != term)
    ).scalar()
    return 1 if foreign_pos is None else int(foreign_pos) + 1


def read_last_before(connection: Connection, stream: str, pos: int) -> int:
    """Return the number of a stream's last event before a position, 0 if it has none."""
    query = select(SPANS.c.last_seq).where(SPANS.c.stream == stream, SPANS.c.pos < pos)
    seq = connection.execute(query.order_by(SPANS.c.last_seq.desc()).limit(1)).scalar()
    return 0 if seq is None else int(seq)


def read_live_before(connection: Connection, pos: int) -> dict[str, int]:
    """Return every stream that may have been live just before a position, without those that ended earlier."""
    at_ms = connection.execute(select(COMMITS.c.at_ms).where(COMMITS.c.pos == pos)).scalar() or 0
    table = CONSTELLATIONS.c
    names = connection.execute(
        select(table.id).where(table.created_ms <= at_ms, or_(table.ended_ms == 0, table.ended_ms >= at_ms))
    ).scalars()
    last_seqs = {name: read_last_before(connection, name, pos) for name in (FLEET, ACCESS, *names)}
    return {name: seq for name, seq in last_seqs.items() if seq}


def read_activity(
    connection: Connection, wanted: ActivityFilter, before: tuple[int, int] | None, limit: int
) -> ActivityPage:
    """Return a page of events, newest first."""
    top, below = before or (read_meta(connection).watermark + 1, 0)
    bottom = top - LOOKED_AT_MOST
    page: list[tuple[int, int, bytes]] = []
    for pos, events in _commits_with(connection, wanted, bottom, top):
        for place in reversed(range(min(below, len(events)) if pos == top else len(events))):
            body = events[place]
            if not fits(decode_event(body), body, wanted):
                continue
            page.append((pos, place, body))
            if len(page) == limit:
                return ActivityPage(events=page, next=(pos, place))
    return ActivityPage(events=page, next=(bottom + 1, 0) if bottom > 0 else None)


def _commits_with(
    connection: Connection, wanted: ActivityFilter, above: int, to: int
) -> Iterator[tuple[int, list[bytes]]]:
    """Yield position and events of the commits that, by the index, may hold wanted events, newest first."""
    query = select(SPANS.c.pos, SPANS.c.told).where(SPANS.c.pos > above, SPANS.c.pos <= to)
    if wanted.stream:
        query = query.where(SPANS.c.stream == wanted.stream)
    spans = connection.execute(query.order_by(SPANS.c.pos.desc()))
    at = list(dict.fromkeys(pos for pos, kinds in spans if _may_fit(kinds, wanted)))
    for first in range(0, len(at), COMMITS_AT_ONCE):
        some = at[first : first + COMMITS_AT_ONCE]
        rows = connection.execute(
            select(COMMITS.c.pos, COMMITS.c.events).where(COMMITS.c.pos.in_(some)).order_by(COMMITS.c.pos.desc())
        )
        for row in rows:
            yield row.pos, _listed(row.events)


def _may_fit(kinds: str, wanted: ActivityFilter) -> bool:
    for line in kinds.split("\n"):
        kind, _, by = line.partition(" ")
        if _is_kind(kind, wanted) and _is_by(by, wanted):
            return True
    return False


def _is_by(by: str, wanted: ActivityFilter) -> bool:
    """Tell whether an author is the wanted one, with any token."""
    return not wanted.by or wanted.by in (by, who(by))


def _is_kind(kind: str, wanted: ActivityFilter) -> bool:
    return (not wanted.kinds or kind in wanted.kinds) and kind not in wanted.without


def fits(event: Event, body: bytes, wanted: ActivityFilter) -> bool:
    """Tell whether an event is wanted."""
    if (
        not _is_kind(event.kind, wanted)
        or not _is_by(event.by, wanted)
        or (wanted.stream and event.stream != wanted.stream)
    ):
        return False
    if wanted.about and not _is_about(event, body, wanted.about):
        return False
    return not wanted.text or wanted.text.lower() in _searched_text(event).lower()


def _is_about(event: Event, body: bytes, thing: str) -> bool:
    """Tell whether an event is about a device or another thing: by its name, its author, or its puts."""
    return thing == event.about or event.by.endswith(f":{thing}") or msgspec.json.encode(thing) in body


def _searched_text(event: Event) -> str:
    parts: list[Any] = [event.stream, event.kind, event.about, event.by, event.note]
    return " ".join(parts)
