"""A dump is one moment of the history, and goes from either kind of database into either kind."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection, text

from starloom.store.port import Damaged, Unavailable
from starloom.store.sql import history, pruning
from starloom.store.sql.database import Database, open_database
from starloom.store.sql.dump import BATCH_ROWS, Dump, read_dump, write_dump
from tests.store.sql.old_history import COMMITS, migrate_to, old_history
from tests.store.sql.test_pruning import breaks, fill


def whole(connection: Connection) -> dict[str, list[Any]]:
    tables = (
        *("commits", "spans", "constellations", "constellation_devices", "secret_values", "meta"),
        *("prunings", "anchors", "pruned"),
    )
    return {
        name: sorted((sorted(row.items()) for row in connection.execute(text(query)).mappings()), key=repr)
        for name in tables
        for query in [f"SELECT * FROM {name}"]  # noqa: S608
    }


async def filled(url: str) -> Database:
    database = open_database(url)
    await database.migrate()
    assert COMMITS > BATCH_ROWS
    assert await database.write(history.take_term, 1)
    await database.write(history.write_commits, history.rows_of(old_history()), 1)
    return database


async def carried(source: Database, url: str, folder: Path) -> Database:
    """Return a database at `url` that was filled with a dump of `source`."""
    await asyncio.to_thread(folder.mkdir)
    dump = await source.read(write_dump, folder)
    assert dump.watermark == COMMITS
    target = open_database(url)
    await target.write(read_dump, dump, folder)
    return target


async def test_a_dump_holds_every_row(tmp_path: Path) -> None:
    source = await filled(f"sqlite:///{tmp_path / 'one.db'}")
    target = await carried(source, f"sqlite:///{tmp_path / 'two.db'}", tmp_path / "dump")
    try:
        assert await target.read(whole) == await source.read(whole)
    finally:
        await target.close()
        await source.close()


async def test_a_dump_goes_to_an_empty_place_only(tmp_path: Path) -> None:
    source = await filled(f"sqlite:///{tmp_path / 'one.db'}")
    folder = tmp_path / "dump"
    folder.mkdir()
    dump = await source.read(write_dump, folder)
    try:
        before = await source.read(whole)
        with pytest.raises(Unavailable, match="a history already"):
            await source.write(read_dump, dump, folder)
        assert await source.read(whole) == before
    finally:
        await source.close()


async def test_an_older_schema_is_dumped_after_an_upgrade_only(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'old.db'}")
    await database.write(migrate_to, "0004")
    try:
        with pytest.raises(Unavailable, match="start the hub of this version once"):
            await database.read(write_dump, tmp_path)
    finally:
        await database.close()


def cut(dump: Dump, folder: Path) -> Dump:
    path = folder / "commits"
    path.write_bytes(path.read_bytes()[:-3])
    return dump


def without_rows(dump: Dump, folder: Path) -> Dump:
    (folder / "spans").write_bytes(b"")
    return dump


def with_another_table(dump: Dump, folder: Path) -> Dump:
    return msgspec.structs.replace(dump, tables=[msgspec.structs.replace(dump.tables[0], name="users")])


def of_the_future(dump: Dump, folder: Path) -> Dump:
    return msgspec.structs.replace(dump, schema="0999")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (cut, "in the middle of a batch"),
        (without_rows, "rows, and 0 were found"),
        (with_another_table, "'users'"),
        (of_the_future, "a newer Starloom wrote this backup"),
    ],
)
async def test_a_damaged_dump_changes_nothing(tmp_path: Path, damage: Any, said: str) -> None:
    source = await filled(f"sqlite:///{tmp_path / 'one.db'}")
    folder = tmp_path / "dump"
    folder.mkdir()
    dump = damage(await source.read(write_dump, folder), folder)
    await source.close()
    target = open_database(f"sqlite:///{tmp_path / 'two.db'}")
    try:
        with pytest.raises((Damaged, Unavailable), match=said):
            await target.write(read_dump, dump, folder)
        tables = await target.read(lambda c: c.execute(text("SELECT count(*) FROM sqlite_master")).scalar())
        assert tables == 0
    finally:
        await target.close()


async def test_a_dump_of_a_pruned_history_verifies_and_goes_on(tmp_path: Path) -> None:
    source = open_database(f"sqlite:///{tmp_path / 'one.db'}")
    await fill(source)
    ended = await source.read(pruning.read_ended, (0, ""), 2)
    await source.write(pruning.prune, 1, ended, 500, "history_keep_days")
    folder = tmp_path / "dump"
    folder.mkdir()
    dump = await source.read(write_dump, folder)
    target = open_database(f"sqlite:///{tmp_path / 'two.db'}")
    await target.write(read_dump, dump, folder)
    assert await target.read(whole) == await source.read(whole)
    assert await breaks(target) == []
    rest = await target.read(pruning.read_ended, (0, ""), 9)
    assert (await target.write(pruning.prune, 1, rest, 600, "history_keep_days")).commits == 4
    assert await breaks(target) == []
    await target.close()
    await source.close()
