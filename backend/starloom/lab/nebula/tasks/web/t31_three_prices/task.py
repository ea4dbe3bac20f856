"""The answer's table has the three right prices, cheapest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.ground import Ground

NEAR: Final = 0.001


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    truth = world.truth["prices"]
    rows = next((table for table in world.answer.tables if len(table) == len(truth)), [])
    prices = [[value for value in row.values() if isinstance(value, int | float)] for row in rows]
    yield "three of them", len(rows) == len(truth), 1
    near = [any(abs(one - price) < NEAR for one in mine) for mine, price in zip(prices, sorted(truth), strict=True)]
    yield "the right prices, cheapest first", all(near), 3


def lay(ground: Ground) -> dict[str, Any]:
    """Three pages with a price each; the second answers 503 twice."""
    draw = ground.draw("prices")
    cents = draw.sample(range(500, 9900), 3)
    for number, price in enumerate(cents, 1):
        page = f"<html><h1>Article {number}</h1><p>{price / 100:.2f} EUR</p></html>\n"
        ground.write("srv-a", f"site/article-{number}.html", page)
    ground.set_state("srv-a", "site", {"flaky": {"article-2.html": 2}})
    return {"prices": [price / 100 for price in cents]}
