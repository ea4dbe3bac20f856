"""srv-a is updated, srv-b was tried once, desk is untouched, and the answer says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.ground import Ground
from starloom.lab.nebula.world.files.servers import lay_packages


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    tried = [call.device for call in world.calls(tool="pkg.upgrade")]
    yield "each tried once", sorted(tried) == ["srv-a", "srv-b"], 2
    waiting = {device: _waiting(world, device) for device in ("srv-a", "desk")}
    yield "srv-a is updated", world.state("srv-a", "pkg")["up"] is True and not waiting["srv-a"], 1
    yield "desk is untouched", bool(waiting["desk"]), 1
    yield "the answer names srv-b", world.answer.says("srv-b"), 1
    down = any(isinstance(value, dict) and value.get("up") is False for _, value in world.answer.items)
    yield "and says that it is not up", down or world.answer.says("did not come back"), 1


def _waiting(world: CheckedWorld, device: str) -> list[str]:
    rows = world.state(device, "pkg")["packages"]
    return [row["name"] for row in rows if row["security"] and row["current"] != row["available"]]


def lay(ground: Ground) -> dict[str, Any]:
    """srv-b does not come back after an update."""
    lay_packages(ground, "srv-b", breaks=True)
    return {}
