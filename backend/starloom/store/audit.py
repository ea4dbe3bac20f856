"""Reading the history as a record of who did what: whole commits for the audit chain, and events newest first.

Writes nothing; what a link is stands in `chain`. Each function runs in one transaction of its caller and looks at a
bounded part of the log.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from sqlalchemy import Connection, and_, func, or_, select

from starloom.store.chain import Kept
from starloom.store.history import COMMITS, CONSTELLATIONS, EVENTS, PastCommit, read_meta
from starloom.store.port import ActivityPage, Wanted
from starloom_protocol.feed import ACCESS, FLEET, Event, decode_event

LOOKED_AT_MOST: Final = 20_000
"""How many commits one page of activity looks through."""

_blobs = msgspec.msgpack.Decoder(list[bytes])


def kept_of(commit: PastCommit, link: bytes) -> Kept:
    """Return a commit of a history that is not in SQL as `read_kept` returns those that are."""
    rows = []
    for place, body in enumerate(commit.events):
        event = decode_event(body)
        rows.append((place, event.stream, event.seq, event.about, event.kind, event.by, body))
    return Kept(
        at_ms=commit.at_ms,
        chain=link,
        incarnation=commit.incarnation,
        inputs=list(commit.inputs),
        pos=commit.pos,
        rows=rows,
        term=commit.term,
    )


def read_kept(connection: Connection, after: int, limit: int) -> list[Kept]:
    """Return commits after a position, whole."""
    found = connection.execute(select(COMMITS).where(COMMITS.c.pos > after).order_by(COMMITS.c.pos).limit(limit)).all()
    if not found:
        return []
    rows: dict[int, list[tuple[int, str, int, str, str, str, bytes]]] = {row.pos: [] for row in found}
    events = connection.execute(
        select(EVENTS).where(EVENTS.c.pos.between(found[0].pos, found[-1].pos)).order_by(EVENTS.c.pos, EVENTS.c.place)
    )
    for row in events:
        if row.pos in rows:
            rows[row.pos].append((row.place, row.stream, row.seq, row.about, row.kind, row.by, bytes(row.body)))
    return [
        Kept(
            at_ms=row.at_ms,
            chain=None if row.chain is None else bytes(row.chain),
            incarnation=row.incarnation,
            inputs=_blobs.decode(row.inputs) if row.inputs else [],
            pos=row.pos,
            rows=rows[row.pos],
            term=row.term,
        )
        for row in found
    ]


def read_position(connection: Connection, stream: str, seq: int) -> int | None:
    """Return the position of an event of a stream; of its newest for 0."""
    query = select(EVENTS.c.pos).where(EVENTS.c.stream == stream)
    query = query.where(EVENTS.c.seq == seq) if seq else query.order_by(EVENTS.c.seq.desc()).limit(1)
    found = connection.execute(query).scalar()
    return None if found is None else int(found)


def read_owned_since(connection: Connection, pos: int) -> int:
    """Return the first position of the term that a commit belongs to."""
    term = select(COMMITS.c.term).where(COMMITS.c.pos == pos).scalar_subquery()
    other = connection.execute(
        select(func.max(COMMITS.c.pos)).where(COMMITS.c.pos < pos, COMMITS.c.term != term)
    ).scalar()
    return 1 if other is None else int(other) + 1


def read_last_before(connection: Connection, stream: str, pos: int) -> int:
    """Return the number of a stream's last event before a position, 0 if it has none."""
    query = select(EVENTS.c.seq).where(EVENTS.c.stream == stream, EVENTS.c.pos < pos)
    found = connection.execute(query.order_by(EVENTS.c.seq.desc()).limit(1)).scalar()
    return 0 if found is None else int(found)


def read_standing(connection: Connection, pos: int) -> dict[str, int]:
    """Return every stream that may have been live just before a position: those that ended earlier are left out."""
    at_ms = connection.execute(select(COMMITS.c.at_ms).where(COMMITS.c.pos == pos)).scalar() or 0
    table = CONSTELLATIONS.c
    names = connection.execute(
        select(table.id).where(table.created_ms <= at_ms, or_(table.ended_ms == 0, table.ended_ms >= at_ms))
    ).scalars()
    found = {name: read_last_before(connection, name, pos) for name in (FLEET, ACCESS, *names)}
    return {name: seq for name, seq in found.items() if seq}


def read_activity(connection: Connection, wanted: Wanted, before: tuple[int, int] | None, limit: int) -> ActivityPage:
    """Return a page of events, newest first."""
    table = EVENTS.c
    top = read_meta(connection).watermark + 1 if before is None else before[0]
    bottom = top - LOOKED_AT_MOST
    query = select(table.pos, table.place, table.body).where(table.pos > bottom)
    if before is not None:
        query = query.where(or_(table.pos < before[0], and_(table.pos == before[0], table.place < before[1])))
    if wanted.starts:
        query = query.where(or_(*(table.kind.startswith(start, autoescape=True) for start in wanted.starts)))
    if wanted.without:
        query = query.where(table.kind.not_in(wanted.without))
    if wanted.by:
        query = query.where(table.by == wanted.by)
    if wanted.stream:
        query = query.where(table.stream == wanted.stream)
    found: list[tuple[int, int, bytes]] = []
    for row in connection.execute(query.order_by(table.pos.desc(), table.place.desc())):
        body = bytes(row.body)
        if not fits(decode_event(body), body, wanted):
            continue
        found.append((row.pos, row.place, body))
        if len(found) == limit:
            return ActivityPage(events=found, next=(row.pos, row.place))
    return ActivityPage(events=found, next=(bottom + 1, 0) if bottom > 0 else None)


def fits(event: Event, body: bytes, wanted: Wanted) -> bool:
    """Whether an event is among those that are wanted."""
    if wanted.starts and not event.kind.startswith(tuple(wanted.starts)):
        return False
    if event.kind in wanted.without or event.kind.startswith(tuple(wanted.without_starts)):
        return False
    if (wanted.by and event.by != wanted.by) or (wanted.stream and event.stream != wanted.stream):
        return False
    if wanted.about and not _is_about(event, body, wanted.about):
        return False
    return not wanted.text or wanted.text.lower() in _told(event).lower()


def _is_about(event: Event, body: bytes, thing: str) -> bool:
    """Whether an event tells of a device or another thing: by its name, its author, or what it puts."""
    return thing == event.about or event.by.endswith(f":{thing}") or msgspec.json.encode(thing) in body


def _told(event: Event) -> str:
    parts: list[Any] = [event.stream, event.kind, event.about, event.by, event.note]
    return " ".join(parts)
