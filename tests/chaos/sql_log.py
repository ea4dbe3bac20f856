"""Reads the durable history of a stack from its database file, beside whoever writes it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from starloom_protocol.feed import Event, decode_event


@dataclass(frozen=True)
class CommitLine:
    """One commit of the SQL log."""

    pos: int
    incarnation: int
    term: int


def read_log(database: Path) -> tuple[list[CommitLine], list[Event]]:
    """Return the commits and the events of the SQL log, in order, as of one moment."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10)) as sql:
        sql.execute("BEGIN")
        rows = sql.execute("SELECT pos, incarnation, term FROM commits ORDER BY pos").fetchall()
        bodies = sql.execute("SELECT body FROM events ORDER BY pos, place").fetchall()
    return [CommitLine(*row) for row in rows], [decode_event(body) for (body,) in bodies]


def incarnation_of(database: Path) -> int:
    """Return the incarnation in which the newest commit was made."""
    return max(commit.incarnation for commit in read_log(database)[0])
