"""`sqlite.query`, `sqlite.copy`: SQLite databases, read only. One question with bounded rows; a consistent copy.

Read only is held thrice: the file is opened so, the engine's authorizer lets nothing through that is no reading, and
no other file can be attached. Time and size are bounded inside the engine.
"""

from __future__ import annotations

import math
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TypedDict
from urllib.parse import quote

import msgspec

from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.files.near import near_name
from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.refs import FileRef
from starloom_agent.toolkit.results import Named, StoredFrom, of_device
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_VERSIONS_AT, _WITH_LOG = 18, b"\x02\x02"
"""Of the head of a database: who reads and writes it knows the log of writes."""
_ROWS_MOST = 1000
_CELL_CHARS = 2000
"""A cell is for reading; the database itself can be copied."""
_VALUE_BYTES = 4 * 1024 * 1024
_STEPS = 10_000
"""The time is looked at after so many steps of the engine, which take about a millisecond."""
_TABLES_MOST = 500
_TABLES_NAMED = 20
_COLUMNS_NAMED = 40
_NAMED_CHARS = 600
_PAGES_AT_ONCE = 256
"""About a megabyte: writers of the original get their turn between two parts."""
_DESCRIPTORS_MOST = 65_536
"""As the runner: where the system has no limit, looking through all numbers would take minutes."""
_READS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
# Those that only tell; `writefile` and the like are not in the library, `load_extension` is.
_PRAGMAS = frozenset({"table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list"})
_CHECKS = frozenset({"integrity_check", "quick_check"})

Scalar = str | int | float | None


class Query(Args, frozen=True, kw_only=True):
    """Ask a database of a granted folder (`path`), or the first of `files` (artifacts).

    `params` fill the question marks of `sql`. Without `sql`: whether the file is whole, and every table with its rows.
    """

    path: Annotated[str, msgspec.Meta(examples=["shop.sqlite"])] = ""
    files: tuple[FileRef, ...] = ()
    sql: Annotated[str, msgspec.Meta(max_length=100_000)] = ""
    params: tuple[Scalar, ...] = ()
    limit: Annotated[int, msgspec.Meta(ge=1, le=_ROWS_MOST)] = 200
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=600)] = 30
    device_name: str = ""


class Copy(Args, frozen=True, kw_only=True):
    """A copy of a database as it was at one moment, also while others write it; `name` is that of the file made."""

    path: str
    name: str = ""
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 600


def _fault(error: sqlite3.Error, path: str) -> ToolFailed:
    text = str(error)
    if "not authorized" in text or "prohibited" in text or "readonly" in text or "read-only" in text:
        return ToolFailed(Code.BAD_ARGUMENTS, f"{path} is only read here: {text}", effect=False)
    if "interrupted" in text:
        return ToolFailed(Code.TIMED_OUT, f"the question to {path} took longer than it may", effect=False)
    if "not a database" in text or "malformed" in text:
        return ToolFailed(Code.TOOL_FAILED, f"{path} is not a whole SQLite database: {text}", effect=False)
    return ToolFailed(Code.BAD_ARGUMENTS, f"{path}: {text}", effect=False)


@contextmanager
def _opened(files: Beneath, real: Path, path: str, timeout_s: float) -> Iterator[sqlite3.Connection]:
    """Open a database for reading alone, ended from inside after `timeout_s`.

    The engine opens it by its name; so its descriptor is compared with the file that lay below the granted folder. One
    with a log of writes that no program has open now is taken as it lies: else the engine would make files beside it,
    which it may not where a folder is granted for reading, and would leave where it may.

    Raises:
        ToolFailed: for whatever the engine says inside the block.
    """
    with plain(real, "looking at", effect=False):
        if not files.is_file(real):
            reason = f"{path} does not exist on this device{near_name(files, real)}"
            raise ToolFailed(Code.FILE_NOT_FOUND, reason, effect=False)
        file = files.open(real)
    deadline = time.monotonic() + timeout_s
    at_rest = _state_at_rest(files, file, real)
    address = f"file:{quote(str(real))}?mode=ro{'&immutable=1' if at_rest else ''}"
    try:
        with file, closing(sqlite3.connect(address, uri=True, timeout=min(5, timeout_s))) as db:
            # A program may have stored what is no text; one cell of it keeps no answer back.
            db.text_factory = lambda stored: stored.decode("utf-8", "replace")
            db.set_progress_handler(lambda: int(time.monotonic() > deadline), _STEPS)
            db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 64 * 1024 * 1024)
            db.execute("PRAGMA query_only = ON")
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if not _is_open_twice(file):
                raise ToolFailed(Code.TOOL_FAILED, f"{path} was exchanged while it was opened; retry", effect=False)
            yield db
            if at_rest and _state_at_rest(files, file, real) != at_rest:
                raise ToolFailed(Code.TOOL_FAILED, f"a program began to write {path} meanwhile; retry", effect=False)
    except sqlite3.Error as error:
        raise _fault(error, path) from error


def _state_at_rest(files: Beneath, file: BinaryIO, real: Path) -> tuple[int, int] | None:
    """Return size and time of a database with a log of writes (WAL) which nobody has open; None of any other one."""
    file.seek(_VERSIONS_AT)
    if file.read(2) != _WITH_LOG or files.exists(real.with_name(f"{real.name}-wal")):
        return None
    about = os.fstat(file.fileno())
    return about.st_size, about.st_mtime_ns


def _is_open_twice(file: BinaryIO) -> bool:
    """Whether another descriptor of this process belongs to the very same file."""
    about = os.fstat(file.fileno())
    for number in range(min(os.sysconf("SC_OPEN_MAX"), _DESCRIPTORS_MOST)):
        with suppress(OSError):
            if number != file.fileno() and os.path.samestat(os.fstat(number), about):
                return True
    return False


def _only_reads(pragmas: frozenset[str]) -> Any:
    def authorize(action: int, first: str | None, second: str | None, _database: str | None, _by: str | None) -> int:
        if action == sqlite3.SQLITE_PRAGMA:
            # An argument sets a value, except where it names a table.
            allowed = (first or "").lower() in pragmas
        elif action == sqlite3.SQLITE_FUNCTION:
            allowed = (second or "").lower() != "load_extension"
        else:
            allowed = action in _READS
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    return authorize


def _plain(value: Any) -> Scalar:
    if isinstance(value, bytes):
        return f"({len(value)} bytes)"
    if isinstance(value, float) and not math.isfinite(value):
        return None  # no value of JSON
    return value[:_CELL_CHARS] if isinstance(value, str) else value


class TableRows(TypedDict):
    rows: int
    table: str


class Examined(TypedDict):
    """The result for a database without a query: its tables and its problems."""

    count: int
    more: bool
    ok: bool
    problems: list[str]
    rows: list[TableRows]
    total_rows: int


class FoundRows(TypedDict):
    columns: list[str]
    count: int
    more: bool
    rows: list[dict[str, Scalar]]


class ExaminedDatabase(Named, Examined):
    database: str


class AskedDatabase(Named, FoundRows):
    database: str


DatabaseAnswer = AskedDatabase | ExaminedDatabase


def _what_is_there(database: sqlite3.Connection) -> str:
    """Return the tables with their columns, for a query that names another one; the names alone, and not all."""
    database.set_authorizer(None)
    names = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name").fetchmany(
        _TABLES_NAMED
    )
    tables = []
    for (name,) in names:
        columns = database.execute("SELECT name FROM pragma_table_info(?)", (name,)).fetchmany(_COLUMNS_NAMED)
        tables.append(f"{name} ({', '.join(str(column) for (column,) in columns)})")
    return f"there is {', '.join(tables)}"[:_NAMED_CHARS] if tables else "it has no table"


def _ask(database: sqlite3.Connection, args: Query) -> FoundRows:
    database.set_authorizer(_only_reads(_PRAGMAS))
    try:
        cursor = database.execute(args.sql, args.params)
    except sqlite3.OperationalError as error:
        if not str(error).startswith("no such "):
            raise
        raise sqlite3.OperationalError(f"{error}; {_what_is_there(database)}") from error
    if cursor.description is None:
        raise ToolFailed(Code.BAD_ARGUMENTS, "this asks nothing: give a SELECT", effect=False)
    columns = _distinct([str(column[0]) for column in cursor.description])
    rows: list[dict[str, Scalar]] = []
    size = 0
    more = False
    for record in cursor:
        row = {name: _plain(value) for name, value in zip(columns, record, strict=True)}
        size += len(msgspec.json.encode(row))
        if len(rows) == args.limit or size > _VALUE_BYTES:
            more = True
            break
        rows.append(row)
    return {"columns": columns, "rows": rows, "count": len(rows), "more": more}


def _distinct(names: list[str]) -> list[str]:
    names_so_far: dict[str, None] = {}
    for name in names:
        number = 2
        distinct = name
        while distinct in names_so_far:
            distinct = f"{name} ({number})"
            number += 1
        names_so_far[distinct] = None
    return list(names_so_far)


def _examine(database: sqlite3.Connection) -> Examined:
    database.set_authorizer(_only_reads(_PRAGMAS | _CHECKS))
    problems = [str(row[0]) for row in database.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
    names = [
        str(row[0])
        for row in database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name"
        )
    ]
    rows: list[TableRows] = []
    for name in names[:_TABLES_MOST]:
        quoted = name.replace('"', '""')
        (count,) = database.execute(f'SELECT count(*) FROM "{quoted}"').fetchone()  # noqa: S608 - a name it has itself
        rows.append({"table": name, "rows": count})
    return {
        "ok": not problems,
        "problems": problems,
        "rows": rows,
        "count": len(names),
        "more": len(names) > len(rows),
        "total_rows": sum(row["rows"] for row in rows),
    }


def query(context: ToolContext, args: Query) -> DatabaseAnswer:
    if bool(args.path) == bool(args.files):
        raise ToolFailed(Code.BAD_ARGUMENTS, "name the database: by path, or as files", effect=False)
    if args.path:
        path, real = args.path, context.resolve_read(args.path)
    else:
        path, real = args.files[0].shown_name, context.fetch(args.files[0].hash)
    device = of_device(args.device_name)
    with _opened(context.files, real, path, args.timeout_s) as database:
        if args.sql:
            return {**device, "database": path, **_ask(database, args)}
        return {**device, "database": path, **_examine(database)}


class DatabaseCopy(TypedDict):
    files: list[StoredFrom]
    ok: bool
    tables: list[TableRows]


def copy(context: ToolContext, args: Copy) -> DatabaseCopy:
    real = context.resolve_read(args.path)
    copy_path = context.workdir / "copy.sqlite"
    deadline = time.monotonic() + args.timeout_s

    def report(_status: int, left: int, all_pages: int) -> None:
        if time.monotonic() > deadline:
            raise ToolFailed(Code.TIMED_OUT, f"copying {args.path} took longer than {args.timeout_s:g} s", effect=False)
        context.progress(fraction=1 - left / max(all_pages, 1), note=args.path)

    with (
        _opened(context.files, real, args.path, args.timeout_s) as source,
        closing(sqlite3.connect(copy_path)) as target,
    ):
        source.backup(target, pages=_PAGES_AT_ONCE, progress=report, sleep=0.01)
        # One file, whatever the journal of the original: nothing of it stays beside.
        target.execute("PRAGMA journal_mode = DELETE")
        examined = _examine(target)
    name = args.name or real.name
    stored = context.put_last(copy_path, name=name, media="application/vnd.sqlite3")
    return {"files": [{**stored, "path": name}], "tables": examined["rows"], "ok": examined["ok"]}


TOOLS = (
    Tool(
        name="sqlite.query",
        title="Ask a SQLite database, or check it",
        args=Query,
        run=query,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
        confined=True,
        grant="files:read",
    ),
    Tool(
        name="sqlite.copy",
        title="A consistent copy of a SQLite database",
        args=Copy,
        run=copy,
        effects=(Effect.READ,),
        repeatability=Repeatability.IDEMPOTENT,
        confined=True,
        grant="files:read",
    ),
)
