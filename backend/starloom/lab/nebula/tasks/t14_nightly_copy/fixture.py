"""Eight copies of earlier nights, so that the ninth run has to let two go."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground
from starloom.lab.nebula.base.servers import orders_db


def lay(ground: Ground) -> dict[str, Any]:
    for nights in range(1, 9):
        data = orders_db(ground, 100 + nights, f"night {nights}")
        ground.write("srv-b", f"nightly/orders-{ground.facts.day_after(-nights)}.db", data, age_s=nights * 86_400.0)
    return {}
