"""What is written to and read from the durable history; each function runs in one transaction of its caller.

Owns the meaning of the tables. It writes whole commits in order, and only for the owner whose term and watermark
the history itself knows: a paused owner that wakes cannot add a commit that was decided otherwise meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec
from sqlalchemy import Connection, Dialect, Executable, Table, bindparam, func, insert, or_, select, tuple_, update
from sqlalchemy.dialects import sqlite

from starloom.store.chain import BEGINNING, digest_of, link_of
from starloom.store.port import Commit, StreamRow
from starloom.store.scripts import LogEntry
from starloom.store.tables import META_ID, CommitRow, ConstellationDeviceRow, ConstellationRow, EventRow, MetaRow
from starloom_protocol.entities import Head
from starloom_protocol.feed import Event, decode_event
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

META: Final[Table] = MetaRow.__table__  # type: ignore[attr-defined]
COMMITS: Final[Table] = CommitRow.__table__  # type: ignore[attr-defined]
EVENTS: Final[Table] = EventRow.__table__  # type: ignore[attr-defined]
CONSTELLATIONS: Final[Table] = ConstellationRow.__table__  # type: ignore[attr-defined]
DEVICES: Final[Table] = ConstellationDeviceRow.__table__  # type: ignore[attr-defined]

_outbox_encoder = msgspec.msgpack.Encoder()
_outbox_decoder = msgspec.msgpack.Decoder(list[bytes])
_head_decoder = msgspec.json.Decoder(Head)


class _AttemptDevice(msgspec.Struct):
    device: str


_attempt_decoder = msgspec.json.Decoder(_AttemptDevice)
# These tell of an attempt that was leased by an event before: its device was noted with that one.
_OF_A_KNOWN_ATTEMPT: Final = frozenset({"task_started", "task_succeeded"})
_FINAL: Final = sorted(str(state) for state in FINAL_CONSTELLATION_STATES)
_PARAMETERS_MOST: Final = 500


class Meta(msgspec.Struct, frozen=True):
    incarnation: int
    run_id: str
    term: int
    watermark: int


class Superseded(Exception):
    """Another owner writes this history now; what this one still had is decided by the other."""


# The columns of `events` in the table's order: stream, seq, about, at_ms, body, by, kind, place, pos.
EventTuple = tuple[str, int, str, int, bytes, str, str, int, int]


class Projected(msgspec.Struct, frozen=True):
    """The rows of a batch of commits, made outside the transaction; `digests` are what the audit chain binds."""

    answers: list[dict[str, Any]]
    commits: list[dict[str, Any]]
    devices: list[dict[str, str]]
    digests: list[bytes]
    events: list[EventTuple]
    heads: list[dict[str, Any]]
    first: int
    last: int


class PastCommit(msgspec.Struct, frozen=True, kw_only=True):
    """What a projection or a rebuild needs of a commit, whether it comes from the owner's memory or the log."""

    at_ms: int
    events: Sequence[bytes]
    incarnation: int
    outbox: Sequence[bytes]
    pos: int
    sent_pos: int
    term: int
    inputs: Sequence[bytes] = ()
    told: Sequence[Event] = ()


def past_of(commit: Commit | LogEntry) -> PastCommit:
    """Return a commit as the projector takes it."""
    return PastCommit(
        at_ms=commit.at_ms,
        events=commit.events,
        incarnation=commit.incarnation,
        outbox=commit.outbox,
        pos=commit.pos,
        sent_pos=commit.sent_pos,
        term=commit.term,
        inputs=commit.inputs,
        told=commit.told if isinstance(commit, Commit) else (),
    )


def rows_of(batch: Sequence[PastCommit]) -> Projected:
    """Return the rows of consecutive commits; of several heads of one constellation only the last counts."""
    commits: list[dict[str, Any]] = []
    events: list[EventTuple] = []
    heads: dict[str, bytes] = {}
    answers: dict[str, bytes | None] = {}
    devices: dict[tuple[str, str], None] = {}
    for commit in batch:
        commits.append(
            {
                "pos": commit.pos,
                "at_ms": commit.at_ms,
                "chain": None,
                "incarnation": commit.incarnation,
                "inputs": _outbox_encoder.encode(commit.inputs) if commit.inputs else None,
                "outbox": _outbox_encoder.encode(commit.outbox) if commit.outbox else None,
                "sent_pos": commit.sent_pos,
                "term": commit.term,
            }
        )
        pos = commit.pos
        told = commit.told or map(decode_event, commit.events)
        for place, (body, event) in enumerate(zip(commit.events, told, strict=True)):
            kind = event.kind
            events.append((event.stream, event.seq, event.about, event.at_ms, body, event.by, kind, place, pos))
            if kind not in _OF_A_KNOWN_ATTEMPT:
                _note_entities(event, heads, answers, devices)
    return Projected(
        answers=[{"stream": stream, "answer": answer} for stream, answer in answers.items()],
        commits=commits,
        devices=[{"constellation": stream, "device": device} for stream, device in devices],
        digests=[digest_of(commit) for commit in batch],
        events=events,
        heads=[_head_row(raw) for raw in heads.values()],
        first=batch[0].pos,
        last=batch[-1].pos,
    )


def _note_entities(
    event: Event, heads: dict[str, bytes], answers: dict[str, bytes | None], devices: dict[tuple[str, str], None]
) -> None:
    for key, raw in event.puts.items():
        if key == "head":
            if raw is not None:
                heads[event.stream] = bytes(raw)
        elif key == "answer":
            answers[event.stream] = None if raw is None else bytes(raw)
        elif raw is not None and key.startswith("attempt/"):
            devices[event.stream, _attempt_decoder.decode(raw).device] = None


def _head_row(raw: bytes) -> dict[str, Any]:
    head = _head_decoder.decode(raw)
    return {
        "id": head.id,
        "created_ms": head.created_ms,
        "ended_ms": head.ended_ms,
        "head": raw,
        "name": head.name,
        "request": head.request,
        "state": str(head.state),
        "version": head.version,
    }


def write_commits(connection: Connection, rows: Projected, term: int) -> None:
    """Write a batch that begins right after the watermark.

    Raises:
        Superseded: the history is at another term or position.
    """
    reach = {"of_term": term, "before": rows.first - 1, "reached": rows.last}
    moved = connection.execute(_REACH, reach)
    if moved.rowcount != 1:
        found = read_meta(connection)
        raise Superseded(
            f"commits {rows.first}..{rows.last} of term {term} do not follow the history, "
            f"which is at {found.watermark} in term {found.term}"
        )
    _chain(connection, rows)
    connection.execute(_ADD_COMMITS, rows.commits)
    if rows.events:
        # Given straight to the driver: these are nearly all rows there are, and binding each by name costs twice as
        # much as writing it.
        connection.exec_driver_sql(_insert_events(connection.dialect), rows.events)
    if rows.heads:
        connection.execute(_put_heads(connection.dialect.name, tuple(rows.heads[0])), rows.heads)
    if rows.answers:
        connection.execute(_SET_ANSWER, rows.answers)
    if rows.devices:
        connection.execute(_add_devices(connection.dialect.name), rows.devices)


def _chain(connection: Connection, rows: Projected) -> None:
    link = connection.execute(_LINK_AT, {"at": rows.first - 1}).scalar()
    link = BEGINNING if link is None else bytes(link)
    for row, digest in zip(rows.commits, rows.digests, strict=True):
        link = row["chain"] = link_of(link, digest)


# Made once: building a statement costs several times what it costs to run it again.
_ADD_COMMITS: Final = insert(COMMITS)
_LINK_AT: Final = select(COMMITS.c.chain).where(COMMITS.c.pos == bindparam("at"))
_REACH: Final = (
    update(META)
    .where(META.c.id == META_ID, META.c.term == bindparam("of_term"), META.c.watermark == bindparam("before"))
    .values(watermark=bindparam("reached"))
)
_SET_ANSWER: Final = (
    update(CONSTELLATIONS).where(CONSTELLATIONS.c.id == bindparam("stream")).values(answer=bindparam("answer"))
)


def _insert_into(table: Table, dialect: str) -> postgresql.Insert | sqlite.Insert:
    if dialect != "postgresql":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # here, for it is as much to import as all of SQLite's together

    return postgresql.insert(table)


@cache
def _put_heads(dialect: str, names: tuple[str, ...]) -> Executable:
    upsert = _insert_into(CONSTELLATIONS, dialect)
    changed = {name: upsert.excluded[name] for name in names if name != "id"}
    made: Executable = upsert.on_conflict_do_update(index_elements=["id"], set_=changed)
    return made


@cache
def _add_devices(dialect: str) -> Executable:
    made: Executable = _insert_into(DEVICES, dialect).on_conflict_do_nothing()
    return made


@cache
def _insert_events(dialect: Dialect) -> str:
    compiled = insert(EVENTS).compile(dialect=dialect)
    if list(compiled.positiontup or []) != [column.name for column in EVENTS.c]:
        raise RuntimeError(f"{dialect.name} does not bind the columns of events in their order")
    return str(compiled)


def read_meta(connection: Connection) -> Meta:
    row = connection.execute(select(META).where(META.c.id == META_ID)).one()
    return Meta(row.incarnation, row.run_id, row.term, row.watermark)


def take_term(connection: Connection, term: int) -> bool:
    """Make `term` the owner's in the history; False if it has seen one as high."""
    done = connection.execute(update(META).where(META.c.id == META_ID, META.c.term < term).values(term=term))
    return done.rowcount == 1


def raise_incarnation(connection: Connection, term: int, run_id: str) -> int:
    """Begin a new life of Redis and return its number.

    Raises:
        Superseded: another owner came meanwhile.
    """
    done = connection.execute(
        update(META)
        .where(META.c.id == META_ID, META.c.term == term)
        .values(incarnation=META.c.incarnation + 1, run_id=run_id)
    )
    if done.rowcount != 1:
        raise Superseded(f"term {term} no longer owns the history")
    return read_meta(connection).incarnation


def read_events(connection: Connection, stream: str, after: int, limit: int) -> tuple[int, list[tuple[int, bytes]]]:
    """Return the watermark and (seq, body) of a stream's events after `after`, in order."""
    rows = connection.execute(
        select(EVENTS.c.seq, EVENTS.c.body)
        .where(EVENTS.c.stream == stream, EVENTS.c.seq > after)
        .order_by(EVENTS.c.seq)
        .limit(limit)
    )
    return read_meta(connection).watermark, [(row.seq, bytes(row.body)) for row in rows]


def read_live_streams(connection: Connection, keep: Collection[str]) -> list[tuple[str, int]]:
    """Return, with its last seq, every stream that is no finished constellation, and those in `keep`.

    Names are found by leaps over the index: the time it takes rises with the streams, not with their events.
    """
    first = select(func.min(EVENTS.c.stream).label("stream")).cte("names", recursive=True)
    following = select(func.min(EVENTS.c.stream)).where(EVENTS.c.stream > first.c.stream).scalar_subquery()
    names = first.union_all(select(following).where(first.c.stream.is_not(None)))
    finished = select(CONSTELLATIONS.c.id).where(CONSTELLATIONS.c.state.in_(_FINAL))
    live = connection.execute(
        select(names.c.stream).where(names.c.stream.is_not(None), names.c.stream.not_in(finished))
    ).scalars()
    kept = read_known(connection, keep)
    return [(stream, read_last_seq(connection, stream)) for stream in dict.fromkeys([*live, *kept])]


def read_known(connection: Connection, streams: Collection[str]) -> list[str]:
    """Return those of the streams that have events."""
    found: list[str] = []
    wanted = list(streams)
    for at in range(0, len(wanted), _PARAMETERS_MOST):
        some = wanted[at : at + _PARAMETERS_MOST]
        found += connection.execute(
            select(EVENTS.c.stream).where(EVENTS.c.seq == 1, EVENTS.c.stream.in_(some))
        ).scalars()
    return found


def read_last_seq(connection: Connection, stream: str) -> int:
    """Return the number of a stream's last event, 0 if it has none."""
    query = select(EVENTS.c.seq).where(EVENTS.c.stream == stream).order_by(EVENTS.c.seq.desc()).limit(1)
    found = connection.execute(query).scalar()
    return 0 if found is None else int(found)


def read_headline(connection: Connection, constellation: str) -> tuple[bytes, bytes | None] | None:
    """Return head and answer of a constellation, None if it is unknown or its line is older than this column."""
    query = select(CONSTELLATIONS.c.head, CONSTELLATIONS.c.answer).where(CONSTELLATIONS.c.id == constellation)
    row = connection.execute(query).first()
    if row is None or row.head is None:
        return None
    return bytes(row.head), None if row.answer is None else bytes(row.answer)


def read_sent_pos(connection: Connection) -> int:
    """Return the `sent_pos` of the last commit, 0 for an empty history."""
    row = connection.execute(select(COMMITS.c.sent_pos).order_by(COMMITS.c.pos.desc()).limit(1)).first()
    return 0 if row is None else int(row.sent_pos)


def read_commits(connection: Connection, after: int, limit: int) -> list[LogEntry]:
    """Return commits after a position as the log had them, in order."""
    commits = connection.execute(select(COMMITS).where(COMMITS.c.pos > after).order_by(COMMITS.c.pos).limit(limit))
    made = {
        row.pos: LogEntry(
            row.at_ms,
            [],
            [],
            row.incarnation,
            _outbox_decoder.decode(row.outbox) if row.outbox else [],
            row.pos,
            row.sent_pos,
            row.term,
            _outbox_decoder.decode(row.inputs) if row.inputs else [],
        )
        for row in commits
    }
    if not made:
        return []
    events = connection.execute(
        select(EVENTS.c.pos, EVENTS.c.stream, EVENTS.c.seq, EVENTS.c.body)
        .where(EVENTS.c.pos.between(min(made), max(made)))
        .order_by(EVENTS.c.pos, EVENTS.c.place)
    )
    heads: dict[int, dict[str, int]] = {pos: {} for pos in made}
    for row in events:
        made[row.pos].events.append(bytes(row.body))
        heads[row.pos][row.stream] = row.seq
    for pos, entry in made.items():
        entry.heads.extend(heads[pos].items())
    return list(made.values())


def list_constellations(
    connection: Connection,
    state: str | None,
    text: str | None,
    device: str | None,
    before: tuple[int, str] | None,
    limit: int,
) -> list[StreamRow]:
    """Return lines newest first; `text` is looked for in name and request without regard to case."""
    table = CONSTELLATIONS
    query = select(table).order_by(table.c.created_ms.desc(), table.c.id.desc()).limit(limit)
    if state is not None:
        query = query.where(table.c.state == state)
    if text:
        wanted = text.lower()
        query = query.where(
            or_(
                func.lower(table.c.name).contains(wanted, autoescape=True),
                func.lower(table.c.request).contains(wanted, autoescape=True),
                table.c.id == text,
            )
        )
    if device is not None:
        query = query.where(table.c.id.in_(select(DEVICES.c.constellation).where(DEVICES.c.device == device)))
    if before is not None:
        query = query.where(tuple_(table.c.created_ms, table.c.id) < before)
    return [
        StreamRow(
            created_ms=row.created_ms,
            ended_ms=row.ended_ms,
            id=row.id,
            name=row.name,
            request=row.request,
            state=row.state,
            version=row.version,
        )
        for row in connection.execute(query)
    ]
