"""The result is on gpu alone, from a full training, and the answer names it first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.ground import Ground
from starloom.lab.nebula.world.files.others import BEST_LR, STEPS, TRAIN


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    result = json.loads(world.text("gpu", "result.json"))
    yield "a full training", result["steps"] == STEPS and result["lr"] == BEST_LR, 2
    yield "the answer names it", world.answer.says("gpu"), 1


def lay(ground: Ground) -> dict[str, Any]:
    """The training of desk and srv-a is slower than that of gpu."""
    for device, pause_s in (("desk", 0.8), ("srv-a", 0.6), ("gpu", 0.1)):
        ground.write(device, "train.py", TRAIN.replace("time.sleep(0.2)", f"time.sleep({pause_s})"))
    return {}
