"""srv-b does not come back after an update."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground
from starloom.lab.nebula.base.servers import lay_packages


def lay(ground: Ground) -> dict[str, Any]:
    lay_packages(ground, "srv-b", breaks=True)
    return {}
