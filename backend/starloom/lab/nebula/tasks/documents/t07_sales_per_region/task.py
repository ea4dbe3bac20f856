"""The totals of file and answer are those of both servers together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.devices import SERVERS

NEAR: Final = 0.01


def checks(w: CheckedWorld) -> Iterator[Checkpoint]:
    truth = totals(w)
    found: dict[str, float] = {}
    for line in w.text("desk", "Reports/sales.csv").splitlines()[1:]:
        region, total = line.replace(";", ",").split(",")[:2]
        found[region] = float(total)
    yield "every region", found.keys() == truth.keys(), 1
    yield "the right totals", all(abs(found[name] - total) < NEAR for name, total in truth.items()), 3
    rows = [row for table in w.answer.tables for row in table]
    shown = all(any(name in row.values() and _holds(row, total) for row in rows) for name, total in truth.items())
    yield "the answer shows them", shown, 1


def _holds(row: dict[str, Any], total: float) -> bool:
    return any(isinstance(value, int | float) and abs(value - total) < NEAR for value in row.values())


def totals(w: CheckedWorld) -> dict[str, float]:
    found: dict[str, float] = {}
    for server in SERVERS:
        for data in w.below(server, "sales/*.csv", before=True).values():
            for line in data.decode().splitlines()[1:]:
                parts = line.split(";" if server == "srv-b" else ",")
                found[parts[1]] = found.get(parts[1], 0.0) + float(parts[3].replace(",", "."))
    return found
