"""The answer has three equal hashes and says yes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    hashes = re.findall(r"\b[0-9a-f]{64}\b", world.answer.text)
    yield "three hashes", len(hashes) == 3, 1
    yield "equal to each other", len(set(hashes)) == 1, 2
    yield "it says yes", world.answer.says("same") and (world.answer.says("true") or world.answer.says("yes")), 1
