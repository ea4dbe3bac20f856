"""The key that both sites want."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground
from starloom.lab.nebula.devices import SERVERS


def lay(ground: Ground) -> dict[str, Any]:
    key = f"{ground.draw('key').getrandbits(128):032x}"
    for server in SERVERS:
        ground.write(server, "etc/key.txt", key + "\n")
    return {}
