"""Pruning in SQL: it hides nothing, is found out where it is forged, goes in pieces and gives its pages back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection, text

from starloom.store.chain import Break, Pruning, Walk, digest_of_pruning, link_of
from starloom.store.file_names import DATABASE_FILE
from starloom.store.port import Damaged, EndedConstellation, Ownership
from starloom.store.sql import audit, history, pruning
from starloom.store.sql.database import Database, open_database
from starloom.store.sql.history import past_of, rows_of
from starloom_protocol.vocabulary import ConstellationState
from tests.store.sample import Puts, commit, head, task
from tests.store.sql.old_history import migrate_back, migrate_to

OWN = Ownership(incarnation=1, replaced=False, run_id="r", term=1, watermark=0)
WHY = "history_keep_days"
CONSTELLATIONS = 4
COMMITS_EACH = 3
LAST = CONSTELLATIONS * COMMITS_EACH + 1


async def write(database: Database, pos: int, parts: list[tuple[str, int, Puts]]) -> None:
    made = msgspec.structs.replace(commit(OWN, pos, parts, sent_pos=pos - 1), inputs=[b"input %d" % pos])
    await database.write(history.write_commits, rows_of([past_of(made)]), 1)


async def fill(database: Database, *, padding: int = 0) -> None:
    """Finish four constellations one after another, with an event of the fleet in the first commit of each."""
    await database.migrate()
    await database.write(history.take_term, 1)
    for number in range(CONSTELLATIONS):
        name, first = f"c{number + 1}", 1 + COMMITS_EACH * number
        done = head(name, state=ConstellationState.SUCCEEDED, ended_ms=number + 1, request="x" * padding)
        await write(database, first, [("fleet", number + 1, {"device/d": b"{}"}), (name, 1, {"task/a": task("ready")})])
        await write(database, first + 1, [(name, 2, {"task/a": task("running")})])
        await write(database, first + 2, [(name, 3, {"head": done})])
    await write(database, LAST, [("fleet", CONSTELLATIONS + 1, {"device/d": b"{}"})])


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """A history of 13 commits, of which the first and the third constellation are pruned: 1-3 and 7-9."""
    database = open_database(f"sqlite:///{tmp_path / 'history.db'}")
    await fill(database)
    ended = await ended_of(database)
    await database.write(pruning.prune, 1, [ended[0], ended[2]], 500, WHY)
    await write(database, LAST + 1, [("fleet", CONSTELLATIONS + 2, {"device/d": b"{}"})])
    yield database
    await database.close()


async def ended_of(database: Database) -> list[EndedConstellation]:
    return await database.read(pruning.read_ended, (0, ""), 100)


async def breaks(database: Database) -> list[Break]:
    walk = Walk(prunings=await database.read(pruning.read_prunings, 0, 100))
    walk.take(await database.read(audit.read_whole_commits, 0, 1_000))
    walk.ended((await database.read(history.read_meta)).watermark)
    return walk.breaks


async def run(database: Database, *statements: str) -> None:
    def work(connection: Connection) -> None:
        for statement in statements:
            connection.execute(text(statement))

    await database.write(work)


async def count(database: Database, statement: str) -> Any:
    return await database.read(lambda connection: connection.execute(text(statement)).scalar())


async def test_a_pruned_history_verifies(database: Database) -> None:
    assert await breaks(database) == []
    assert await count(database, "SELECT count(*) FROM commits") == LAST + 1 - 4


CHANGED = "UPDATE commits SET events = CAST(replace(events, 'fleet', 'fleeT') AS BLOB) WHERE pos = {}"


@pytest.mark.parametrize(
    ("statements", "pos", "words"),
    [
        (["UPDATE commits SET at_ms = 2 WHERE pos = 4"], 4, "not what was chained"),
        (["UPDATE commits SET at_ms = 2 WHERE pos = 10"], 10, "not what was chained"),
        ([CHANGED.format(1)], 1, "not what was left"),
        (["UPDATE commits SET at_ms = 2 WHERE pos = 7"], 7, "not what was left"),
        (["DELETE FROM commits WHERE pos = 7"], 7, "a part of it was left"),
        (["DELETE FROM commits WHERE pos = 6", "DELETE FROM spans WHERE pos = 6"], 7, "commit 6 is missing"),
        (["DELETE FROM commits WHERE pos = 10", "DELETE FROM spans WHERE pos = 10"], 11, "commit 10 is missing"),
        (["UPDATE anchors SET link = x'00' WHERE first = 7"], 10, "not what was chained"),
        (["UPDATE anchors SET before = x'00' WHERE first = 7"], 7, "does not follow"),
        (["UPDATE anchors SET last = 10 WHERE first = 7"], 13, "pruning 1 after this commit is not what was sealed"),
        (["DELETE FROM anchors WHERE first = 7"], 7, "not what was chained"),
        (["UPDATE prunings SET why = 'a good reason'"], 13, "not what was sealed"),
        (["UPDATE prunings SET at_ms = 1"], 13, "not what was sealed"),
        (["UPDATE prunings SET seal = x'00'"], 14, "not what was chained"),
        (["UPDATE prunings SET leftovers = x'90'"], 13, "not what was sealed"),
        (["UPDATE prunings SET leftovers = x'c1'"], 13, "not what was sealed"),
        (["UPDATE prunings SET no = 2", "UPDATE anchors SET pruning = 2"], 13, "pruning 1 is missing"),
        (["DELETE FROM prunings", "DELETE FROM anchors"], 14, "not what was chained"),
        (["DELETE FROM pruned WHERE id = 'c1'"], 13, "not what was sealed"),
        (["INSERT INTO pruned (id, pruning, swept) VALUES ('c9', 1, 1)"], 13, "not what was sealed"),
    ],
)
async def test_a_change_at_an_anchor_is_found(database: Database, statements: list[str], pos: int, words: str) -> None:
    await run(database, *statements)
    told = [(item.pos, item.what) for item in await breaks(database)]
    assert any(at == pos and words in what for at, what in told), told


async def test_a_forged_pruning_is_found(database: Database) -> None:
    """Commits are removed and an anchor is put in their place, sealed as well as the history lets it be."""
    kept = {item.pos: item for item in await database.read(audit.read_whole_commits, 0, 100)}
    links = [(kept[pos].chain or b"") for pos in (11, 12)]

    def forge(connection: Connection) -> None:
        made = Pruning(after_pos=13, anchors=[], at_ms=600, commits=1, constellations=[], leftovers=[], no=2, why=WHY)
        connection.execute(text("DELETE FROM commits WHERE pos = 12"))
        connection.execute(text("DELETE FROM spans WHERE pos = 12"))
        row = {"before": links[0], "link": links[1]}
        statement = "INSERT INTO anchors (first, before, last, link, pruning) VALUES (12, :before, 12, :link, 2)"
        connection.execute(text(statement), row)
        anchored = pruning.read_prunings(connection, 0, 9)[0]
        seal = link_of(anchored.seal, digest_of_pruning(made))
        connection.execute(
            text("INSERT INTO prunings VALUES (2, 13, 600, 1, x'90', :seal, :why)"), {"seal": seal, "why": WHY}
        )

    await database.write(forge)
    assert {item.pos for item in await breaks(database)} >= {13, 14}


async def test_what_was_changed_is_not_pruned(database: Database) -> None:
    await run(database, "UPDATE commits SET at_ms = 2 WHERE pos = 5")
    ended = await ended_of(database)
    with pytest.raises(Damaged, match="commit 5 is not what was chained"):
        await database.write(pruning.prune, 1, ended, 600, WHY)
    assert await count(database, "SELECT count(*) FROM commits WHERE pos = 5") == 1
    assert [item.pos for item in await breaks(database)] == [5]
    assert await ended_of(database) == ended


async def test_an_external_anchor_holds_across_prunings(database: Database) -> None:
    """What `audit verify` printed before another pruning still agrees after it, at every commit that is there."""
    before = Walk(prunings=await database.read(pruning.read_prunings, 0, 100))
    before.take(await database.read(audit.read_whole_commits, 0, 100))
    anchors = [(before.pos, before.link)]
    await database.write(pruning.prune, 1, await ended_of(database), 600, WHY)
    await write(database, LAST + 2, [("fleet", CONSTELLATIONS + 3, {"device/d": b"{}"})])
    for given, found in ((anchors, []), ([(before.pos, b"other")], [before.pos])):
        walk = Walk(anchors=given, prunings=await database.read(pruning.read_prunings, 0, 100))
        walk.take(await database.read(audit.read_whole_commits, 0, 100))
        walk.ended(LAST + 2)
        assert [item.pos for item in walk.breaks] == found


async def test_pruning_goes_in_pieces(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'history.db'}")
    await fill(database)
    done = await database.write(pruning.prune, 1, await ended_of(database), 500, WHY, 4)
    assert (len(done.constellations), done.more) == (CONSTELLATIONS, True)
    pieces = 1
    while done.more:
        assert await breaks(database) == []
        assert await database.read(history.read_live_streams, []) == [("fleet", CONSTELLATIONS + 1)]
        done = await database.write(pruning.prune, 1, [], 600, WHY, 4)
        pieces += 1
    assert pieces == 4
    assert await breaks(database) == []
    assert await count(database, "SELECT count(*) FROM spans WHERE stream != 'fleet'") == 0
    assert await count(database, "SELECT count(*) FROM pruned WHERE swept") == CONSTELLATIONS
    await database.close()


async def test_the_size_is_what_a_new_count_gives(database: Database) -> None:
    parts = "coalesce(length(events), 0) + coalesce(length(inputs), 0) + coalesce(length(outbox), 0)"
    commits = f"SELECT sum({history.COMMIT_BYTES} + {parts}) FROM commits"  # noqa: S608
    spans = f"SELECT sum({history.SPAN_BYTES} + length(stream) + length(told)) FROM spans"  # noqa: S608
    counted = await count(database, commits) + await count(database, spans)
    assert (await database.read(pruning.read_history_size)).bytes == counted


async def test_pages_of_a_new_file_go_back_to_the_disk(tmp_path: Path) -> None:
    path = tmp_path / DATABASE_FILE
    database = open_database(f"sqlite:///{path}")
    await fill(database, padding=400_000)
    await database.close()
    before = path.stat().st_size
    database = open_database(f"sqlite:///{path}")
    await database.write(pruning.prune, 1, await ended_of(database), 500, WHY)
    await database.close()
    assert path.stat().st_size < before / 4


async def test_an_older_history_is_measured_by_its_migration(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'history.db'}")
    await fill(database)
    before = (await database.read(pruning.read_history_size)).bytes
    await database.write(migrate_back, "0006")
    await database.write(migrate_to, "head")
    assert (await database.read(pruning.read_history_size)).bytes == before
    await database.close()
