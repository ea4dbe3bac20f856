"""At the new version no page of srv-b answers."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground


def lay(ground: Ground) -> dict[str, Any]:
    ground.set_state("srv-b", "site", {"bad_versions": [ground.read("desk", "shop/version").strip()]})
    return {}
