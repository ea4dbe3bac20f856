"""The second newest backup is restored on gpu; the answer has its name and count, and what ails the newest."""

from __future__ import annotations

import io
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint


def checks(w: CheckedWorld) -> Iterator[Checkpoint]:
    backups = sorted(w.below("srv-b", "backups/*.tar.gz", before=True))
    newest, whole = backups[-1].rpartition("/")[2], backups[-2]
    with tarfile.open(fileobj=io.BytesIO(w.had("srv-b", whole))) as tar:
        held = tar.extractfile("orders.db")
        wanted = held.read() if held else b""
    restored = [data for path, data in w.below("gpu", "Restore/*").items() if path.endswith("orders.db")]
    yield "its database", restored == [wanted], 2
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(wanted)
        count = database.execute("SELECT count(*) FROM orders").fetchone()[0]
    rows = [row for table in w.answer.tables for row in table]
    yield "the count", any(count in row.values() for row in rows), 1
    yield "the one that was taken", w.answer.says(whole.rpartition("/")[2]), 1
    bad = [row for row in rows if row.get("name") == newest]
    yield "what is wrong with the newest", any(row.get("why") for row in bad), 1
