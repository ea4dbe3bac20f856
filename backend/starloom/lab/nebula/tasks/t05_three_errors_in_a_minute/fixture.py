"""A quiet log; its errors come by a change of the world while the task runs."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground


def lay(ground: Ground) -> dict[str, Any]:
    ground.write("srv-b", "logs/watched.log", "")
    return {}
