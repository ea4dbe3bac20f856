"""A history as versions before 0006 wrote it: each event a row. Not a test itself."""

from __future__ import annotations

from alembic.command import downgrade, upgrade
from alembic.config import Config
from sqlalchemy import Connection, text

from starloom.store.chain import BEGINNING, Walk, digest_of, link_of
from starloom.store.port import Ownership
from starloom.store.sql import audit, history
from starloom.store.sql.database import MIGRATIONS, Database
from starloom.store.sql.history import PastCommit, past_of, rows_of
from starloom_protocol.stream.feed import decode_event
from tests.store.sample import commit, task

OWN = Ownership(incarnation=1, replaced=False, run_id="r", term=1, watermark=0)
COMMITS = 502  # the migration goes by pages of 500

_COMMIT = """INSERT INTO commits (pos, at_ms, incarnation, sent_pos, term, chain)
VALUES (:pos, :at_ms, 1, :pos, 1, :chain)"""
_EVENT = """INSERT INTO events (stream, seq, about, at_ms, body, "by", kind, place, pos)
VALUES (:stream, :seq, :about, :at_ms, :body, :by, :kind, :place, :pos)"""


def old_history() -> list[PastCommit]:
    """Return commits of two streams that take turns within each, and one without events."""
    made = []
    for pos in range(1, COMMITS):
        events: list[tuple[str, int, dict[str, bytes | None]]] = [
            ("c1", 2 * pos - 1, {"task/a": task("ready")}),
            ("fleet", pos, {}),
            ("c1", 2 * pos, {"task/a": None}),
        ]
        made.append(past_of(commit(OWN, pos, events, sent_pos=pos)))
    return [*made, past_of(commit(OWN, COMMITS, [], sent_pos=COMMITS))]


def write_old(connection: Connection, commits: list[PastCommit]) -> None:
    """Write commits into the tables of 0005."""
    link = BEGINNING
    for made in commits:
        link = link_of(link, digest_of(made))
        connection.execute(text(_COMMIT), {"pos": made.pos, "at_ms": made.at_ms, "chain": link})
        for place, body in enumerate(made.events):
            event = decode_event(body)
            told = {name: getattr(event, name) for name in ("stream", "seq", "about", "at_ms", "by", "kind")}
            connection.execute(text(_EVENT), {**told, "body": body, "place": place, "pos": made.pos})
    connection.execute(text("UPDATE meta SET term = 1, watermark = :last"), {"last": commits[-1].pos})


def migrate_to(connection: Connection, revision: str) -> None:
    """Bring the schema to a revision."""
    upgrade(_config(connection), revision)


def migrate_back(connection: Connection, revision: str) -> None:
    """Bring the schema back to an earlier revision."""
    downgrade(_config(connection), revision)


def _config(connection: Connection) -> Config:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS))
    return config


async def moves_old_events(database: Database) -> None:
    """Show that a history of 0004 is found whole after the newest migration, and goes on."""
    made = old_history()
    await database.write(migrate_to, "0004")
    await database.write(write_old, made)
    await database.migrate()
    assert [entry.events for entry in await database.read(history.read_commits, 0, 600)] == [
        list(item.events) for item in made
    ]
    walk = Walk()
    walk.take(await database.read(audit.read_whole_commits, 0, 600))
    walk.ended(COMMITS)
    assert (walk.breaks, walk.commits, walk.events) == ([], COMMITS, 3 * (COMMITS - 1))
    later = past_of(commit(OWN, COMMITS + 1, [("c1", 2 * COMMITS - 1, {})], sent_pos=COMMITS))
    await database.write(history.write_commits, rows_of([later]), 1)
    _, found = await database.read(history.read_events, "c1", 0, 10_000)
    assert [seq for seq, _body in found] == list(range(1, 2 * COMMITS))
