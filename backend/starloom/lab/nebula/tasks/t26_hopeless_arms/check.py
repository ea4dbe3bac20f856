"""best.json has the best rate."""

from __future__ import annotations

import json
from collections.abc import Iterator

from starloom.lab.nebula.base.others import BEST_LR
from starloom.lab.nebula.seen import Seen
from starloom.lab.nebula.task import Checkpoint


def checks(w: Seen) -> Iterator[Checkpoint]:
    yield "the best rate", json.loads(w.text("gpu", "best.json"))["lr"] == BEST_LR, 1
