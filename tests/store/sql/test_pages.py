"""What becomes of a history whose bytes changed where they lie, and of one that has no room to grow."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect

from starloom.store.opening import open_store
from starloom.store.port import Corrupt, DiskFull
from starloom.store.sql import history
from starloom.store.sql.database import Database, check_pages, open_database
from tests.store.sql.test_dump import filled
from tests.store.sql.torn import tear

ROWS = 40_000


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    database = await filled(f"sqlite:///{tmp_path / 'starloom.db'}")
    await database.close()
    return tmp_path / "starloom.db"


def bytes_of(folder: Path) -> dict[str, bytes]:
    found = {path.name: path.read_bytes() for path in folder.glob("starloom.db*") if not path.name.endswith("-shm")}
    return {name: raw for name, raw in found.items() if raw}


def test_a_sound_file_is_checked_whole_and_left_as_it_is(file: Path) -> None:
    before = bytes_of(file.parent)
    assert check_pages(file, within_s=None)
    assert bytes_of(file.parent) == before


def test_corrupt_pages_are_found_and_named(file: Path) -> None:
    tear(file)
    with pytest.raises(Corrupt, match=r"starloom\.db is corrupt: .*Page"):
        check_pages(file, within_s=None)


def test_a_file_that_is_no_database_is_corrupt(tmp_path: Path) -> None:
    (tmp_path / "starloom.db").write_bytes(b"no database" * 1000)
    with pytest.raises(Corrupt, match="not a database"):
        check_pages(tmp_path / "starloom.db", within_s=None)


def test_a_check_ends_when_its_time_is_over(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "long.db")) as sql:
        sql.execute("CREATE TABLE rows (text TEXT NOT NULL)")
        sql.executemany("INSERT INTO rows VALUES (?)", (("row",) for _ in range(ROWS)))
        sql.commit()
    assert not check_pages(tmp_path / "long.db", within_s=-1.0)


async def test_a_corrupt_history_is_not_opened_and_not_written(file: Path) -> None:
    tear(file)
    before = bytes_of(file.parent)
    with pytest.raises(Corrupt):
        await open_store("redis://127.0.0.1:1/0", f"sqlite:///{file}")
    assert bytes_of(file.parent) == before


def change_events(connection: Connection) -> None:
    connection.exec_driver_sql("UPDATE commits SET events = substr(events, 1, length(events) - 40) || zeroblob(40)")


async def test_records_that_changed_are_told_as_corrupt_ever_after(file: Path) -> None:
    database: Database = open_database(f"sqlite:///{file}")
    try:
        await database.write(change_events)
        assert database.damage == ""
        stream = await database.read(lambda c: str(c.exec_driver_sql("SELECT stream FROM spans LIMIT 1").scalar()))
        with pytest.raises(Corrupt, match="is corrupt"):
            await database.read(history.read_events, stream, 0, 10)
        assert "is corrupt" in database.damage
    finally:
        await database.close()


def fill(connection: Connection) -> None:
    pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    connection.exec_driver_sql("CREATE TABLE more (raw BLOB)")
    connection.exec_driver_sql("INSERT INTO more VALUES (zeroblob(1000000))")


async def test_a_history_without_room_names_its_folder(file: Path) -> None:
    database = open_database(f"sqlite:///{file}")
    try:
        with pytest.raises(DiskFull, match=rf"the disk of {file.parent} is full \(.* MB free\)"):
            await database.write(fill)
    finally:
        await database.close()


async def test_a_write_that_fails_is_rolled_back_and_the_next_one_takes_another_connection(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'history.db'}")
    used: list[Connection] = []

    def fail(connection: Connection) -> None:
        connection.exec_driver_sql("CREATE TABLE left_behind (number INTEGER)")
        raise LookupError("on purpose")

    try:
        await database.write(used.append)
        await database.write(used.append)
        with pytest.raises(LookupError, match="on purpose"):
            await database.write(fail)
        await database.write(used.append)
        assert used[0] is used[1] is not used[2]
        assert used[0].closed
        assert not await database.read(lambda connection: inspect(connection).has_table("left_behind"))
    finally:
        await database.close()
    assert used[2].closed
