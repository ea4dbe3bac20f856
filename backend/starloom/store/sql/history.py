"""Writes and reads of the durable history; each function runs in one transaction of its caller.

Owns the meaning of the tables. Whole commits are written in order, and only for the owner whose term and watermark the
history has: a suspended owner that wakes cannot add a commit that another owner has decided differently.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import msgspec
from sqlalchemy import (
    ClauseElement,
    Connection,
    Dialect,
    Row,
    Table,
    bindparam,
    exists,
    func,
    insert,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.compiler import SQLCompiler

from starloom.store.chain import BEGINNING, decode_numbered, digest_of, link_of, spans_of
from starloom.store.port import Commit, KeyedHistory, LogEntry, StreamRow
from starloom.store.sql.tables import (
    META_ID,
    CommitRow,
    ConstellationDeviceRow,
    ConstellationRow,
    MetaRow,
    PrunedRow,
    SecretValueRow,
    SpanRow,
)
from starloom_protocol.records.entities import Head, decode_entity
from starloom_protocol.stream.feed import Event, decode_event
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

META: Final[Table] = MetaRow.__table__  # type: ignore[attr-defined]
COMMITS: Final[Table] = CommitRow.__table__  # type: ignore[attr-defined]
SECRET_VALUES: Final[Table] = SecretValueRow.__table__  # type: ignore[attr-defined]
SPANS: Final[Table] = SpanRow.__table__  # type: ignore[attr-defined]
CONSTELLATIONS: Final[Table] = ConstellationRow.__table__  # type: ignore[attr-defined]
DEVICES: Final[Table] = ConstellationDeviceRow.__table__  # type: ignore[attr-defined]
PRUNED: Final[Table] = PrunedRow.__table__  # type: ignore[attr-defined]

COMMIT_BYTES: Final = 120
SPAN_BYTES: Final = 40
"""The approximate size of a row beside its contents; the migration that measures an older history has the same."""

_pack = msgspec.msgpack.Encoder().encode
unpack: Final = msgspec.msgpack.Decoder(list[bytes]).decode
"""Reads a column that holds a list of bytes."""
_head_decoder = msgspec.json.Decoder(Head)


class _AttemptDevice(msgspec.Struct):
    device: str


_attempt_decoder = msgspec.json.Decoder(_AttemptDevice)
_ATTEMPT: Final = "attempt/"
_ATTEMPT_END: Final = len(_ATTEMPT)
# These are about no attempt, or about one that an earlier event leased: its device was noted with that event.
_OF_A_KNOWN_ATTEMPT: Final = frozenset({"task_started", "task_succeeded", "tasks_ready"})
FINAL: Final = sorted(str(state) for state in FINAL_CONSTELLATION_STATES)


class Meta(msgspec.Struct, frozen=True):
    incarnation: int
    run_id: str
    term: int
    watermark: int


class Superseded(Exception):
    """Another owner writes this history now, and decides about the commits that this one still had."""


class CommitTuple(NamedTuple):
    """The columns of `commits` in the table's order."""

    pos: int
    at_ms: int
    chain: bytes | None
    events: bytes | None
    incarnation: int
    inputs: bytes | None
    outbox: bytes | None
    pruning: int | None
    sent_pos: int
    term: int

    def size(self) -> int:
        """Return the size of the row in the size of the history."""
        return COMMIT_BYTES + len(self.events or b"") + len(self.inputs or b"") + len(self.outbox or b"")


# The columns of `spans`: stream, last_seq, pos, told.
SpanTuple = tuple[str, int, int, str]


class Projected(msgspec.Struct, frozen=True):
    """The rows of a batch of commits, made outside the transaction; `digests` are those that the audit chain binds,
    `size_bytes` is their part of the size of the history.
    """

    answers: list[dict[str, Any]]
    size_bytes: int
    commits: list[CommitTuple]
    devices: list[dict[str, str]]
    digests: list[bytes]
    heads: list[dict[str, Any]]
    spans: list[SpanTuple]
    first: int
    last: int


class PastCommit(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a commit that a projection or a rebuild needs, from the owner's memory or the log."""

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
    """Return a commit in the form that the projector takes."""
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
    """Return the rows of consecutive commits; of several heads of one constellation only the last is kept."""
    commits: list[CommitTuple] = []
    spans: list[SpanTuple] = []
    heads: dict[str, bytes] = {}
    answers: dict[str, bytes | None] = {}
    devices: dict[tuple[str, str], None] = {}
    for commit in batch:
        pos = commit.pos
        commits.append(
            CommitTuple(
                pos,
                commit.at_ms,
                None,
                _pack(commit.events) if commit.events else None,
                commit.incarnation,
                _pack(commit.inputs) if commit.inputs else None,
                _pack(commit.outbox) if commit.outbox else None,
                None,
                commit.sent_pos,
                commit.term,
            )
        )
        events = commit.told or [decode_event(raw) for raw in commit.events]
        spans.extend((span.stream, span.last_seq, pos, span.told) for span in spans_of(events))
        for event in events:
            if event.kind not in _OF_A_KNOWN_ATTEMPT:
                _note_entities(event, heads, answers, devices)
    return Projected(
        answers=[{"stream": stream, "answer": answer} for stream, answer in answers.items()],
        size_bytes=sum(row.size() for row in commits) + sum(span_size(stream, kinds) for stream, _, _, kinds in spans),
        commits=commits,
        devices=[{"constellation": stream, "device": device} for stream, device in devices],
        digests=[digest_of(commit) for commit in batch],
        heads=[_head_row(raw) for raw in heads.values()],
        spans=spans,
        first=batch[0].pos,
        last=batch[-1].pos,
    )


def span_size(stream: str, kinds: str) -> int:
    """Return the size of a line of the index in the size of the history."""
    return SPAN_BYTES + len(stream) + len(kinds)


def _note_entities(
    event: Event, heads: dict[str, bytes], answers: dict[str, bytes | None], devices: dict[tuple[str, str], None]
) -> None:
    for key, raw in event.puts.items():
        # The most frequent kinds first, and no call of `startswith`: every record of the log passes here.
        start = key[:_ATTEMPT_END]
        if start == _ATTEMPT:
            if raw is not None:
                devices[event.stream, _attempt_decoder.decode(raw).device] = None
        elif start == "head":
            if raw is not None:
                heads[event.stream] = bytes(raw)
        elif start == "answer":
            answers[event.stream] = None if raw is None else bytes(raw)


def _head_row(raw: bytes) -> dict[str, Any]:
    head = _head_decoder.decode(raw)
    return {
        "id": head.id,
        "created_ms": head.created_ms,
        "ended_ms": head.ended_ms,
        "head": raw,
        "name": _searched(head.name),
        "request": _searched(head.request),
        "state": str(head.state),
        "version": head.version,
    }


def _searched(text: str) -> str:
    """Return a text of a head for the column that is searched; PostgreSQL takes no NUL, and would take no commit."""
    return text.replace("\0", "\ufffd")


def write_commits(connection: Connection, rows: Projected, term: int) -> None:
    """Write a batch that begins right after the watermark.

    Raises:
        Superseded: the history is at another term or position.
    """
    move = _reach(connection.dialect)
    expected = {
        "of_id": META_ID,
        "of_term": term,
        "before": rows.first - 1,
        "reached": rows.last,
        "added": rows.size_bytes,
    }
    tip = connection.exec_driver_sql(move.text, move.values(expected)).first()
    if tip is None:
        meta = read_meta(connection)
        raise Superseded(
            f"commits {rows.first}..{rows.last} of term {term} do not follow the history, "
            f"which is at {meta.watermark} in term {meta.term}"
        )
    link = tip.seal if tip.sealed_pos == rows.first - 1 and tip.seal is not None else tip.chain
    commits = _chained(rows, BEGINNING if link is None else bytes(link))
    connection.exec_driver_sql(_add_rows(COMMITS, connection.dialect).text, commits)
    if rows.spans:
        connection.exec_driver_sql(_add_rows(SPANS, connection.dialect).text, rows.spans)
    for statement, lines in ((_put_heads, rows.heads), (_set_answers, rows.answers), (_add_devices, rows.devices)):
        if lines:
            prepared = statement(connection.dialect)
            connection.exec_driver_sql(prepared.text, [prepared.values(line) for line in lines])


def _chained(rows: Projected, link: bytes) -> list[CommitTuple]:
    """Return the rows of the commits, each with its link; the first follows `link`."""
    chained: list[CommitTuple] = []
    for row, digest in zip(rows.commits, rows.digests, strict=True):
        link = link_of(link, digest)
        chained.append(row._replace(chain=link))
    return chained


class _Prepared(NamedTuple):
    """A statement in its driver's form: binding each value by SQLAlchemy costs more than writing it."""

    text: str
    names: tuple[str, ...]

    def values(self, fields: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(fields[name] for name in self.names)


def _prepared(statement: ClauseElement, dialect: Dialect) -> _Prepared:
    compiled = cast(SQLCompiler, statement.compile(dialect=dialect))
    if compiled.positiontup is None:
        raise RuntimeError(f"{dialect.name} does not bind values by their order")
    return _Prepared(str(compiled), tuple(compiled.positiontup))


@cache
def _reach(dialect: Dialect) -> _Prepared:
    """Return the statement that moves the watermark if it is as expected; it gives the last commit's link, or no row.

    The seal is in the same row, so a pruning for which this statement had to wait is seen.
    """
    link = select(COMMITS.c.chain).where(COMMITS.c.pos == bindparam("before")).scalar_subquery()
    statement = update(META).where(META.c.id == bindparam("of_id"), META.c.term == bindparam("of_term"))
    statement = statement.where(META.c.watermark == bindparam("before")).values(
        size_bytes=META.c.size_bytes + bindparam("added"), watermark=bindparam("reached")
    )
    return _prepared(statement.returning(link.label("chain"), META.c.seal, META.c.sealed_pos), dialect)


@cache
def _add_rows(table: Table, dialect: Dialect) -> _Prepared:
    """Return the statement that adds rows, which are tuples of the table's columns in order."""
    prepared = _prepared(insert(table), dialect)
    if prepared.names != tuple(column.name for column in table.c):
        raise RuntimeError(f"{dialect.name} does not bind the columns of {table.name} in their order")
    return prepared


@cache
def _put_heads(dialect: Dialect) -> _Prepared:
    names = [column.name for column in CONSTELLATIONS.c if column.name != "answer"]
    upsert = _insert_into(CONSTELLATIONS, dialect).values({name: bindparam(name) for name in names})
    changed = {name: upsert.excluded[name] for name in names if name != "id"}
    return _prepared(upsert.on_conflict_do_update(index_elements=["id"], set_=changed), dialect)


@cache
def _set_answers(dialect: Dialect) -> _Prepared:
    of_stream = update(CONSTELLATIONS).where(CONSTELLATIONS.c.id == bindparam("stream"))
    return _prepared(of_stream.values(answer=bindparam("answer")), dialect)


@cache
def _add_devices(dialect: Dialect) -> _Prepared:
    return _prepared(_insert_into(DEVICES, dialect).on_conflict_do_nothing(), dialect)


def _insert_into(table: Table, dialect: Dialect) -> postgresql.Insert | sqlite.Insert:
    if dialect.name != "postgresql":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # its import takes as long as all for SQLite

    return postgresql.insert(table)


LIVES_APART: Final = 1_000
"""Added to the incarnation of a restored history: Redis is replaced less often than this between two backups."""

_LAST_SEQ: Final = (
    select(SPANS.c.last_seq)
    .where(SPANS.c.stream == bindparam("of"), ~exists().where(PRUNED.c.id == bindparam("of")))
    .order_by(SPANS.c.last_seq.desc())
    .limit(1)
)


def read_meta(connection: Connection) -> Meta:
    row = connection.execute(select(META).where(META.c.id == META_ID)).one()
    return Meta(row.incarnation, row.run_id, row.term, row.watermark)


def read_keyed(connection: Connection) -> KeyedHistory:
    row = connection.execute(select(META).where(META.c.id == META_ID)).one()
    secrets = connection.execute(select(func.count()).select_from(SECRET_VALUES)).scalar_one()
    return KeyedHistory(row.hub_key, row.watermark, secrets)


def note_hub_key(connection: Connection, key: str | None) -> None:
    """Note the public key of the hubs; an empty one lets the next hub bring its own."""
    connection.execute(update(META).where(META.c.id == META_ID).values(hub_key=key))


def take_term(connection: Connection, term: int) -> bool:
    """Make `term` the owner's in the history; False if it has seen one at least as high."""
    result = connection.execute(update(META).where(META.c.id == META_ID, META.c.term < term).values(term=term))
    return result.rowcount == 1


def raise_incarnation(connection: Connection, term: int, run_id: str) -> int:
    """Begin a new incarnation of Redis and return its number.

    Raises:
        Superseded: another owner came meanwhile.
    """
    result = connection.execute(
        update(META)
        .where(META.c.id == META_ID, META.c.term == term)
        .values(incarnation=META.c.incarnation + 1, run_id=run_id)
    )
    if result.rowcount != 1:
        raise Superseded(f"term {term} no longer owns the history")
    return read_meta(connection).incarnation


def begin_new_lives(connection: Connection, highest: int = 0) -> None:
    """Raise the incarnation far above any that devices may have seen of this history since it was copied.

    `highest` is the highest one that is known.
    """
    incarnation = max(read_meta(connection).incarnation, highest) + LIVES_APART
    connection.execute(update(META).where(META.c.id == META_ID).values(incarnation=incarnation, run_id=""))


def read_events(connection: Connection, stream: str, after: int, limit: int) -> tuple[int, list[tuple[int, bytes]]]:
    """Return the watermark and (seq, body) of a stream's events after `after`, in order."""
    enough = select(func.min(SPANS.c.last_seq)).where(SPANS.c.stream == stream, SPANS.c.last_seq >= after + limit)
    query = select(COMMITS.c.events).join(SPANS, SPANS.c.pos == COMMITS.c.pos)
    query = query.where(SPANS.c.stream == stream, SPANS.c.last_seq > after, ~exists().where(PRUNED.c.id == stream))
    last = connection.execute(enough).scalar()
    if last is not None:
        query = query.where(SPANS.c.last_seq <= last)
    events: list[tuple[int, bytes]] = []
    for row in connection.execute(query.order_by(SPANS.c.last_seq)):
        for body in unpack(row.events):
            event = decode_numbered(body)
            if event.stream == stream and event.seq > after:
                events.append((event.seq, body))
    return read_meta(connection).watermark, events[:limit]


def read_live_streams(connection: Connection, keep: Collection[str]) -> list[tuple[str, int]]:
    """Return, with its last seq, every stream that is not a finished constellation, and those in `keep`.

    Names are found by skips over the index, so the time grows with the streams, not with their events.
    """
    first = select(func.min(SPANS.c.stream).label("stream")).cte("names", recursive=True)
    following = select(func.min(SPANS.c.stream)).where(SPANS.c.stream > first.c.stream).scalar_subquery()
    names = first.union_all(select(following).where(first.c.stream.is_not(None)))
    finished = select(CONSTELLATIONS.c.id).where(CONSTELLATIONS.c.state.in_(FINAL))
    ending = select(PRUNED.c.id).where(PRUNED.c.swept.is_(False))
    live = connection.execute(
        select(names.c.stream).where(
            names.c.stream.is_not(None), names.c.stream.not_in(finished), names.c.stream.not_in(ending)
        )
    ).scalars()
    return list(read_last_seqs(connection, [*live, *keep]).items())


def read_pruned(connection: Connection, streams: Collection[str]) -> set[str]:
    """Return those of the streams that were pruned."""
    return set(connection.execute(select(PRUNED.c.id).where(PRUNED.c.id.in_(streams))).scalars())


def read_last_seqs(connection: Connection, streams: Collection[str]) -> dict[str, int]:
    """Return the number of the last event of each stream that has any, in the order given."""
    seqs = {stream: read_last_seq(connection, stream) for stream in dict.fromkeys(streams)}
    return {stream: seq for stream, seq in seqs.items() if seq}


def read_last_seq(connection: Connection, stream: str) -> int:
    """Return the number of a stream's last event, 0 if it has none or was pruned."""
    seq = connection.execute(_LAST_SEQ, {"of": stream}).scalar()
    return 0 if seq is None else int(seq)


def read_headlines(connection: Connection, constellations: Sequence[str]) -> dict[str, tuple[bytes, bytes | None]]:
    """Return head and answer of constellations, without those that are unknown or whose row is older than its head."""
    table = CONSTELLATIONS
    headlines: dict[str, tuple[bytes, bytes | None]] = {}
    query = select(table.c.id, table.c.head, table.c.answer).where(table.c.id.in_(constellations))
    for row in connection.execute(query.where(table.c.head.is_not(None))):
        head, answer = bytes(row.head), None if row.answer is None else bytes(row.answer)
        # Decoded here, so that bytes changed on disk are reported as a fault of the history.
        _head_decoder.decode(head)
        if answer is not None:
            decode_entity("answer", answer)
        headlines[row.id] = head, answer
    return headlines


def read_sent_pos(connection: Connection) -> int:
    """Return the `sent_pos` of the last commit, 0 for an empty history."""
    row = connection.execute(select(COMMITS.c.sent_pos).order_by(COMMITS.c.pos.desc()).limit(1)).first()
    return 0 if row is None else int(row.sent_pos)


def read_commits(connection: Connection, after: int, limit: int) -> list[LogEntry]:
    """Return commits after a position as log entries, in order."""
    commits = connection.execute(select(COMMITS).where(COMMITS.c.pos > after).order_by(COMMITS.c.pos).limit(limit))
    return [_entry(row) for row in commits]


def _entry(row: Row[Any]) -> LogEntry:
    events = unpack(row.events) if row.events else []
    heads = {event.stream: event.seq for event in map(decode_numbered, events)}
    return LogEntry(
        row.at_ms,
        events,
        list(heads.items()),
        row.incarnation,
        unpack(row.outbox) if row.outbox else [],
        row.pos,
        row.sent_pos,
        row.term,
        unpack(row.inputs) if row.inputs else [],
    )


def list_constellations(
    connection: Connection,
    states: Sequence[str],
    text: str | None,
    device: str | None,
    before: tuple[int, str] | None,
    limit: int,
) -> list[StreamRow]:
    """Return rows newest first; `text` is searched for in name and request, ignoring case."""
    table = CONSTELLATIONS
    query = select(table).order_by(table.c.created_ms.desc(), table.c.id.desc()).limit(limit)
    if states:
        query = query.where(table.c.state.in_(states))
    if text:
        needle = text.lower()
        query = query.where(
            or_(
                func.lower(table.c.name).contains(needle, autoescape=True),
                func.lower(table.c.request).contains(needle, autoescape=True),
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


def count_device_work(connection: Connection, devices: Sequence[str], since_ms: int) -> dict[str, dict[str, int]]:
    """Count constellations made since a moment by device and state, by a walk over an index of those made since."""
    table = CONSTELLATIONS
    query = (
        select(DEVICES.c.device, table.c.state, func.count())
        .join(table, table.c.id == DEVICES.c.constellation)
        .where(table.c.created_ms >= since_ms, DEVICES.c.device.in_(devices))
        .group_by(DEVICES.c.device, table.c.state)
    )
    counts: dict[str, dict[str, int]] = {}
    for device, state, count in connection.execute(query):
        counts.setdefault(device, {})[state] = count
    return counts


def list_failed_work(connection: Connection, devices: Sequence[str], since_ms: int) -> dict[str, list[str]]:
    """Return the failed constellations made since a moment, newest first, with those of these devices that each had."""
    table = CONSTELLATIONS
    query = (
        select(table.c.id, DEVICES.c.device)
        .join(DEVICES, table.c.id == DEVICES.c.constellation)
        .where(table.c.created_ms >= since_ms, table.c.state == "failed", DEVICES.c.device.in_(devices))
        .order_by(table.c.created_ms.desc(), table.c.id, DEVICES.c.device)
    )
    failed: dict[str, list[str]] = {}
    for constellation, device in connection.execute(query):
        failed.setdefault(constellation, []).append(device)
    return failed
