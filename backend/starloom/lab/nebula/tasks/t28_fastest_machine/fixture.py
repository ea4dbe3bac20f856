"""The training of desk and srv-a is slower than that of gpu."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground
from starloom.lab.nebula.base.others import TRAIN


def lay(ground: Ground) -> dict[str, Any]:
    for device, pause_s in (("desk", 0.8), ("srv-a", 0.6), ("gpu", 0.1)):
        ground.write(device, "train.py", TRAIN.replace("time.sleep(0.2)", f"time.sleep({pause_s})"))
    return {}
