"""The answer's table is the top ten of the database, in order."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint

ASK = "SELECT customer, count(*) AS n FROM orders GROUP BY customer ORDER BY n DESC, customer LIMIT 10"


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(world.had("srv-a", "orders.db"))
        truth = list(database.execute(ASK))
    names = [customer for customer, _ in truth]
    rows = next((table for table in world.answer.tables if any(names[0] in row.values() for row in table)), [])
    yield "ten rows", len(rows) == len(truth), 1
    pairs = zip(rows, truth, strict=False)
    right = all(customer in row.values() and count in row.values() for row, (customer, count) in pairs)
    yield "the right ones in order", bool(rows) and right, 2
