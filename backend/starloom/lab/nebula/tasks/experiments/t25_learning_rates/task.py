"""best.json has the best of the four rates and its loss."""

from __future__ import annotations

import json
from collections.abc import Iterator

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.others import BEST_LR


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    best = json.loads(world.text("gpu", "best.json"))
    yield "the best rate", best["lr"] == BEST_LR, 2
    yield "its loss", 0 < best["loss"] < 0.05, 1
    yield "the answer names it", world.answer.says(str(BEST_LR)), 1
