"""Pictures that are too large for a mail."""

from __future__ import annotations

import shutil
from typing import Any

from starloom.lab.nebula.base.ground import Ground
from starloom.lab.nebula.base.pictures import png

WIDTH, HEIGHT = 1000, 40
COUNT = 30


def lay(ground: Ground) -> dict[str, Any]:
    shutil.rmtree(ground.files("phone") / "DCIM")
    for number in range(1, COUNT + 1):
        data = png(ground.draw(f"large {number}"), WIDTH, HEIGHT)
        ground.write("phone", f"DCIM/IMG_{number:04d}.png", data)
    return {}
