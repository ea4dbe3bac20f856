"""The totals of file and answer are those of both servers together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.devices import SERVERS

NEAR: Final = 0.01


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    truth = totals(world)
    sums: dict[str, float] = {}
    for line in world.text("desk", "Reports/sales.csv").splitlines()[1:]:
        region, total = line.replace(";", ",").split(",")[:2]
        sums[region] = float(total)
    yield "every region", sums.keys() == truth.keys(), 1
    yield "the right totals", all(abs(sums[name] - total) < NEAR for name, total in truth.items()), 3
    rows = [row for table in world.answer.tables for row in table]
    are_shown = all(any(name in row.values() and _holds(row, total) for row in rows) for name, total in truth.items())
    yield "the answer shows them", are_shown, 1


def _holds(row: dict[str, Any], total: float) -> bool:
    return any(isinstance(value, int | float) and abs(value - total) < NEAR for value in row.values())


def totals(world: CheckedWorld) -> dict[str, float]:
    sums: dict[str, float] = {}
    for server in SERVERS:
        for data in world.below(server, "sales/*.csv", before=True).values():
            for line in data.decode().splitlines()[1:]:
                parts = line.split(";" if server == "srv-b" else ",")
                sums[parts[1]] = sums.get(parts[1], 0.0) + float(parts[3].replace(",", "."))
    return sums
