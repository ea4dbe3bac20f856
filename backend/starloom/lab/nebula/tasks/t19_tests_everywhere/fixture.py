"""Copies of shop on srv-a and gpu; that of gpu has another price.py."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.desk import PRICE_BROKEN
from starloom.lab.nebula.base.ground import Ground


def lay(ground: Ground) -> dict[str, Any]:
    for device in ("srv-a", "gpu"):
        for name in ("price.py", "cart.py", "test_price.py", "test_cart.py"):
            broken = device == "gpu" and name == "price.py"
            ground.write(device, f"shop/{name}", PRICE_BROKEN if broken else ground.read("desk", f"shop/{name}"))
    return {}
