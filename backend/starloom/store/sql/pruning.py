"""Pruning: removes finished constellations from the durable history; each function runs in its caller's transaction.

Owns the removal of commits and the anchors that replace them. Decides nothing: `core.clock.retention` chooses the
constellations. A commit is verified before it is removed, so that a pruning never hides a change. `chain` defines
what a pruning binds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Row, Table, bindparam, delete, func, insert, literal, select, tuple_, update

from starloom.store.chain import (
    BEGINNING,
    Anchor,
    Leftover,
    Pruning,
    decode_numbered,
    digest_of,
    digest_of_pruning,
    link_of,
)
from starloom.store.port import Damaged, EndedConstellation, HistorySize, PrunedPiece, Tombstone
from starloom.store.sql.history import (
    COMMIT_BYTES,
    COMMITS,
    CONSTELLATIONS,
    DEVICES,
    FINAL,
    META,
    PRUNED,
    SPAN_BYTES,
    SPANS,
    PastCommit,
    Superseded,
    read_sent_pos,
    span_size,
    unpack,
)
from starloom.store.sql.tables import META_ID, AnchorRow, PruningRow
from starloom_protocol.stream.feed import ACCESS, FLEET

ANCHORS: Final[Table] = AnchorRow.__table__  # type: ignore[attr-defined]
PRUNINGS: Final[Table] = PruningRow.__table__  # type: ignore[attr-defined]

COMMITS_MOST: Final = 500
"""The most commits that one transaction touches."""

STREAMS_MOST: Final = 64
"""The most pruned constellations whose commits one transaction removes."""
PAGES_MOST: Final = 2_048
"""The most pages of a SQLite file that one transaction gives back, if the file allows it."""

_INCREMENTAL: Final = 2
"""SQLite's number of the `auto_vacuum` mode in which a file can give pages back."""

_COMMIT_SIZE: Final = sum(
    (func.coalesce(func.length(part), 0) for part in (COMMITS.c.events, COMMITS.c.inputs, COMMITS.c.outbox)),
    start=literal(COMMIT_BYTES),
)

_encode: Final = msgspec.msgpack.Encoder().encode
_leftovers: Final = msgspec.msgpack.Decoder(list[Leftover]).decode


def read_ended(connection: Connection, after: tuple[int, str], limit: int) -> list[EndedConstellation]:
    """Return finished constellations in the order of their ends, with the devices that worked for them."""
    table = CONSTELLATIONS.c
    query = select(table.id, table.ended_ms).where(table.ended_ms > 0, table.state.in_(FINAL))
    query = query.where(tuple_(table.ended_ms, table.id) > after).order_by(table.ended_ms, table.id).limit(limit)
    rows = connection.execute(query).all()
    names = [row.id for row in rows]
    devices: dict[str, list[str]] = {name: [] for name in names}
    for row in connection.execute(select(DEVICES).where(DEVICES.c.constellation.in_(names))):
        devices[row.constellation].append(row.device)
    sizes = dict.fromkeys(names, 0)
    sums = select(SPANS.c.stream, func.sum(_COMMIT_SIZE)).join(COMMITS, COMMITS.c.pos == SPANS.c.pos)
    for stream, total in connection.execute(sums.where(SPANS.c.stream.in_(names)).group_by(SPANS.c.stream)):
        sizes[stream] = int(total)
    return [
        EndedConstellation(bytes=sizes[row.id], devices=sorted(devices[row.id]), ended_ms=row.ended_ms, id=row.id)
        for row in rows
    ]


def read_history_size(connection: Connection) -> HistorySize:
    """Return the size of the history, its oldest constellation's time, and the time of its last pruning."""
    table = CONSTELLATIONS.c
    count, oldest = connection.execute(
        select(func.count(), func.min(table.created_ms)).select_from(CONSTELLATIONS)
    ).one()
    last = connection.execute(select(PRUNINGS).order_by(PRUNINGS.c.no.desc()).limit(1)).first()
    return HistorySize(
        bytes=int(connection.execute(select(META.c.size_bytes).where(META.c.id == META_ID)).scalar_one()),
        constellations=int(count),
        oldest_ms=int(oldest or 0),
        pruned=int(connection.execute(select(func.count()).select_from(PRUNED)).scalar_one()),
        pruned_ms=int(last.at_ms) if last is not None else 0,
    )


def read_lasting_bytes(connection: Connection) -> int:
    """Return the part of the size of the history that no pruning frees: commits of devices, people and rights alone."""
    lasting = SPANS.c.stream.in_((ACCESS, FLEET))
    others = select(SPANS.c.pos).where(SPANS.c.pos == COMMITS.c.pos, ~lasting).exists()
    positions = select(SPANS.c.pos).where(lasting)
    commits = select(func.sum(_COMMIT_SIZE)).where(COMMITS.c.pos.in_(positions), ~others)
    spans = select(func.sum(SPAN_BYTES + func.length(SPANS.c.stream) + func.length(SPANS.c.told))).where(lasting)
    return sum(int(connection.execute(query).scalar() or 0) for query in (commits, spans))


def read_tombstone(connection: Connection, constellation: str) -> Tombstone | None:
    """Return when and why a constellation was pruned, None if it was not."""
    query = select(PRUNINGS.c.at_ms, PRUNINGS.c.why).join(PRUNED, PRUNED.c.pruning == PRUNINGS.c.no)
    row = connection.execute(query.where(PRUNED.c.id == constellation)).first()
    return None if row is None else Tombstone(at_ms=int(row.at_ms), why=row.why)


def read_prunings(connection: Connection, after: int, limit: int) -> list[Pruning]:
    """Return prunings with numbers above `after`, in order."""
    rows = connection.execute(select(PRUNINGS).where(PRUNINGS.c.no > after).order_by(PRUNINGS.c.no).limit(limit)).all()
    if not rows:
        return []
    span = rows[0].no, rows[-1].no
    anchors: dict[int, list[Anchor]] = {row.no: [] for row in rows}
    for row in connection.execute(select(ANCHORS).where(ANCHORS.c.pruning.between(*span)).order_by(ANCHORS.c.first)):
        anchors.setdefault(row.pruning, []).append(
            Anchor(before=bytes(row.before), first=row.first, last=row.last, link=bytes(row.link))
        )
    names: dict[int, list[str]] = {row.no: [] for row in rows}
    for row in connection.execute(select(PRUNED).where(PRUNED.c.pruning.between(*span)).order_by(PRUNED.c.id)):
        names.setdefault(row.pruning, []).append(row.id)
    return [
        Pruning(
            after_pos=row.after_pos,
            anchors=anchors[row.no],
            at_ms=row.at_ms,
            commits=row.commits,
            constellations=names[row.no],
            leftovers=_read_leftovers(row.leftovers),
            no=row.no,
            seal=bytes(row.seal),
            why=row.why,
        )
        for row in rows
    ]


def _read_leftovers(raw: bytes) -> list[Leftover]:
    """Return the list of a column; an unreadable one is empty, which differs from the sealed one."""
    try:
        return _leftovers(raw)
    except msgspec.DecodeError:
        return []


def read_pruned_since(connection: Connection, after: int, limit: int) -> tuple[int, list[str]]:
    """Return the number of the last pruning and the constellations of prunings with numbers above `after`."""
    last = int(connection.execute(select(func.max(PRUNINGS.c.no))).scalar() or 0)
    if last <= after:
        return last, []
    query = select(PRUNED.c.id).where(PRUNED.c.pruning > after).order_by(PRUNED.c.pruning, PRUNED.c.id).limit(limit)
    return last, list(connection.execute(query).scalars())


def prune(
    connection: Connection,
    term: int,
    leaving: Sequence[EndedConstellation],
    at_ms: int,
    why: str,
    commits_most: int = COMMITS_MOST,
) -> PrunedPiece:
    """End the history of these constellations, and remove some commits of those that have ended.

    A constellation that has changed since it was chosen is left alone.

    Raises:
        Superseded: another owner writes the history.
        Damaged: a commit that would be removed differs from the chained one; nothing was changed.
    """
    lock = update(META).where(META.c.id == META_ID, META.c.term == term).values(term=term)
    meta = connection.execute(lock.returning(META.c.watermark, META.c.seal, META.c.sealed_pos)).first()
    if meta is None:
        raise Superseded(f"term {term} no longer owns the history")
    no = int(connection.execute(select(func.max(PRUNINGS.c.no))).scalar() or 0) + 1
    names = _end_histories(connection, no, leaving)
    ending = list(
        connection.execute(
            select(PRUNED.c.id)
            .where(PRUNED.c.swept.is_(False))
            .order_by(PRUNED.c.pruning, PRUNED.c.id)
            .limit(STREAMS_MOST)
        ).scalars()
    )
    if not ending:
        return PrunedPiece(bytes=0, commits=0, constellations=[], more=False)
    # The next commit follows the last one, and outbox entries not yet handed over may be read again.
    below = min(int(meta.watermark), read_sent_pos(connection) + 1)
    query = select(SPANS.c.pos).where(SPANS.c.stream.in_(ending), SPANS.c.pos < below).distinct()
    positions = list(connection.execute(query.order_by(SPANS.c.pos).limit(commits_most)).scalars())
    swept = _Sweep(connection) if positions else None
    if swept is not None:
        swept.remove(no, positions)
    if swept is None and not names:
        # The remaining commits are too young to go yet.
        _note_swept(connection, ending)
        return PrunedPiece(bytes=0, commits=0, constellations=[], more=False)
    pruning = Pruning(
        after_pos=int(meta.watermark),
        anchors=swept.anchors if swept else [],
        at_ms=at_ms,
        commits=swept.removed if swept else 0,
        constellations=names,
        leftovers=swept.leftovers if swept else [],
        no=no,
        why=why,
    )
    tip = _tip(connection, int(meta.watermark))
    freed = swept.bytes if swept else 0
    _record(connection, msgspec.structs.replace(pruning, seal=link_of(tip, digest_of_pruning(pruning))), freed)
    _note_swept(connection, ending)
    give_back(connection)
    return PrunedPiece(bytes=freed, commits=pruning.commits, constellations=names, more=len(positions) == commits_most)


def _end_histories(connection: Connection, no: int, leaving: Sequence[EndedConstellation]) -> list[str]:
    """Remove constellations from the list; their commits are swept from then on."""
    table = CONSTELLATIONS.c
    ends = {item.id: item.ended_ms for item in leaving}
    rows = connection.execute(select(table.id, table.ended_ms).where(table.id.in_(ends), table.state.in_(FINAL)))
    names = sorted(row.id for row in rows if row.ended_ms == ends[row.id])
    if names:
        connection.execute(insert(PRUNED), [{"id": name, "pruning": no, "swept": False} for name in names])
        connection.execute(delete(CONSTELLATIONS).where(table.id.in_(names)))
        connection.execute(delete(DEVICES).where(DEVICES.c.constellation.in_(names)))
    return names


def _tip(connection: Connection, pos: int) -> bytes:
    """Return the link that the commit after a position must follow."""
    query = select(PRUNINGS.c.seal).where(PRUNINGS.c.after_pos == pos).order_by(PRUNINGS.c.no.desc())
    link = connection.execute(query.limit(1)).scalar()
    if link is None:
        link = connection.execute(select(ANCHORS.c.link).where(ANCHORS.c.last == pos)).scalar()
    if link is None:
        link = connection.execute(select(COMMITS.c.chain).where(COMMITS.c.pos == pos)).scalar()
    return BEGINNING if link is None else bytes(link)


def _record(connection: Connection, pruning: Pruning, freed: int) -> None:
    connection.execute(
        insert(PRUNINGS).values(
            after_pos=pruning.after_pos,
            at_ms=pruning.at_ms,
            commits=pruning.commits,
            leftovers=_encode(pruning.leftovers),
            no=pruning.no,
            seal=pruning.seal,
            why=pruning.why,
        )
    )
    if pruning.anchors:
        connection.execute(
            insert(ANCHORS), [{**msgspec.structs.asdict(anchor), "pruning": pruning.no} for anchor in pruning.anchors]
        )
    connection.execute(
        update(META)
        .where(META.c.id == META_ID)
        .values(size_bytes=META.c.size_bytes - freed, seal=pruning.seal, sealed_pos=pruning.after_pos)
    )


def _note_swept(connection: Connection, ending: Sequence[str]) -> None:
    unswept = select(SPANS.c.stream).where(SPANS.c.stream.in_(ending))
    connection.execute(update(PRUNED).where(PRUNED.c.id.in_(ending), PRUNED.c.id.not_in(unswept)).values(swept=True))


def give_back(connection: Connection) -> None:
    """Give free pages of a SQLite file back to the disk, if its mode allows it; PostgreSQL does this on its own."""
    if connection.dialect.name == "sqlite":
        cursor = connection.connection.cursor()
        if cursor.execute("PRAGMA auto_vacuum").fetchone() == (_INCREMENTAL,):
            (free,) = cursor.execute("PRAGMA freelist_count").fetchone()
            # The driver takes one step of this statement, which frees one page whatever its argument.
            for _ in range(min(free, PAGES_MOST)):
                cursor.execute("PRAGMA incremental_vacuum(1)")
        cursor.close()


class _Sweep:
    """The removal of one piece of the log: its anchors, its leftovers, and how many commits and bytes are gone."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._seals: dict[int, bytes] = {}
        self.anchors: list[Anchor] = []
        self.leftovers: list[Leftover] = []
        self.removed = 0
        self.bytes = 0

    def remove(self, no: int, positions: Sequence[int]) -> None:
        """Remove what the commits at these positions have of pruned constellations, for the pruning `no`.

        Raises:
            Damaged: a commit differs from the chained one.
        """
        connection = self._connection
        self._seals = self._read_seals(positions)
        rows = connection.execute(select(COMMITS).where(COMMITS.c.pos.in_(positions)).order_by(COMMITS.c.pos)).all()
        spans = connection.execute(select(SPANS).where(SPANS.c.pos.in_(positions))).all()
        streams = {span.stream for span in spans}
        pruned = set(connection.execute(select(PRUNED.c.id).where(PRUNED.c.id.in_(streams))).scalars())
        emptied: list[int] = []
        remaining: list[dict[str, Any]] = []
        for row in rows:
            remains = self._part(row, pruned)
            if row.pruning is None:
                self._anchor(row)
            if remains is None:
                emptied.append(row.pos)
                if row.pruning is not None:
                    self.leftovers.append(Leftover(pos=row.pos, digest=b""))
            else:
                self.leftovers.append(Leftover(pos=row.pos, digest=digest_of(remains)))
                packed = _encode(remains.events)
                self.bytes -= COMMIT_BYTES + len(packed)
                remaining.append({"at": row.pos, "packed": packed})
            self.bytes += COMMIT_BYTES + sum(len(part) for part in (row.events, row.inputs, row.outbox) if part)
        self.removed = len(emptied)
        self.bytes += sum(span_size(span.stream, span.told) for span in spans if span.stream in pruned)
        self._write(no, positions, emptied, remaining, pruned)

    def _read_seals(self, positions: Sequence[int]) -> dict[int, bytes]:
        """Return the seals that commits in this part of the log follow; no anchor crosses a seal."""
        query = select(PRUNINGS.c.after_pos, PRUNINGS.c.seal).order_by(PRUNINGS.c.no)
        rows = self._connection.execute(query.where(PRUNINGS.c.after_pos.between(positions[0] - 1, positions[-1])))
        return {row.after_pos: bytes(row.seal) for row in rows}

    def _part(self, row: Row[Any], pruned: Collection[str]) -> PastCommit | None:
        """Return the remaining part of a commit, None if there is none."""
        try:
            events = unpack(row.events) if row.events else []
            remaining = [body for body in events if decode_numbered(body).stream not in pruned]
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Damaged(
                f"commit {row.pos} cannot be read, so nothing is pruned; see `starloom audit verify`"
            ) from error
        return _past(row, remaining, []) if remaining else None

    def _anchor(self, row: Row[Any]) -> None:
        """Put a whole commit into an anchor, after verifying that it equals the chained one."""
        pos, last = row.pos, self.anchors[-1] if self.anchors else None
        goes_on = last is not None and last.last == pos - 1 and pos - 1 not in self._seals
        before = last.link if last is not None and goes_on else _tip(self._connection, pos - 1)
        link = before
        if row.chain is not None:
            link = bytes(row.chain)
            commit = _past(row, unpack(row.events) if row.events else [], unpack(row.inputs) if row.inputs else [])
            if link_of(before, digest_of(commit)) != link:
                raise Damaged(
                    f"commit {pos} is not what was chained, so nothing is pruned; see `starloom audit verify`"
                )
        if last is not None and goes_on:
            self.anchors[-1] = msgspec.structs.replace(last, last=pos, link=link)
        else:
            self.anchors.append(Anchor(before=before, first=pos, last=pos, link=link))

    def _write(
        self,
        no: int,
        positions: Sequence[int],
        emptied: Sequence[int],
        remaining: Sequence[dict[str, Any]],
        pruned: Collection[str],
    ) -> None:
        connection = self._connection
        connection.execute(delete(SPANS).where(SPANS.c.pos.in_(positions), SPANS.c.stream.in_(pruned)))
        if emptied:
            connection.execute(delete(COMMITS).where(COMMITS.c.pos.in_(emptied)))
        if remaining:
            part = update(COMMITS).where(COMMITS.c.pos == bindparam("at"))
            connection.execute(
                part.values(events=bindparam("packed"), inputs=None, outbox=None, pruning=no), list(remaining)
            )


def _past(row: Row[Any], events: list[bytes], inputs: list[bytes]) -> PastCommit:
    return PastCommit(
        at_ms=row.at_ms,
        events=events,
        incarnation=row.incarnation,
        inputs=inputs,
        outbox=(),
        pos=row.pos,
        sent_pos=row.sent_pos,
        term=row.term,
    )
