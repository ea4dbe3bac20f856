"""The answer has a row for each device, says that the shop is up, and the day its certificate ends."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.devices import NAMES

DAY_S: Final = 86_400


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    rows = [row for table in world.answer.tables for row in table if row.get("up") is True or row.get("status") == 200]
    devices = {name for row in rows for name in NAMES if name in row.values()}
    yield "from every machine", devices == set(NAMES), 2
    until = datetime.fromisoformat(world.words["certificate-until"])
    seconds = [value for row in rows for value in row.values() if isinstance(value, int) and value > DAY_S]
    is_said = any(int(until.timestamp()) == value for value in seconds) or world.answer.says(until.date().isoformat())
    yield "the day it ends", is_said, 1
