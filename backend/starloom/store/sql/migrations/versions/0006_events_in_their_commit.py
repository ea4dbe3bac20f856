"""A commit keeps its events in its own row, and an index has the commits of each stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

COMMITS_AT_ONCE = 500

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(list[bytes]).decode
_COMMITS = sa.table("commits", sa.column("pos"), sa.column("events"))
_SPANS = sa.table("spans", sa.column("stream"), sa.column("last_seq"), sa.column("pos"), sa.column("told"))
_NAMES = ("stream", "seq", "about", "at_ms", "body", "by", "kind", "place", "pos")
_EVENTS = sa.table("events", *map(sa.column, _NAMES))


class _Event(msgspec.Struct):
    at_ms: int
    by: str
    kind: str
    seq: int
    stream: str
    about: str = ""


_event = msgspec.json.Decoder(_Event).decode


def upgrade() -> None:
    op.add_column("commits", sa.Column("events", sa.LargeBinary(), nullable=True))
    op.create_table(
        "spans",
        sa.Column("stream", sa.Text(), nullable=False),
        sa.Column("last_seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("pos", sa.BigInteger(), nullable=False),
        sa.Column("told", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("stream", "last_seq"),
    )
    _page_by_page(_into_commits)
    op.create_index("ix_spans_pos", "spans", ["pos"])
    op.drop_table("events")


def downgrade() -> None:
    op.create_table(
        "events",
        sa.Column("stream", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("pos", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("stream", "seq"),
    )
    _page_by_page(_into_rows)
    op.create_index("events_by_pos", "events", ["pos", "place"])
    op.drop_table("spans")
    op.drop_column("commits", "events")


def _page_by_page(move: Callable[[sa.Connection, Sequence[int]], None]) -> None:
    connection, after = op.get_bind(), 0
    while True:
        query = sa.select(_COMMITS.c.pos).where(_COMMITS.c.pos > after).order_by(_COMMITS.c.pos)
        page = connection.execute(query.limit(COMMITS_AT_ONCE)).scalars().all()
        if not page:
            return
        move(connection, page)
        after = page[-1]


def _into_commits(connection: sa.Connection, page: Sequence[int]) -> None:
    query = sa.select(_EVENTS).where(_EVENTS.c.pos.between(page[0], page[-1]))
    events: dict[int, list[bytes]] = {pos: [] for pos in page}
    spans: dict[tuple[int, str], tuple[int, dict[str, None]]] = {}
    for row in connection.execute(query.order_by(_EVENTS.c.pos, _EVENTS.c.place)):
        events[row.pos].append(bytes(row.body))
        _, told = spans.get((row.pos, row.stream), (0, {}))
        spans[row.pos, row.stream] = row.seq, {**told, f"{row.kind} {row.by}": None}
    if not spans:
        return
    filled = sa.update(_COMMITS).where(_COMMITS.c.pos == sa.bindparam("at")).values(events=sa.bindparam("packed"))
    connection.execute(filled, [{"at": pos, "packed": _pack(bodies)} for pos, bodies in events.items() if bodies])
    lines = [
        {"stream": stream, "last_seq": last_seq, "pos": pos, "told": "\n".join(told)}
        for (pos, stream), (last_seq, told) in spans.items()
    ]
    connection.execute(sa.insert(_SPANS), lines)


def _into_rows(connection: sa.Connection, page: Sequence[int]) -> None:
    rows: list[dict[str, Any]] = []
    for row in connection.execute(sa.select(_COMMITS).where(_COMMITS.c.pos.between(page[0], page[-1]))):
        for place, body in enumerate(_unpack(row.events) if row.events else ()):
            event = _event(body)
            rows.append({**msgspec.structs.asdict(event), "body": body, "place": place, "pos": row.pos})
    if rows:
        connection.execute(sa.insert(_EVENTS), rows)
