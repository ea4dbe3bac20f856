"""The answer's table has the three right prices, cheapest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from starloom.lab.nebula.seen import Checkpoint, Seen

NEAR: Final = 0.001


def checks(w: Seen) -> Iterator[Checkpoint]:
    truth = w.truth["prices"]
    rows = next((table for table in w.answer.tables if len(table) == len(truth)), [])
    found = [[value for value in row.values() if isinstance(value, float)] for row in rows]
    yield "three of them", len(rows) == len(truth), 1
    near = [any(abs(one - wanted) < NEAR for one in mine) for mine, wanted in zip(found, sorted(truth), strict=True)]
    yield "the right prices, cheapest first", all(near), 3
