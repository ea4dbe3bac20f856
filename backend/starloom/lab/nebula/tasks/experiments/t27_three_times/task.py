"""The answer has three equal hashes and says yes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint


def checks(w: CheckedWorld) -> Iterator[Checkpoint]:
    hashes = re.findall(r"\b[0-9a-f]{64}\b", w.answer.text)
    yield "three hashes", len(hashes) == 3, 1
    yield "equal to each other", len(set(hashes)) == 1, 2
    yield "it says yes", w.answer.says("same") and (w.answer.says("true") or w.answer.says("yes")), 1
