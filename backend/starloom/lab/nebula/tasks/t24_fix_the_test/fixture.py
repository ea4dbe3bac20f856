"""A repository whose newest version fails test_price."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.desk import COMMITS, lay_shop
from starloom.lab.nebula.base.ground import Ground


def lay(ground: Ground) -> dict[str, Any]:
    lay_shop(ground, broken_at=COMMITS)
    return {}
