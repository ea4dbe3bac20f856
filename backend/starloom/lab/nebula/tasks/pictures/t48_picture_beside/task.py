"""One picture was taken, and it lies on the desk as the camera made it."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.ground import Ground, png


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    camera = world.before.states["phone"]["cam"]
    shot = base64.b64decode(camera["pictures"][camera["offset"]])
    yield "taken once", len(world.calls("phone", "cam.shot")) == 1, 1
    yield "it is there", world.file("desk", f"Pictures/cam-{world.words['today']}.png") == shot, 2
    yesterday = f"Pictures/cam-{world.words['yesterday']}.png"
    yield "yesterday's is as it was", world.file("desk", yesterday) == world.had("desk", yesterday), 1


def lay(ground: Ground) -> dict[str, Any]:
    """Yesterday's picture."""
    ground.write("desk", f"Pictures/cam-{ground.facts.day_after(-1)}.png", png(ground.draw("yesterday")))
    return {}
