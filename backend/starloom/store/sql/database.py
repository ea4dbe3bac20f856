"""The database of the durable history: SQLite or PostgreSQL behind one interface that runs functions in transactions.

Owns engines, threads and pragmas; knows nothing of the content. SQLite is driven by threads (one writes, few read),
PostgreSQL by asyncpg; the same functions on a SQLAlchemy connection run on both.

SQLite has no checksums: a changed byte inside a record is found when the record is read, or by the audit chain. Corrupt
pages of its file are found by `check_pages`, for a bounded time and without writing.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event, inspect
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import StaticPool

from starloom.store.faults import UNREADABLE, corrupt, unavailable
from starloom.store.port import Corrupt, Unavailable
from starloom.store.sql import tables
from starloom_protocol.text.wording import quoted

CHECK_AT_START_S: Final = 2.0
"""Enough for about half a gigabyte on a usual disk; a larger history is checked whole by `doctor --whole`."""
_FAULTS_TOLD: Final = 3
_STEPS_BETWEEN_LOOKS: Final = 20_000


def check_pages(path: Path, within_s: float | None) -> bool:
    """Check a file's pages; False if the time ran out before the last one. A missing file is sound.

    Raises:
        Corrupt: some pages are corrupt; the text names the first ones.
        Unavailable: the file cannot be read.
    """
    if not path.exists() or not path.stat().st_size:
        return True
    place = f"SQLite {path}"
    until_s = None if within_s is None else time.monotonic() + within_s
    try:
        # Read only: even the close of the last connection does not move the WAL into the file.
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as sql:
            if until_s is not None:
                sql.set_progress_handler(lambda: time.monotonic() > until_s, _STEPS_BETWEEN_LOOKS)
            report = [str(row[0]) for row in sql.execute(f"PRAGMA quick_check({_FAULTS_TOLD})")]
    except sqlite3.Error as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            return False
        raise unavailable(place, error, path.parent) from error
    if report != ["ok"]:
        raise corrupt(place, "; ".join(" ".join(line.split()) for line in report))
    return True


P = ParamSpec("P")
T = TypeVar("T")

READERS: Final = 3
SQLITE_BUSY_MS: Final = 5_000
POSTGRES_IDLE_MS: Final = 3_000
POSTGRES_DIAL_S: Final = 5.0
POSTGRES_ANSWER_S: Final = 20.0
"""A connection that drops everything is given up after this; the kernel would try for a quarter of an hour."""
MIGRATIONS: Final = Path(__file__).parent / "migrations"
MIGRATION_LOCK: Final = 0x57A2
"""PostgreSQL's advisory lock for migrations; an arbitrary number that is the same in every hub."""


class Database(Protocol):
    """Runs functions on a connection, each in a transaction of its own.

    `damage` describes the corruption found in the history, "" while it is sound.
    """

    damage: str
    place: str

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` and commit; an error rolls all of it back.

        Raises:
            Unavailable: the database failed; after a lost connection the fate of the commit is unknown.
        """
        ...

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` in one consistent view.

        Raises:
            Unavailable: the database failed.
        """
        ...

    async def check(self, within_s: float | None) -> bool:
        """Check for corrupt pages without writing; False if the time ran out. Not done for PostgreSQL.

        Raises:
            Corrupt: some pages are corrupt.
            Unavailable: the database failed.
        """
        ...

    async def migrate(self) -> None:
        """Migrate the schema to the newest revision; idempotent. Hubs that start together take turns.

        Raises:
            Unavailable: the database failed, or a newer Starloom wrote it; nothing is changed then.
        """
        ...

    async def close(self) -> None: ...


def open_database(url: str, *, read_only: bool = False) -> Database:
    """Return the database of a URL (`sqlite:///path`, `postgresql://...`) without opening it.

    Raises:
        ValueError: the URL is of another kind of database.
    """
    parsed = make_url(url)
    kind = parsed.get_backend_name()
    if kind == "sqlite":
        return SqliteDatabase(parsed, read_only=read_only)
    if kind in ("postgresql", "postgres"):
        return PostgresDatabase(parsed, read_only=read_only)
    raise ValueError(f"STARLOOM_DATABASE_URL names {quoted(kind)}; use sqlite:///PATH or postgresql://USER@HOST/NAME")


class SqliteDatabase:
    """SQLite in WAL mode with `synchronous=FULL`: commits survive a power cut. One thread writes, a few read."""

    def __init__(self, url: URL, *, read_only: bool) -> None:
        path = url.database or ":memory:"
        self.damage = ""
        self.place = f"SQLite {path}"
        memory = path == ":memory:"
        self._file = None if memory else Path(path)
        plain = url.set(drivername="sqlite", query={})
        if not memory:
            Path(path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="history-write")
        self._write_engine = _sqlite_engine(plain, StaticPool, read_only=read_only)
        # An in-memory database exists in its one connection only, so its reads use the writer's thread.
        self._reading = self._writing if memory else ThreadPoolExecutor(READERS, thread_name_prefix="history-read")
        self._read_engine = self._write_engine if memory else _sqlite_engine(plain, None, read_only=True)
        self._connection: Connection | None = None  # the writer's, used by its thread alone

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(self._writing, lambda: self._write(lambda c: work(c, *args, **kwargs)))

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        def read_once() -> T:
            with self._read_engine.begin() as connection:
                return work(connection, *args, **kwargs)

        return await self._run(self._reading, read_once)

    async def check(self, within_s: float | None) -> bool:
        return self._file is None or await asyncio.to_thread(check_pages, self._file, within_s)

    async def migrate(self) -> None:
        schema = await self.write(schema_of)
        if schema != newest_revision():
            await self.write(_upgrade(schema))

    async def close(self) -> None:
        for pool, engine in ((self._reading, self._read_engine), (self._writing, self._write_engine)):
            await asyncio.to_thread(pool.shutdown)
            if engine is self._write_engine:
                self._let_go()
            engine.dispose()

    def _write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` and commit, on one connection for all writes: taking one from the pool costs a quarter of a write.

        After an error the next write takes another one.
        """
        if self._connection is None:
            self._connection = self._write_engine.connect()
        try:
            with self._connection.begin():
                return work(self._connection)
        except BaseException:
            self._let_go()
            raise

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    async def _run(self, pool: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, work)
        except (SQLAlchemyError, OSError, *UNREADABLE) as error:
            raise _failure(self, error, None if self._file is None else self._file.parent) from error


class PostgresDatabase:
    """PostgreSQL by asyncpg; commits are as durable as the server's `synchronous_commit`, which is not changed."""

    def __init__(self, url: URL, *, read_only: bool) -> None:
        self.damage = ""
        self.place = f"PostgreSQL {url.host or url.query.get('host', '')}/{url.database}"
        self._read_only = read_only
        from asyncpg import InterfaceError, PostgresError  # imported at its use: only PostgreSQL needs it

        # SQLAlchemy does not wrap errors of connecting, as of a server that is starting or full.
        self._faults = (SQLAlchemyError, OSError, InterfaceError, PostgresError, *UNREADABLE)
        self._url = url.set(drivername="postgresql+asyncpg")
        self._engine: AsyncEngine = create_async_engine(
            self._url,
            pool_size=READERS + 1,
            pool_pre_ping=False,
            # A hub that is suspended during a write must not keep the next owner from the history.
            connect_args={
                "command_timeout": POSTGRES_ANSWER_S,
                "server_settings": {"idle_in_transaction_session_timeout": str(POSTGRES_IDLE_MS)},
                "timeout": POSTGRES_DIAL_S,
            },
        )

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._read_only:
            raise Unavailable(f"{self.place} was opened for reading only")
        return await self._run(None, lambda c: work(c, *args, **kwargs))

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await self._run("REPEATABLE READ", lambda c: work(c, *args, **kwargs))
        except Unavailable as failed:
            if not getattr(failed.__cause__, "connection_invalidated", False):
                raise
        # A server that was restarted has ended every connection of the pool, and a read may be made again.
        return await self._run("REPEATABLE READ", lambda c: work(c, *args, **kwargs))

    async def check(self, within_s: float | None) -> bool:  # noqa: ARG002 - a server looks after its pages
        return True

    async def migrate(self) -> None:
        schema = await self.write(schema_of)
        if schema == newest_revision():
            return
        # A migration computes between its statements and one of them may take minutes, so the time-outs that protect
        # the history from a suspended hub are not set for it.
        engine = create_async_engine(self._url, pool_size=1, connect_args={"timeout": POSTGRES_DIAL_S})
        try:
            await self._run(None, _upgrade(schema), engine)
        finally:
            await engine.dispose()

    async def close(self) -> None:
        await self._engine.dispose()

    async def _run(
        self, isolation: str | None, work: Callable[[Connection], T], engine: AsyncEngine | None = None
    ) -> T:
        try:
            async with (engine or self._engine).connect() as connection:
                if isolation is not None:
                    await connection.execution_options(isolation_level=isolation)
                async with connection.begin():
                    return await connection.run_sync(work)
        except self._faults as error:
            raise _failure(self, error) from error


def _failure(database: Database, error: BaseException, folder: Path | None = None) -> Unavailable:
    """Return the error that names a failure; the first damage is noted in the database."""
    failure = unavailable(database.place, error, folder)
    database.damage = database.damage or (str(failure) if isinstance(failure, Corrupt) else "")
    return failure


def _lower(text: str | None) -> str | None:
    return None if text is None else text.lower()


def _sqlite_engine(url: URL, pool: type[StaticPool] | None, *, read_only: bool) -> Engine:
    engine = create_engine(
        url, connect_args={"check_same_thread": False}, **({"poolclass": pool} if pool else {"pool_size": READERS})
    )

    @event.listens_for(engine, "connect")
    def on_connect(connection: sqlite3.Connection, _record: Any) -> None:
        connection.isolation_level = None  # SQLAlchemy says BEGIN itself, see below
        connection.execute(f"PRAGMA busy_timeout={SQLITE_BUSY_MS}")
        # That of SQLite knows the letters of English alone; a search takes those of any script as one.
        connection.create_function("lower", 1, _lower, deterministic=True)
        if read_only:
            connection.execute("PRAGMA query_only=ON")
        else:
            # Takes effect for a new file only: its free pages can be given back to the disk (see `pruning`).
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA wal_autocheckpoint=4000")
        connection.execute("PRAGMA cache_size=-16000")

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

    return engine


def newest_revision() -> str:
    """Return the revision of the newest migration: the number at the start of its file's name."""
    return max(path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*_*.py"))


def schema_of(connection: Connection) -> str | None:
    """Return the revision of a history, None for an empty database.

    Raises:
        Unavailable: a newer Starloom wrote it.
    """
    if not inspect(connection).has_table("alembic_version"):
        return None
    schema = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    newest = newest_revision()
    if schema is not None and schema > newest:
        raise Unavailable(
            f"a newer Starloom wrote this history: its schema is {schema}, and this version knows schemas up to "
            f"{newest}. Nothing was changed. Install the newer version again, or put a backup from before in its place"
        )
    return schema


def migrate_to(connection: Connection, revision: str) -> None:
    """Migrate a schema to a revision (`head` is the newest), in the caller's transaction."""
    import alembic.command
    import alembic.config

    config = alembic.config.Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    alembic.command.upgrade(config, revision)


def _upgrade(schema: str | None) -> Callable[[Connection], None]:
    """Return the upgrade of a history with this schema to the newest one; an empty database gets the newest at once.

    The import of Alembic takes longer than all reads of the history at a start, so it is imported only if there is a
    history to migrate, and before the transaction begins.
    """
    if schema is not None:
        import alembic.command
        import alembic.config  # noqa: F401 - see above

    def upgrade(connection: Connection) -> None:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
        newest, present = newest_revision(), schema_of(connection)
        if present is None:
            tables.create(connection, newest)
        elif present != newest:
            migrate_to(connection, "head")

    return upgrade
