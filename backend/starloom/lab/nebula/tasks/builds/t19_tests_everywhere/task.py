"""The answer names the test that fails, the device where, and the file that is the cause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.desk import PRICE_BROKEN
from starloom.lab.nebula.world.files.ground import Ground


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    rows = [row for table in world.answer.tables for row in table]
    devices = {name for row in rows for name in ("desk", "srv-a", "gpu") if name in row.values()}
    yield "a row for each", devices == {"desk", "srv-a", "gpu"}, 1
    failing = [row for row in rows if any("test_price" in str(value) for value in row.values())]
    yield "the test", bool(failing), 1
    yield "only on gpu", {name for row in failing for name in devices if name in row.values()} == {"gpu"}, 1
    yield "the cause", world.answer.says("price.py"), 1
    yield "and no other file", bool(rows) and not world.answer.says("cart.py"), 1


def lay(ground: Ground) -> dict[str, Any]:
    """Copies of shop on srv-a and gpu; that of gpu has another price.py."""
    for device in ("srv-a", "gpu"):
        for name in ("price.py", "cart.py", "test_price.py", "test_cart.py"):
            broken = device == "gpu" and name == "price.py"
            ground.write(device, f"shop/{name}", PRICE_BROKEN if broken else ground.read("desk", f"shop/{name}"))
    return {}
