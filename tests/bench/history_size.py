"""`python -m tests.bench.history_size`: what a finished task takes of the history, and what pruning gives back.

Runs chains of tasks on the real engine in memory, writes their commits into a SQLite history of its own, prunes half of
it and measures the file. Prints one line of JSON; nothing is asserted. `--database-url` measures PostgreSQL's tables.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path

from sqlalchemy import Connection, text

from starloom.engine.settings import FinishedRetention
from starloom.store.file_names import DATABASE_FILE
from starloom.store.sql import history, pruning
from starloom.store.sql.database import Database, open_database
from tests.builders import plan, task
from tests.engine.test_loop import TurningClock, Wires, build, kill, settle
from tests.store.memory import MemoryHistory, MemoryRedis

_TABLES = "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"


async def _played(constellations: int, tasks: int) -> MemoryHistory:
    """Return the history of constellations that ran to their end, a chain of tasks each."""
    made = MemoryHistory()
    found = await build(TurningClock(), MemoryRedis(), made, Wires(), FinishedRetention(quiet_ms=1_000))
    try:
        await found.join("one")
        for number in range(constellations):
            name = f"c{number}"
            parts = [task(f"t{at}", *([f"x=t{at - 1}"] if at else [])) for at in range(tasks)]
            await found.submit(plan(*parts), name=name)
            for _ in range(tasks):
                await settle()
                found.result(found.wires.dispatches()[-1])
            await found.clock.turn(2_000, by=500)
    finally:
        await kill(found)
    return made


async def _size(database: Database, path: Path | None) -> int:
    if path is None:
        statement = text(f"{_TABLES} WHERE n.nspname = 'public' AND c.relkind = 'r'")
        return int(await database.read(lambda connection: connection.execute(statement).scalar_one()))

    def flush(connection: Connection) -> None:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    await database.read(flush)
    return await asyncio.to_thread(lambda: path.stat().st_size)


async def _measure(options: argparse.Namespace, folder: Path) -> dict[str, float]:
    played = await _played(options.constellations, options.tasks)
    path = None if options.database_url else folder / DATABASE_FILE
    database = open_database(options.database_url or f"sqlite:///{path}")
    await database.migrate()
    await database.write(history.take_term, 1)
    for at in range(0, len(played.commits), 500):
        await database.write(history.write_commits, history.rows_of(played.commits[at : at + 500]), 1)
    before, counted = await _size(database, path), await database.read(pruning.read_history_size)
    ended = await database.read(pruning.read_ended, (0, ""), options.constellations // 2)
    transactions, leaving = 0, ended
    while (await database.write(pruning.prune, 1, leaving, 1, "history_keep_days")).more or leaving:
        transactions, leaving = transactions + 1, []
    after, left = await _size(database, path), await database.read(pruning.read_history_size)
    await database.close()
    tasks = options.constellations * options.tasks
    pruned = len(ended) * options.tasks
    return {
        "tasks": tasks,
        "bytes_a_task": round(before / tasks),
        "counted_a_task": round(counted.bytes / tasks),
        "file_over_counted": round(before / counted.bytes, 2),
        "bytes_a_pruned_task": round((after - before * (tasks - pruned) / tasks) / pruned),
        "counted_a_pruned_task": round((left.bytes - counted.bytes * (tasks - pruned) / tasks) / pruned),
        "transactions": transactions,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--constellations", type=int, default=100)
    parser.add_argument("--tasks", type=int, default=15)
    parser.add_argument("--database-url", default="", help="an empty PostgreSQL database; without it SQLite")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(asyncio.run(_measure(options, Path(folder)))))


if __name__ == "__main__":
    main()
