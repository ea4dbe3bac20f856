"""The second newest backup is restored on gpu; the answer has its name and count, and what ails the newest."""

from __future__ import annotations

import io
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    backups = sorted(world.below("srv-b", "backups/*.tar.gz", before=True))
    newest, whole = backups[-1].rpartition("/")[2], backups[-2]
    with tarfile.open(fileobj=io.BytesIO(world.had("srv-b", whole))) as tar:
        member = tar.extractfile("orders.db")
        content = member.read() if member else b""
    restored = [data for path, data in world.below("gpu", "Restore/*").items() if path.endswith("orders.db")]
    yield "its database", restored == [content], 2
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(content)
        count = database.execute("SELECT count(*) FROM orders").fetchone()[0]
    rows = [row for table in world.answer.tables for row in table]
    yield "the count", any(count in row.values() for row in rows), 1
    yield "the one that was taken", world.answer.says(whole.rpartition("/")[2]), 1
    bad = [row for row in rows if row.get("name") == newest]
    yield "what is wrong with the newest", any(row.get("why") for row in bad), 1
