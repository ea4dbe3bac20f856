"""The answer has a row for each device, says that the shop is up, and the day its certificate ends."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.devices import NAMES

DAY_S: Final = 86_400


def checks(w: CheckedWorld) -> Iterator[Checkpoint]:
    rows = [row for table in w.answer.tables for row in table if row.get("up") is True or row.get("status") == 200]
    named = {name for row in rows for name in NAMES if name in row.values()}
    yield "from every machine", named == set(NAMES), 2
    until = datetime.fromisoformat(w.words["certificate-until"])
    seconds = [value for row in rows for value in row.values() if isinstance(value, int) and value > DAY_S]
    said = any(int(until.timestamp()) == value for value in seconds) or w.answer.says(until.date().isoformat())
    yield "the day it ends", said, 1
