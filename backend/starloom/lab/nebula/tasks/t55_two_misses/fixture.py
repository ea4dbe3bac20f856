"""The device that a fault takes away."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground


def lay(ground: Ground) -> dict[str, Any]:
    return {"lost": ground.draw("lost").choice(["srv-a", "srv-b"])}
