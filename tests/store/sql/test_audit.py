"""The audit chain in SQL: what is changed, gone or exchanged behind the hub's back is found and named."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text

from starloom.store.chain import Break, Walk
from starloom.store.port import Ownership
from starloom.store.sql import audit, history
from starloom.store.sql.database import Database, open_database
from starloom.store.sql.history import past_of, rows_of
from tests.store.sample import commit, task

NOT_CHAINED = "not what was chained"
OWN = Ownership(incarnation=1, replaced=False, run_id="r", term=1, watermark=0)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = open_database(f"sqlite:///{tmp_path / 'history.db'}")
    await database.migrate()
    await database.write(history.take_term, 1)
    made = [
        commit(OWN, pos, [("c1", 2 * pos - 1, {"task/a": task("ready")}), ("c1", 2 * pos, {"task/a": None})])
        for pos in range(1, 9)
    ]
    for at in (0, 3, 4):
        part = made[at : {0: 3, 3: 4, 4: 8}[at]]
        await database.write(history.write_commits, rows_of([past_of(item) for item in part]), 1)
    yield database
    await database.close()


async def breaks(database: Database) -> list[Break]:
    walk = Walk()
    walk.take(await database.read(audit.read_whole_commits, 0, 100))
    walk.ended((await database.read(history.read_meta)).watermark)
    return walk.breaks


async def run(database: Database, *statements: str) -> None:
    def work(connection: object) -> None:
        for statement in statements:
            connection.execute(text(statement))  # type: ignore[attr-defined]

    await database.write(work)


async def test_what_was_written_verifies(database: Database) -> None:
    assert await breaks(database) == []


@pytest.mark.parametrize(
    ("statements", "pos", "words"),
    [
        (["UPDATE commits SET events = CAST(replace(events, 'ready', 'readY') AS BLOB) WHERE pos = 3"], 3, NOT_CHAINED),
        (["UPDATE commits SET events = x'00' WHERE pos = 3"], 3, NOT_CHAINED),
        (["UPDATE commits SET events = x'91c401ff' WHERE pos = 3"], 3, "place 0 cannot be read"),
        (["UPDATE commits SET at_ms = 2 WHERE pos = 3"], 3, NOT_CHAINED),
        (["UPDATE commits SET chain = x'00' WHERE pos = 3"], 3, NOT_CHAINED),
        (["UPDATE commits SET chain = NULL WHERE pos = 3"], 3, "no link, though commits before it have one"),
        (["UPDATE spans SET told = 'task_changed person:mallory' WHERE pos = 3"], 3, "the index does not say of c1"),
        (["UPDATE spans SET last_seq = 99 WHERE pos = 3"], 3, "the index does not say of c1"),
        (["UPDATE spans SET pos = 3 WHERE pos = 4"], 3, "the index does not say of c1"),
        (["DELETE FROM spans WHERE pos = 3"], 3, "the index does not say of c1"),
        (["INSERT INTO spans (stream, last_seq, pos, told) VALUES ('c9', 1, 3, '')"], 3, "not say of c9"),
        (["DELETE FROM commits WHERE pos = 3"], 4, "commit 3 is missing"),
        (["DELETE FROM commits WHERE pos = 8"], 8, "reached 8"),
        (
            [
                "UPDATE commits SET pos = 99 WHERE pos = 3",
                "UPDATE commits SET pos = 3 WHERE pos = 4",
                "UPDATE commits SET pos = 4 WHERE pos = 99",
            ],
            3,
            "goes from event 4 to 7",
        ),
        (
            [
                "UPDATE commits SET pos = 99 WHERE pos = 3",
                "UPDATE commits SET pos = 3 WHERE pos = 4",
                "UPDATE commits SET pos = 4 WHERE pos = 99",
            ],
            3,
            NOT_CHAINED,
        ),
    ],
)
async def test_what_was_changed_is_found_and_named(
    database: Database, statements: list[str], pos: int, words: str
) -> None:
    await run(database, *statements)
    found = await breaks(database)
    assert found
    assert found[0].pos == pos
    assert words in " ".join(item.what for item in found if item.pos == pos)


async def test_a_chain_made_anew_does_not_meet_an_anchor(database: Database) -> None:
    kept = await database.read(audit.read_whole_commits, 0, 100)
    anchor = kept[5].pos, kept[5].chain or b""
    await run(database, "UPDATE commits SET events = CAST(replace(events, 'ready', 'readY') AS BLOB) WHERE pos = 1")
    changed = await database.read(audit.read_whole_commits, 0, 100)

    def forge(connection: object) -> None:
        from starloom.store.chain import BEGINNING, digest_of, link_of

        link = BEGINNING
        for item in changed:
            link = link_of(link, digest_of(item))
            statement = text("UPDATE commits SET chain = :chain WHERE pos = :pos")
            connection.execute(statement, {"chain": link, "pos": item.pos})  # type: ignore[attr-defined]

    await database.write(forge)
    assert await breaks(database) == []
    walk = Walk(anchors=[anchor])
    walk.take(await database.read(audit.read_whole_commits, 0, 100))
    assert [(item.pos, item.what) for item in walk.breaks] == [(6, "its link is not that of the anchor")]


async def test_commits_of_an_older_version_are_counted_not_blamed(database: Database) -> None:
    await run(database, "UPDATE commits SET chain = NULL")
    made = past_of(commit(OWN, 9, [("c1", 17, {})]))
    await database.write(history.write_commits, rows_of([made]), 1)
    walk = Walk()
    walk.take(await database.read(audit.read_whole_commits, 0, 100))
    assert (walk.breaks, walk.unchained) == ([], 8)
