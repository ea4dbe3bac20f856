"""The ledger, which survives a crash of the agent: attempts with their fences, the outbox of reports, policy decisions.

One SQLite file, WAL, synchronous FULL. Writes are collected and committed by one `flush`, which costs one fsync;
nothing that depends on a write may leave the agent, and no effect may begin, before the flush has returned. Reports of
`pure` work stay in memory: if they are lost with the process, the work is done again.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from starloom_agent.platforms import processes
from starloom_agent.toolkit.messages import sendable
from starloom_agent.work.device_conditions import LEAST_FREE_BYTES, free_bytes, full_words
from starloom_protocol.wire.frames import LeaseRef, Receipt, ResultFrame, Started

Report = Started | ResultFrame | Receipt

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS attempts (
  constellation TEXT NOT NULL, task TEXT NOT NULL, incarnation INTEGER NOT NULL, attempt INTEGER NOT NULL,
  state TEXT NOT NULL, effect TEXT NOT NULL, began_s INTEGER, group_id INTEGER, group_mark TEXT, boot TEXT, result BLOB,
  changed_s INTEGER NOT NULL, once INTEGER, call TEXT,
  PRIMARY KEY (constellation, task, incarnation, attempt)) STRICT;
CREATE INDEX IF NOT EXISTS attempts_state ON attempts (state);
CREATE TABLE IF NOT EXISTS reports (number INTEGER PRIMARY KEY, frame BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS decisions (
  number INTEGER PRIMARY KEY AUTOINCREMENT, at_s REAL NOT NULL, lease TEXT NOT NULL, tool TEXT NOT NULL,
  allowed INTEGER NOT NULL, reason TEXT NOT NULL, profile TEXT NOT NULL, asked INTEGER NOT NULL DEFAULT 0) STRICT;
"""
_NUMBERS_RESERVED = 10_000
"""Numbers of reports that one forced write pays for; the next block is asked for when half of them are used."""
_FAULTS_TOLD = 3
"""The first faults show which file is damaged; SQLite goes on looking for each that is asked for."""
DECISIONS_KEPT = 10_000
"""The owner reads the last of them; at some hundreds of bytes each they take a few megabytes."""
ATTEMPTS_KEPT = 200_000
"""An attempt that is forgotten could be begun a second time, so these outlast every hub that repeats one."""
RESULTS_KEPT = 2_000
"""A result is kept for a hub that was restored or asks for later facts; these are the large rows."""
PRUNED_AT_ONCE = 1_000
"""Pruning looks through the table, so it runs once for so many new rows."""
BEGUN_TOLD = 128
"""A hub that was restored from a backup lacks the newest; every greeting carries them, so they are few."""
_RESULTS_KEPT_S = 60 * 24 * 3600
"""A hub may be restored from a backup of some weeks ago and ask for results of then."""
_LAZY_WRITES_MAX = 2_000
"""Writes that may be lost in a crash share one commit; more would take memory and one long commit."""

_CORRUPT = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
# SQLite says these of a file that cannot grow, too: of its index of the WAL above all.
_PERHAPS_FULL = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN})

_encoder = msgspec.json.Encoder()
_report_decoder = msgspec.json.Decoder(Report)


class LedgerFault(Exception):
    """The ledger cannot be opened, read or written: nothing may be started without it."""


class LedgerFull(LedgerFault):
    """There is no room to write it; a later write may succeed."""


class LedgerCorrupt(LedgerFault):
    """It is damaged, so the attempts that began here are not fences_of."""


@dataclass(frozen=True)
class Unfinished:
    """An attempt that was under way when the agent ended."""

    at: LeaseRef
    state: str
    effect: str
    group: int | None
    group_mark: str | None
    boot: str | None


class TaskFences(NamedTuple):
    """The highest (incarnation, attempt) of a task, and that of the highest attempt that began."""

    highest: tuple[int, int]
    begun: tuple[int, int] | None


@dataclass(frozen=True)
class DecisionRow:
    at_s: float
    lease: str
    tool: str
    allowed: bool
    reason: str
    profile: str
    asked: bool = False


def _fault(path: Path, what: str, error: sqlite3.Error) -> LedgerFault:
    """Return what a failure of SQLite means for the ledger."""
    code = getattr(error, "sqlite_errorcode", None)
    code = code & 0xFF if isinstance(code, int) else None
    if code in _CORRUPT:
        return corrupt(path, str(error))
    if code == sqlite3.SQLITE_FULL or (code in _PERHAPS_FULL and free_bytes(path.parent) < LEAST_FREE_BYTES):
        return LedgerFull(f"the ledger {path} cannot be {what}: {full_words(path.parent)}")
    return LedgerFault(f"the ledger {path} cannot be {what}: {error}")


def corrupt(path: Path, fault: str) -> LedgerCorrupt:
    """Return the fault of a ledger that is corrupt, with the way out."""
    return LedgerCorrupt(
        f"the ledger {path} is corrupt ({fault}). It remembers what has begun here, so nothing is started without it. "
        f"The way out: stop this agent, move {path.name}* in {path.parent} aside and keep them, and start it again; "
        "the hub then holds what was under way here in doubt and asks a person"
    )


def _key(at: LeaseRef) -> tuple[str, str, int, int]:
    return (at.constellation, at.task, at.incarnation, at.attempt)


class Ledger:
    """One open ledger. Only one agent may write it (the lock of its home sees to that); others may read.

    `numbers` of reports rise for the life of the file: a block is reserved on disk before its numbers are used, so
    those of reports that were kept in memory only are never used again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._db = sqlite3.connect(path, isolation_level=None, timeout=2.0)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.executescript(_SCHEMA)
            self._add_missing_columns()
            path.chmod(0o600)
            self.is_copy = self._take_place()
            self.id = self._meta("ledger", secrets.token_hex(8))
            self._reserved = int(self._meta("reserved", "1"))
            self._next = self._reserved
            self._reserved_up_to = self._reserved
        except sqlite3.Error as error:
            raise _fault(path, "used", error) from error
        self._pending: list[tuple[str, tuple[Any, ...]]] = []
        self._must_sync = False
        self._decided = self._ended = 0
        self.writes = 0

    def _add_missing_columns(self) -> None:
        """A ledger made by an older agent stays in use: the fences in it must not be lost."""
        for table, column, kind in (
            ("decisions", "asked", "INTEGER NOT NULL DEFAULT 0"),
            ("attempts", "once", "INTEGER"),
            ("attempts", "call", "TEXT"),
        ):
            columns = {str(row[1]) for row in self._db.execute(f"PRAGMA table_info({table})")}
            if column not in columns:
                self._db.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")
        self._db.execute("CREATE INDEX IF NOT EXISTS attempts_changed ON attempts (changed_s)")

    def check(self) -> None:
        """Look at every page; a ledger is bounded, so this is too.

        Raises:
            LedgerCorrupt: it is not as it was written.
        """
        try:
            faults = [str(row[0]) for row in self._db.execute(f"PRAGMA quick_check({_FAULTS_TOLD})")]
        except sqlite3.Error as error:
            raise _fault(self._path, "read", error) from error
        if faults != ["ok"]:
            raise corrupt(self._path, " ".join("; ".join(faults).split()))

    def _take_place(self) -> bool:
        """Give a copy an id of its own, and return whether this ledger is one.

        The first of them may have begun work since that the copy does not know. By another id the hub takes what it
        says of such work for no proof.
        """
        mark = f"{processes.machine_mark()} {self._path.stat().st_ino}"
        place = hashlib.sha256(mark.encode()).hexdigest()[:16]
        if self._meta("place", place) == place:
            return False
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("UPDATE meta SET value = ? WHERE name = 'ledger'", (secrets.token_hex(8),))
            self._db.execute("UPDATE meta SET value = ? WHERE name = 'place'", (place,))
        return True

    def _meta(self, name: str, value: str) -> str:
        self._db.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (name, value))
        row = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return str(row[0])

    @property
    def next_report(self) -> int:
        """The number that the next report will carry."""
        return self._next

    def take_number(self) -> int:
        """Return a number that was never used before in this ledger."""
        self.reserve()
        if self._next >= self._reserved:
            self.flush()
        number = self._next
        self._next += 1
        return number

    def reserve(self) -> None:
        """Ask for a block of numbers long before it is needed, so that a disk full for a while stops no report."""
        if self._next >= self._reserved_up_to - _NUMBERS_RESERVED // 2:
            self._reserved_up_to = self._next + _NUMBERS_RESERVED
            self._write("UPDATE meta SET value = ? WHERE name = 'reserved'", (str(self._reserved_up_to),), sync=True)

    def _write(self, sql: str, values: tuple[Any, ...], *, sync: bool) -> None:
        self._pending.append((sql, values))
        self._must_sync = self._must_sync or sync

    def accepted(self, at: LeaseRef, *, effect: str, once: bool = False, call: str = "") -> None:
        """Note that an attempt was accepted; `effect` (none or maybe) counts if it never reports again.

        `once`: its work must not be repeated. `call` is the digest of its call.
        """
        self._write(
            "INSERT OR REPLACE INTO attempts"
            " (constellation, task, incarnation, attempt, state, effect, changed_s, once, call)"
            " VALUES (?, ?, ?, ?, 'accepted', ?, ?, ?, ?)",
            (*_key(at), effect, int(time.time()), int(once), call),
            sync=True,
        )

    def started(self, at: LeaseRef) -> None:
        """Note the start of an attempt; its effect may begin once this is flushed."""
        self._write(
            "UPDATE attempts SET state = 'started', began_s = ?, changed_s = ?"
            " WHERE constellation = ? AND task = ? AND incarnation = ? AND attempt = ?",
            (int(time.time()), int(time.time()), *_key(at)),
            sync=True,
        )

    def grouped(self, at: LeaseRef, group: int, mark: str, boot: str) -> None:
        """Remember the process group of a started attempt. A crash before it is written is covered by the pipe."""
        self._write(
            "UPDATE attempts SET group_id = ?, group_mark = ?, boot = ?"
            " WHERE constellation = ? AND task = ? AND incarnation = ? AND attempt = ?",
            (group, mark, boot, *_key(at)),
            sync=False,
        )

    def finished(self, at: LeaseRef, result: ResultFrame | Receipt) -> None:
        """Note the end of an attempt; its last report is kept to answer a repeated dispatch."""
        self._ended += 1
        self._write(
            "INSERT INTO attempts (constellation, task, incarnation, attempt, state, effect, result, changed_s)"
            " VALUES (?, ?, ?, ?, 'finished', 'none', ?, ?)"
            " ON CONFLICT DO UPDATE SET state = 'finished', result = excluded.result, group_id = NULL,"
            " changed_s = excluded.changed_s",
            (*_key(at), _encoder.encode(result), int(time.time())),
            sync=True,
        )

    def keep(self, report: Report) -> None:
        """Put a report into the outbox on disk."""
        self._write("INSERT OR REPLACE INTO reports VALUES (?, ?)", (report.report, _encoder.encode(report)), sync=True)

    def drop_reports(self, up_to: int) -> None:
        """Drop the reports up to this number, which are in the hub's durable log."""
        self._write("DELETE FROM reports WHERE number <= ?", (up_to,), sync=False)

    def decided(self, row: DecisionRow) -> None:
        self._decided += 1
        self._write(
            "INSERT INTO decisions (at_s, lease, tool, allowed, reason, profile, asked) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (row.at_s, row.lease, row.tool, int(row.allowed), sendable(row.reason), row.profile, int(row.asked)),
            sync=False,
        )

    @property
    def lazy_writes_due(self) -> bool:
        """Whether enough unforced writes wait that they should be committed now."""
        return len(self._pending) > _LAZY_WRITES_MAX

    def flush(self, *, lazy: bool = False) -> None:
        """Commit all collected writes in one transaction, synced if one of them must be.

        Without `lazy`, writes that need no sync wait until one that does, or until `lazy_writes_due`.

        Raises:
            LedgerFault: if the disk refuses; the writes stay collected.
        """
        if not self._pending or not (lazy or self._must_sync or self.lazy_writes_due):
            return
        try:
            self._db.execute("BEGIN IMMEDIATE")
            for sql, values in self._pending:
                self._db.execute(sql, values)
            self._db.execute("COMMIT")
        except BaseException as error:
            # A disk that fails may refuse this as well; SQLite has rolled back then, or says so at the next BEGIN.
            with contextlib.suppress(sqlite3.Error):
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise _fault(self._path, "written", error) from error
            raise
        self._reserved = self._reserved_up_to
        self.writes += 1
        self._pending.clear()
        self._must_sync = False

    def _read(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise _fault(self._path, "read", error) from error

    def fences_of(self, constellation: str, task: str) -> TaskFences | None:
        rows = self._read(
            "SELECT incarnation, attempt, began_s FROM attempts WHERE constellation = ? AND task = ?",
            (constellation, task),
        )
        if not rows:
            return None
        begun_fences = [(incarnation, attempt) for incarnation, attempt, began_s in rows if began_s is not None]
        highest = max((incarnation, attempt) for incarnation, attempt, _ in rows)
        return TaskFences(highest, max(begun_fences, key=lambda fence: (fence[1], fence[0]), default=None))

    def begun_lately(self) -> list[LeaseRef]:
        """Return the newest attempts that began of work that may not be repeated, newest first."""
        rows = self._read(
            "SELECT constellation, task, incarnation, attempt FROM attempts"
            " WHERE once = 1 AND began_s IS NOT NULL ORDER BY changed_s DESC LIMIT ?",
            (BEGUN_TOLD,),
        )
        return [LeaseRef(constellation=c, task=t, incarnation=i, attempt=a) for c, t, i, a in rows]

    def unfinished(self) -> list[Unfinished]:
        rows = self._read(
            "SELECT constellation, task, incarnation, attempt, state, effect, group_id, group_mark, boot"
            " FROM attempts WHERE state != 'finished' ORDER BY changed_s"
        )
        return [
            Unfinished(LeaseRef(constellation=c, task=t, incarnation=i, attempt=a), state, effect, group, mark, boot)
            for c, t, i, a, state, effect, group, mark, boot in rows
        ]

    def state_of(self, at: LeaseRef) -> str:
        """Return unknown, accepted, started or finished."""
        row = self._row(at, "state")
        return str(row) if row is not None else "unknown"

    def call_of(self, at: LeaseRef) -> str:
        """Return the digest of the call of an attempt; empty where an older agent noted none."""
        return str(self._row(at, "call") or "")

    def result_of(self, at: LeaseRef) -> ResultFrame | Receipt | None:
        """Return the last report of a finished attempt, if it is still kept."""
        data = self._row(at, "result")
        if data is None:
            return None
        report = _report_decoder.decode(data)
        return report if isinstance(report, ResultFrame | Receipt) else None

    def _row(self, at: LeaseRef, column: str) -> Any:
        rows = self._read(
            f"SELECT {column} FROM attempts"  # noqa: S608 - a column name of this file
            " WHERE constellation = ? AND task = ? AND incarnation = ? AND attempt = ?",
            _key(at),
        )
        return rows[0][0] if rows else None

    def reports(self) -> list[Report]:
        """Return the outbox in order of its numbers."""
        rows = self._read("SELECT frame FROM reports ORDER BY number")
        return [_report_decoder.decode(frame) for (frame,) in rows]

    def started_attempts(self) -> list[LeaseRef]:
        """Return every attempt that began on this device, in order: the proof of what ran here and how often."""
        rows = self._read(
            "SELECT constellation, task, incarnation, attempt FROM attempts WHERE began_s IS NOT NULL ORDER BY began_s"
        )
        return [LeaseRef(constellation=c, task=t, incarnation=i, attempt=a) for c, t, i, a in rows]

    def decisions(self, last: int = 50) -> list[DecisionRow]:
        rows = self._read(
            "SELECT at_s, lease, tool, allowed, reason, profile, asked FROM decisions ORDER BY number DESC LIMIT ?",
            (last,),
        )
        return [
            DecisionRow(at, lease, tool, bool(ok), why, by, bool(ask)) for at, lease, tool, ok, why, by, ask in rows
        ]

    def prune(self) -> None:
        """Drop rows beyond their bounds: decisions, attempts, and results of sixty days ago or too many since.

        A result goes before its attempt: without it, the attempt still bars a repetition. So attempts go by their
        number alone: a date that was set forward would take them all.
        """
        self._write(
            "DELETE FROM decisions WHERE number <= (SELECT max(number) FROM decisions) - ?",
            (DECISIONS_KEPT,),
            sync=False,
        )
        self._write(
            "UPDATE attempts SET result = NULL WHERE result IS NOT NULL AND state = 'finished' AND (changed_s < ? OR"
            " rowid <= (SELECT rowid FROM attempts WHERE result IS NOT NULL ORDER BY rowid DESC LIMIT 1 OFFSET ?))",
            (int(time.time()) - _RESULTS_KEPT_S, RESULTS_KEPT),
            sync=False,
        )
        self._write(
            "DELETE FROM attempts WHERE state = 'finished' AND rowid <="
            " (SELECT rowid FROM attempts ORDER BY rowid DESC LIMIT 1 OFFSET ?)",
            (ATTEMPTS_KEPT,),
            sync=False,
        )
        self._decided = self._ended = 0

    def prune_if_due(self) -> None:
        """Prune when enough was added since the last time; cheap to call often."""
        if max(self._decided, self._ended) >= PRUNED_AT_ONCE:
            self.prune()

    def close(self) -> None:
        self.flush(lazy=True)
        self._db.close()
