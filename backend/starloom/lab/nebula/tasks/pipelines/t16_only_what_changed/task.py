"""The totals are those of the files as they are now, and only the changed file's task ran again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.ground import Ground
from starloom_protocol.stream.events import EventKind

NEAR: Final = 0.01


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    totals = json.loads(world.text("srv-a", "totals.json"))
    files = world.below("srv-a", "sales/*.csv")
    for path, data in files.items():
        total = sum(float(line.split(",")[3]) for line in data.decode().splitlines()[1:])
        yield f"the total of {path}", abs(totals[path.rpartition("/")[2]] - total) < NEAR, 1
    reused = sum(event.kind == EventKind.TASK_REUSED for event in world.events)
    yield "only the changed file's task ran again", reused >= len(files) - 1, 2


PLACE = "sales"


def between(ground: Ground) -> None:
    """Since the last run one sale of one month came in."""
    path = max(ground.files("srv-a").joinpath(PLACE).glob("*.csv"))
    day, region, customer, _ = path.read_text().splitlines()[-1].split(",")
    ground.write("srv-a", f"{PLACE}/{path.name}", f"{path.read_text()}{day},{region},{customer},12.34\n")
