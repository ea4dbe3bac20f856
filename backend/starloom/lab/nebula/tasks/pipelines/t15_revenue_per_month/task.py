"""The answer has the revenue of each region and month, in cents or in whole units."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint

NEAR: Final = 0.006


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    truth = revenue(world)
    rows = [row for table in world.answer.tables for row in table]
    numbers = {key: _numbers(rows, *key) for key in truth}
    yield "a row for each", all(numbers.values()), 1
    right = [
        any(abs(n - cents) < NEAR or abs(n - cents / 100) < NEAR for n in numbers[key]) for key, cents in truth.items()
    ]
    yield "the right sums", all(right), 3


def _numbers(rows: list[dict[str, Any]], region: str, month: str) -> list[float]:
    mine = [row for row in rows if region in row.values() and month in row.values()]
    return [value for row in mine for value in row.values() if isinstance(value, int | float)]


def revenue(world: CheckedWorld) -> dict[tuple[str, str], int]:
    region = dict(line.split(",") for line in world.had("srv-b", "regions.csv").decode().splitlines()[1:])
    cents_of: dict[tuple[str, str], int] = {}
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(world.had("srv-a", "orders.db"))
        for customer, month, cents in database.execute("SELECT customer, substr(placed, 1, 7), cents FROM orders"):
            key = (region[customer], month)
            cents_of[key] = cents_of.get(key, 0) + cents
    return cents_of
