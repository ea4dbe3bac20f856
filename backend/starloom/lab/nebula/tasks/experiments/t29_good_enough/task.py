"""best.json has a loss below the bound, from the first step that reaches it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint

BOUND: Final = 0.05


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    best = json.loads(world.text("gpu", "best.json"))
    yield "good enough", 0 < best["loss"] < BOUND, 2
    loss, step = 1.0, -1
    while loss >= BOUND:
        loss, step = 0.02 + (loss - 0.02) * 0.75, step + 1
    yield "the first step that is", best["step"] == step, 1
