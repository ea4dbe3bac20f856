"""Yesterday's picture."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground
from starloom.lab.nebula.base.pictures import png


def lay(ground: Ground) -> dict[str, Any]:
    ground.write("desk", f"Pictures/cam-{ground.facts.day_after(-1)}.png", png(ground.draw("yesterday")))
    return {}
