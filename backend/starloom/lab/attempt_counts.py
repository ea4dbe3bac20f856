"""The number of times that work was really begun, counted in the devices' own ledgers, independent of the hub.

Reads the ledgers; `AttemptCounts` itself is plain data. The verdict, not this module, decides whether a count is right.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

Row = tuple[str, str, bool]
"""Device, task, whether the attempt was begun."""


@dataclass(frozen=True)
class AttemptCounts:
    """How often each task was begun: task -> device -> number."""

    begun: Mapping[str, Mapping[str, int]]

    def count(self, task: str) -> int:
        return sum(self.begun.get(task, {}).values())

    def lines(self) -> list[str]:
        """Return one line for each task that was begun."""
        rows = []
        for task, where in sorted(self.begun.items()):
            places = ", ".join(f"{name} {number}" for name, number in sorted(where.items()))
            rows.append(f"{task}: begun {_times(self.count(task))} ({places})")
        return rows


def count(rows: Iterable[Row]) -> AttemptCounts:
    """Count attempts that were begun."""
    counts: dict[str, dict[str, int]] = {}
    for device, task, really in rows:
        if really:
            on = counts.setdefault(task, {})
            on[device] = on.get(device, 0) + 1
    return AttemptCounts(counts)


def read_ledger(device: str, ledger: Path, constellation: str) -> list[Row]:
    """Return the attempts of one constellation that a device has in its ledger."""
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True, timeout=10)) as database:
        rows = database.execute(
            "SELECT task, began_s IS NOT NULL FROM attempts WHERE constellation = ? ORDER BY rowid", (constellation,)
        )
        return [(device, str(task), bool(began)) for task, began in rows]


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
