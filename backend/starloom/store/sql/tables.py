"""The tables of the durable history, as SQLModel classes, and their creation; a test compares the migrations with them.

`commits` is the durable log: it is only appended to, and pruned from its old end. `prunings`, `anchors` and `pruned`
record what was pruned. All other tables are derived from these or say how far they reach.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import BigInteger, Connection, Index, LargeBinary, Text, insert, text
from sqlmodel import Field, SQLModel

META_ID = 1
_VERSION_TABLE = """CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)"""


class MetaRow(SQLModel, table=True):
    """The single row about the history: its watermark, the owner of the shard, the incarnation and run id of Redis.

    `size_bytes` is the size of the content of `commits` and `spans`. `seal` is that of the last pruning, and the link
    that the commit after `sealed_pos` follows.
    """

    __tablename__: ClassVar[Any] = "meta"

    hub_key: str | None = Field(default=None, sa_type=Text)
    id: int = Field(primary_key=True)
    incarnation: int = Field(sa_type=BigInteger)
    run_id: str = Field(sa_type=Text)
    seal: bytes | None = Field(default=None, sa_type=LargeBinary)
    sealed_pos: int = Field(default=0, sa_type=BigInteger, sa_column_kwargs={"server_default": "0"})
    size_bytes: int = Field(default=0, sa_type=BigInteger, sa_column_kwargs={"server_default": "0"})
    term: int = Field(sa_type=BigInteger)
    watermark: int = Field(sa_type=BigInteger)


class CommitRow(SQLModel, table=True):
    """One commit. `events`, `inputs` and `outbox` are MessagePack lists of their bytes in order, null if empty.

    `chain` is its link of the audit chain; null in commits that were written before there was one. `pruning` is the
    number of the pruning that left only a part of its events; null for a whole commit.
    """

    __tablename__: ClassVar[Any] = "commits"

    pos: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    at_ms: int = Field(sa_type=BigInteger)
    chain: bytes | None = Field(default=None, sa_type=LargeBinary)
    events: bytes | None = Field(default=None, sa_type=LargeBinary)
    incarnation: int = Field(sa_type=BigInteger)
    inputs: bytes | None = Field(default=None, sa_type=LargeBinary)
    outbox: bytes | None = Field(default=None, sa_type=LargeBinary)
    pruning: int | None = Field(default=None, sa_type=BigInteger)
    sent_pos: int = Field(sa_type=BigInteger)
    term: int = Field(sa_type=BigInteger)


class SpanRow(SQLModel, table=True):
    """A line of the index: the commit at `pos` has events of `stream`, the last of them `last_seq`; see `Span`."""

    __tablename__: ClassVar[Any] = "spans"

    stream: str = Field(primary_key=True, sa_type=Text)
    last_seq: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    pos: int = Field(index=True, sa_type=BigInteger)
    told: str = Field(sa_type=Text)


class ConstellationRow(SQLModel, table=True):
    """A row of the list of constellations, made from their `head` and `answer` entities.

    `head` is null in rows that were written before it was kept; the log has it.
    """

    __tablename__: ClassVar[Any] = "constellations"
    __table_args__: ClassVar[Any] = (
        Index("constellations_by_age", "created_ms", "id"),
        Index("constellations_by_end", "ended_ms", "id"),
    )

    id: str = Field(primary_key=True, sa_type=Text)
    answer: bytes | None = Field(default=None, sa_type=LargeBinary)
    created_ms: int = Field(sa_type=BigInteger)
    ended_ms: int = Field(sa_type=BigInteger)
    head: bytes | None = Field(default=None, sa_type=LargeBinary)
    name: str = Field(sa_type=Text)
    request: str = Field(sa_type=Text)
    state: str = Field(sa_type=Text)
    version: int


class ConstellationDeviceRow(SQLModel, table=True):
    """A device that had an attempt of a constellation."""

    __tablename__: ClassVar[Any] = "constellation_devices"

    constellation: str = Field(primary_key=True, sa_type=Text)
    device: str = Field(primary_key=True, index=True, sa_type=Text)


class SecretValueRow(SQLModel, table=True):
    """The ciphertext of one value of a secret, stored at `at_ms`, before the event that names it.

    The only table beside the log that is not derived from it.
    """

    __tablename__: ClassVar[Any] = "secret_values"

    id: str = Field(primary_key=True, sa_type=Text)
    at_ms: int = Field(sa_type=BigInteger)
    sealed: bytes = Field(sa_type=LargeBinary)


class PruningRow(SQLModel, table=True):
    """One pruning; `leftovers` is a MessagePack list of its `Leftover`s, `seal` binds its content."""

    __tablename__: ClassVar[Any] = "prunings"

    no: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    after_pos: int = Field(index=True, sa_type=BigInteger)
    at_ms: int = Field(sa_type=BigInteger)
    commits: int = Field(sa_type=BigInteger)
    leftovers: bytes = Field(sa_type=LargeBinary)
    seal: bytes = Field(sa_type=LargeBinary)
    why: str = Field(sa_type=Text)


class AnchorRow(SQLModel, table=True):
    """A run of positions that a pruning removed, with the links at both ends."""

    __tablename__: ClassVar[Any] = "anchors"

    first: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    before: bytes = Field(sa_type=LargeBinary)
    last: int = Field(index=True, sa_type=BigInteger)
    link: bytes = Field(sa_type=LargeBinary)
    pruning: int = Field(index=True, sa_type=BigInteger)


class PrunedRow(SQLModel, table=True):
    """A pruned constellation with the number of its pruning; `swept` once nothing of it is left."""

    __tablename__: ClassVar[Any] = "pruned"

    id: str = Field(primary_key=True, sa_type=Text)
    pruning: int = Field(index=True, sa_type=BigInteger)
    swept: bool = Field(index=True)


def create(connection: Connection, revision: str) -> None:
    """Make a new history, as all migrations up to `revision` do together, without loading Alembic for it."""
    SQLModel.metadata.create_all(connection, checkfirst=False)
    connection.execute(text(_VERSION_TABLE))
    connection.execute(text("INSERT INTO alembic_version (version_num) VALUES (:revision)"), {"revision": revision})
    connection.execute(insert(MetaRow).values(id=META_ID, incarnation=0, run_id="", term=0, watermark=0))
