"""The durable history by itself: schema, fencing, rows, rebuilding a commit, the two databases' names."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from msgspec.structs import replace
from sqlalchemy import Connection, inspect, select, table, text
from sqlmodel import SQLModel

from starloom.store import opening
from starloom.store.file_names import OPENING_FILE
from starloom.store.port import Ownership, Unavailable
from starloom.store.sql import history
from starloom.store.sql.database import MIGRATIONS, Database, SqliteDatabase, newest_revision, open_database
from starloom.store.sql.history import PastCommit, Superseded, rows_of
from starloom_protocol.stream.feed import decode_event
from tests.store.sample import attempt, commit, head, task
from tests.store.sql.old_history import migrate_back, migrate_to, moves_old_events, old_history, write_old

pytestmark = pytest.mark.short

OWN = Ownership(incarnation=1, replaced=False, run_id="r", term=1, watermark=0)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = open_database(f"sqlite:///{tmp_path / 'history.db'}")
    await database.migrate()
    await database.write(history.take_term, 1)
    yield database
    await database.close()


def past(pos: int) -> PastCommit:
    return history.past_of(commit(OWN, pos, [("c1", pos, {"task/a": task("ready")})], outbox=[b"x"], sent_pos=pos - 1))


async def test_the_migrations_make_what_the_tables_say(tmp_path: Path) -> None:
    def differences(connection: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection), SQLModel.metadata))

    database = open_database(f"sqlite:///{tmp_path / 'migrated.db'}")
    try:
        await database.write(migrate_to, "head")
        assert await database.read(differences) == []
    finally:
        await database.close()


async def test_a_new_history_is_the_one_that_all_migrations_make(tmp_path: Path) -> None:
    assert await _made(tmp_path / "new.db", None) == await _made(tmp_path / "migrated.db", "head")


async def _made(path: Path, revision: str | None) -> dict[str, object]:
    """Return all of a new history, made at once or by the migrations up to a revision."""

    def told(connection: Connection) -> dict[str, object]:
        looked = inspect(connection)
        return {
            name: (
                {column["name"]: {**column, "type": str(column["type"])} for column in looked.get_columns(name)},
                looked.get_pk_constraint(name),
                looked.get_table_options(name),
                sorted(map(str, looked.get_indexes(name))),
                [dict(row) for row in connection.execute(select(text("*")).select_from(table(name))).mappings()],
            )
            for name in looked.get_table_names()
        }

    database = open_database(f"sqlite:///{path}")
    try:
        await (database.migrate() if revision is None else database.write(migrate_to, revision))
        return await database.read(told)
    finally:
        await database.close()


def test_a_new_history_loads_no_alembic(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys; from starloom.store.sql.database import open_database;"
        f"asyncio.run(open_database('sqlite:///{tmp_path / 'new.db'}').migrate()); print('alembic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


async def test_migrating_twice_changes_nothing(database: Database) -> None:
    await database.write(history.write_commits, rows_of([past(1)]), 1)
    await database.migrate()
    assert (await database.read(history.read_meta)).watermark == 1


def test_the_newest_migration_is_known_without_alembic() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    scripts = ScriptDirectory.from_config(config)
    assert scripts.get_heads() == [newest_revision()]
    named = {Path(script.path).name.partition("_")[0]: script.revision for script in scripts.walk_revisions()}
    assert list(named) == list(named.values()), "the name of a migration's file begins with its revision"


async def test_a_history_behind_the_newest_migration_is_brought_up_to_date(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'old.db'}")

    def columns(connection: Connection) -> set[str]:
        return {column["name"] for column in inspect(connection).get_columns("commits")}

    try:
        await database.write(migrate_to, "0002")
        assert "chain" not in await database.read(columns)
        await database.migrate()
        assert "chain" in await database.read(columns)
        found = await database.read(lambda c: c.exec_driver_sql("SELECT version_num FROM alembic_version").scalar())
        assert found == newest_revision()
    finally:
        await database.close()


async def test_a_history_of_a_newer_version_is_refused_in_words(database: Database) -> None:
    def to_the_future(connection: Connection) -> None:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0999'")

    await database.write(to_the_future)
    with pytest.raises(Unavailable, match=r"its schema is 0999, .* up to \d{4}\. Nothing was changed"):
        await database.migrate()
    assert (await database.read(history.read_meta)).watermark == 0


async def test_events_that_had_rows_of_their_own_are_found_in_their_commits(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'old.db'}")
    try:
        await moves_old_events(database)
    finally:
        await database.close()


async def test_who_waits_for_the_hub_sees_that_the_history_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / OPENING_FILE
    seen: list[bool] = []

    async def migrate(_: Database) -> None:
        seen.append(mark.exists())
        raise Unavailable("the disk is full")

    monkeypatch.setattr(SqliteDatabase, "migrate", migrate)
    with pytest.raises(Unavailable):
        await opening.open_store("redis://localhost", f"sqlite:///{tmp_path / 'history.db'}", home=tmp_path)
    assert (seen, mark.exists()) == ([True], False)


async def test_events_go_back_to_rows_of_their_own(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'old.db'}")
    query = 'SELECT stream, seq, about, at_ms, body, "by", kind, place, pos FROM events ORDER BY pos, place'

    def rows(connection: Connection) -> list[tuple[object, ...]]:
        return [tuple(row) for row in connection.execute(text(query))]

    try:
        await database.write(migrate_to, "0005")
        await database.write(write_old, old_history())
        before = await database.read(rows)
        await database.migrate()
        await database.write(migrate_back, "0005")
        assert await database.read(rows) == before
    finally:
        await database.close()


async def test_no_table_has_its_rows_among_its_keys(database: Database) -> None:
    """A row that is larger than a page is read whole wherever SQLite compares a key with it."""

    def layouts(connection: Connection) -> list[str]:
        return [str(sql) for sql in connection.execute(text("SELECT sql FROM sqlite_master")).scalars()]

    found = await database.read(layouts)
    assert any(sql.startswith("CREATE TABLE commits") for sql in found)
    assert not [sql for sql in found if "WITHOUT ROWID" in sql]


async def test_it_is_written_so_that_a_power_cut_loses_nothing(database: Database) -> None:
    def pragmas(connection: Connection) -> tuple[object, object]:
        return (
            connection.execute(text("PRAGMA journal_mode")).scalar(),
            connection.execute(text("PRAGMA synchronous")).scalar(),
        )

    assert await database.write(pragmas) == ("wal", 2)


async def test_only_the_owner_writes_and_only_what_follows(database: Database) -> None:
    await database.write(history.write_commits, rows_of([past(1), past(2)]), 1)
    for batch, term in (([past(2)], 1), ([past(4)], 1), ([past(3)], 2)):
        with pytest.raises(Superseded):
            await database.write(history.write_commits, rows_of(batch), term)
    assert await database.write(history.take_term, 3)
    assert not await database.write(history.take_term, 3)
    with pytest.raises(Superseded):
        await database.write(history.write_commits, rows_of([past(3)]), 1)
    with pytest.raises(Superseded):
        await database.write(history.raise_incarnation, 1, "other")
    await database.write(history.write_commits, rows_of([past(3)]), 3)
    assert (await database.read(history.read_meta)).watermark == 3


async def test_a_batch_is_written_whole_or_not_at_all(database: Database) -> None:
    twice = history.past_of(commit(OWN, 2, [("c1", 1, {})]))
    with pytest.raises(Unavailable):
        await database.write(history.write_commits, rows_of([past(1), twice]), 1)
    assert (await database.read(history.read_meta)).watermark == 0
    assert await database.read(history.read_events, "c1", 0, 10) == (0, [])


async def test_a_commit_comes_back_as_it_was(database: Database) -> None:
    made = commit(OWN, 1, [("c1", 1, {"task/a": task("ready")}), ("fleet", 1, {}), ("c1", 2, {})], outbox=[b"x", b"y"])
    await database.write(history.write_commits, rows_of([history.past_of(made)]), 1)
    (entry,) = await database.read(history.read_commits, 0, 10)
    assert entry.events == made.events
    assert entry.outbox == made.outbox
    assert entry.heads == [("c1", 2), ("fleet", 1)]
    assert (entry.pos, entry.term, entry.incarnation, entry.sent_pos, entry.at_ms) == (1, 1, 1, 0, 1)


async def test_a_reader_writes_nothing(tmp_path: Path, database: Database) -> None:
    reader = open_database(f"sqlite:///{tmp_path / 'history.db'}", read_only=True)
    try:
        assert (await reader.read(history.read_meta)).term == 1
        with pytest.raises(Unavailable, match="readonly"):
            await reader.write(history.take_term, 9)
    finally:
        await reader.close()
    assert (await database.read(history.read_meta)).term == 1


async def test_a_history_in_memory_works_alike() -> None:
    database = open_database("sqlite://")
    await database.migrate()
    await database.write(history.take_term, 1)
    assert (await database.read(history.read_meta)).term == 1
    await database.close()


async def test_a_file_that_is_no_database_says_so(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.write_bytes(b"not a database" * 100)
    database = open_database(f"sqlite:///{path}")
    with pytest.raises(Unavailable, match=r"SQLite .*history\.db is corrupt"):
        await database.migrate()
    await database.close()


def test_another_kind_of_database_is_refused_with_the_way_out() -> None:
    with pytest.raises(ValueError, match="use sqlite"):
        open_database("mysql://host/name")


def test_events_that_their_maker_still_has_give_the_rows_that_their_bytes_give() -> None:
    puts = {
        "head": head("c1"),
        "answer": None,
        "task/a": task("leased"),
        "attempt/a/1": attempt("d-one"),
        "rule/r": None,
    }
    made = commit(OWN, 1, [("c1", 1, puts), ("c2", 1, {"task/a": task("ready")})])
    told = replace(made, told=[decode_event(raw) for raw in made.events])
    rows = rows_of([history.past_of(told)])
    assert rows == rows_of([history.past_of(made)])
    assert rows.devices == [{"constellation": "c1", "device": "d-one"}]
    assert rows.answers == [{"stream": "c1", "answer": None}]
