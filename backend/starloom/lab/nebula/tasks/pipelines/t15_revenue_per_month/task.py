"""The answer has the revenue of each region and month, in cents or in whole units."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint

NEAR: Final = 0.006


def checks(w: CheckedWorld) -> Iterator[Checkpoint]:
    truth = revenue(w)
    rows = [row for table in w.answer.tables for row in table]
    found = {key: _numbers(rows, *key) for key in truth}
    yield "a row for each", all(found.values()), 1
    right = [
        any(abs(n - cents) < NEAR or abs(n - cents / 100) < NEAR for n in found[key]) for key, cents in truth.items()
    ]
    yield "the right sums", all(right), 3


def _numbers(rows: list[dict[str, Any]], region: str, month: str) -> list[float]:
    mine = [row for row in rows if region in row.values() and month in row.values()]
    return [value for row in mine for value in row.values() if isinstance(value, int | float)]


def revenue(w: CheckedWorld) -> dict[tuple[str, str], int]:
    region = dict(line.split(",") for line in w.had("srv-b", "regions.csv").decode().splitlines()[1:])
    found: dict[tuple[str, str], int] = {}
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(w.had("srv-a", "orders.db"))
        for customer, month, cents in database.execute("SELECT customer, substr(placed, 1, 7), cents FROM orders"):
            key = (region[customer], month)
            found[key] = found.get(key, 0) + cents
    return found
