"""srv-a is updated, srv-b was tried once, desk is untouched, and the answer says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.ground import Ground
from starloom.lab.nebula.world.files.servers import lay_packages


def checks(w: CheckedWorld) -> Iterator[Checkpoint]:
    tried = [call.device for call in w.calls(tool="pkg.upgrade")]
    yield "each tried once", sorted(tried) == ["srv-a", "srv-b"], 2
    waiting = {device: _waiting(w, device) for device in ("srv-a", "desk")}
    yield "srv-a is updated", w.state("srv-a", "pkg")["up"] is True and not waiting["srv-a"], 1
    yield "desk is untouched", bool(waiting["desk"]), 1
    yield "the answer names srv-b", w.answer.says("srv-b"), 1
    down = any(isinstance(value, dict) and value.get("up") is False for _, value in w.answer.items)
    yield "and says that it is not up", down or w.answer.says("did not come back"), 1


def _waiting(w: CheckedWorld, device: str) -> list[str]:
    rows = w.state(device, "pkg")["packages"]
    return [row["name"] for row in rows if row["security"] and row["current"] != row["available"]]


def lay(ground: Ground) -> dict[str, Any]:
    """srv-b does not come back after an update."""
    lay_packages(ground, "srv-b", breaks=True)
    return {}
