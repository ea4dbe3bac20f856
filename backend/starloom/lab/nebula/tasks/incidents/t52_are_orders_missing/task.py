"""The answer says no, with the counts of both sides."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.ground import Ground


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    count = world.truth["count"]
    values = [value for _, value in world.answer.items]
    numbers = [part for value in values for part in _numbers(value)]
    yield "the count of both", numbers.count(count) == 2, 2
    yield "none is missing", 0 in numbers, 1
    yield "it says so", world.answer.says("missing"), 1


def _numbers(value: object) -> list[int]:
    if isinstance(value, dict):
        return [number for part in value.values() for number in _numbers(part)]
    if isinstance(value, list):
        return [number for part in value for number in _numbers(part)]
    return [value] if isinstance(value, int) and not isinstance(value, bool) else []


def lay(ground: Ground) -> dict[str, Any]:
    """Every order of the log is in the database."""
    draw = ground.draw("today")
    times = sorted(f"{draw.randrange(6, 12):02d}:{draw.randrange(60):02d}" for _ in range(draw.randrange(150, 250)))
    orders = [(90_000 + number, at) for number, at in enumerate(times)]
    path = ground.files("srv-a") / "orders.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE today (id INTEGER PRIMARY KEY, at TEXT)")
        database.executemany("INSERT INTO today VALUES (?, ?)", orders)
        database.commit()
    ground.dated(path, 60.0)
    ground.write("srv-b", "logs/orders.log", "".join(f"{at} {number}\n" for number, at in orders))
    return {"count": sum(at >= "09:00" for at in times)}
