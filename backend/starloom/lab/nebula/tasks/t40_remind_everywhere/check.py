"""The answer has a notice that was shown on each device."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.devices import NAMES
from starloom.lab.nebula.seen import Seen
from starloom.lab.nebula.task import Checkpoint


def checks(w: Seen) -> Iterator[Checkpoint]:
    rows = [row for table in w.answer.tables for row in table if row.get("shown") is True]
    yield "on every device", {name for row in rows for name in NAMES if name in row.values()} == set(NAMES), 1
