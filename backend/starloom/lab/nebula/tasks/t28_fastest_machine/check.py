"""The result is on gpu alone, from a full training, and the answer names it first."""

from __future__ import annotations

import json
from collections.abc import Iterator

from starloom.lab.nebula.base.others import BEST_LR, STEPS
from starloom.lab.nebula.seen import Checkpoint, Seen


def checks(w: Seen) -> Iterator[Checkpoint]:
    result = json.loads(w.text("gpu", "result.json"))
    yield "a full training", result["steps"] == STEPS and result["lr"] == BEST_LR, 2
    yield "the answer names it", w.answer.says("gpu"), 1
