"""The answer has the rate of srv-b and names it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.ground import Ground


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    values = [value for _, value in world.answer.items]
    yield "the rate", str(world.truth["rate"]) in world.answer.text, 2
    yield "the source", bool(values) and world.answer.says("srv-b"), 1


def lay(ground: Ground) -> dict[str, Any]:
    """The first source is down."""
    rate = round(1 + ground.draw("rate").random(), 4)
    ground.write("srv-a", "site/rate.json", json.dumps({"rate": 0.5}))
    ground.write("srv-b", "site/rate.json", json.dumps({"rate": rate}))
    services = ground.state("srv-a", "svc")["services"]
    services["shop"]["state"] = "stopped"
    ground.set_state("srv-a", "svc", {"services": services})
    return {"rate": rate}
