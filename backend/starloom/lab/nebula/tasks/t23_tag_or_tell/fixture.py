"""The tests pass in every second world."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.desk import BROKEN_AT, lay_shop
from starloom.lab.nebula.base.ground import Ground


def lay(ground: Ground) -> dict[str, Any]:
    passes = ground.facts.seed % 2 == 1
    if not passes:
        lay_shop(ground, broken_at=BROKEN_AT)
    return {"passes": passes, "head": ground.read("desk", "shop/.git/refs/heads/main").strip()}
