"""Seven copies are there, the newest seven; the new one is whole and has the rows of the original."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.ground import Ground
from starloom.lab.nebula.world.files.servers import orders_db


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    copies = world.below("srv-b", "nightly/*.db")
    mine = f"nightly/orders-{world.words['today']}.db"
    newest = sorted([*world.below("srv-b", "nightly/*.db", before=True), mine])[-7:]
    yield "the newest seven", sorted(copies) == newest, 2
    yield "the same rows", _rows(copies[mine]) == _rows(world.had("srv-a", "orders.db")), 2
    older = [path for path in newest if path != mine]
    yield "the older ones as they were", all(copies.get(path) == world.had("srv-b", path) for path in older), 1


def _rows(data: bytes) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(data)
        if database.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise ValueError("the database is not whole")
        return list(database.execute("SELECT * FROM orders ORDER BY id"))


def lay(ground: Ground) -> dict[str, Any]:
    """Eight copies of earlier nights, so that the ninth run has to let two go."""
    for nights in range(1, 9):
        data = orders_db(ground, 100 + nights, f"night {nights}")
        ground.write("srv-b", f"nightly/orders-{ground.facts.day_after(-nights)}.db", data, age_s=nights * 86_400.0)
    return {}
