"""Reads the durable history of a stack beside whoever writes it: a SQLite file, or PostgreSQL by its address."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from starloom.store.sql.database import open_database
from starloom.store.sql.history import unpack
from starloom_protocol.stream.feed import Event, decode_event

_COMMITS = "SELECT pos, incarnation, term FROM commits ORDER BY pos"
_EVENTS = "SELECT events FROM commits WHERE events IS NOT NULL ORDER BY pos"


@dataclass(frozen=True)
class CommitLine:
    """One commit of the SQL log."""

    pos: int
    incarnation: int
    term: int


def read_log(place: Path | str) -> tuple[list[CommitLine], list[Event]]:
    """Return the commits and the events of the SQL log, in order, as of one moment."""
    rows, bodies = _read_file(place) if isinstance(place, Path) else asyncio.run(_read_server(place))
    return [CommitLine(*row) for row in rows], [decode_event(body) for body in bodies]


_Rows = tuple[list[tuple[int, int, int]], list[bytes]]


def _read_file(database: Path) -> _Rows:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10)) as sql:
        sql.execute("BEGIN")
        return sql.execute(_COMMITS).fetchall(), [body for (packed,) in sql.execute(_EVENTS) for body in unpack(packed)]


async def _read_server(url: str) -> _Rows:
    def read(connection: Connection) -> _Rows:
        rows = [(row[0], row[1], row[2]) for row in connection.exec_driver_sql(_COMMITS)]
        return rows, [body for row in connection.exec_driver_sql(_EVENTS) for body in unpack(row[0])]

    database = open_database(url, read_only=True)
    try:
        return await database.read(read)
    finally:
        await database.close()


def incarnation_of(place: Path | str) -> int:
    """Return the incarnation in which the newest commit was made."""
    return max(commit.incarnation for commit in read_log(place)[0])
