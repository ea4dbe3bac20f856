"""The tables of the durable history, as SQLModel classes; migrations are made from them and a test compares both.

`commits` is what was promised, append-only. Everything else is derived from it or says how far it reaches.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import BigInteger, Index, LargeBinary, Text
from sqlmodel import Field, SQLModel

META_ID = 1


class MetaRow(SQLModel, table=True):
    """One row: how far history reaches, who owns the shard, which life of which Redis it belongs to."""

    __tablename__: ClassVar[Any] = "meta"

    id: int = Field(primary_key=True)
    incarnation: int = Field(sa_type=BigInteger)
    run_id: str = Field(sa_type=Text)
    term: int = Field(sa_type=BigInteger)
    watermark: int = Field(sa_type=BigInteger)


class CommitRow(SQLModel, table=True):
    """One commit. `events`, `inputs` and `outbox` are MessagePack lists of their bytes in order, null if empty.

    `chain` is its link of the audit chain; null in commits that were written before there was one.
    """

    __tablename__: ClassVar[Any] = "commits"

    pos: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    at_ms: int = Field(sa_type=BigInteger)
    chain: bytes | None = Field(default=None, sa_type=LargeBinary)
    events: bytes | None = Field(default=None, sa_type=LargeBinary)
    incarnation: int = Field(sa_type=BigInteger)
    inputs: bytes | None = Field(default=None, sa_type=LargeBinary)
    outbox: bytes | None = Field(default=None, sa_type=LargeBinary)
    sent_pos: int = Field(sa_type=BigInteger)
    term: int = Field(sa_type=BigInteger)


class SpanRow(SQLModel, table=True):
    """A line of the index: the commit at `pos` has events of `stream`, the last of them `last_seq`; see `spans`."""

    __tablename__: ClassVar[Any] = "spans"

    stream: str = Field(primary_key=True, sa_type=Text)
    last_seq: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    pos: int = Field(index=True, sa_type=BigInteger)
    told: str = Field(sa_type=Text)


class ConstellationRow(SQLModel, table=True):
    """A line of the list of constellations, kept from their `head` and `answer` entities.

    `head` is null in lines that were written before it was kept; the log has it.
    """

    __tablename__: ClassVar[Any] = "constellations"
    __table_args__: ClassVar[Any] = (Index("constellations_by_age", "created_ms", "id"),)

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
    """That a device had an attempt of a constellation."""

    __tablename__: ClassVar[Any] = "constellation_devices"

    constellation: str = Field(primary_key=True, sa_type=Text)
    device: str = Field(primary_key=True, index=True, sa_type=Text)


class SecretValueRow(SQLModel, table=True):
    """The ciphertext of one value of a secret, stored before the event that names it; `at_ms` is when.

    The only table beside the log that is no view of it.
    """

    __tablename__: ClassVar[Any] = "secret_values"

    id: str = Field(primary_key=True, sa_type=Text)
    at_ms: int = Field(sa_type=BigInteger)
    sealed: bytes = Field(sa_type=LargeBinary)
