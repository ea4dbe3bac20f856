"""The changes of the world while a task runs (P5): a task's own, from its `change.py`, or a neutral one.

A neutral change adds a file where no task reads or writes; the task must leave it as it is.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from starloom.lab.nebula.base.ground import Ground
from starloom.lab.nebula.devices import NAMES
from starloom.lab.nebula.seen import Seen

PLACE: Final = "elsewhere/came-meanwhile.txt"


@dataclass(frozen=True)
class Meanwhile:
    """One change: what it was in words, the files that it wrote by device, and what a check must know of it."""

    said: str
    files: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)
    truth: Mapping[str, Any] = field(default_factory=dict)

    def known_to(self, seen: Seen) -> Seen:
        """Return the same end with this change in the world before and in the truth: the task did not make it."""
        files = {name: {**had, **self.files.get(name, {})} for name, had in seen.before.files.items()}
        return replace(seen, before=replace(seen.before, files=files), truth={**seen.truth, **self.truth})


def neutral(ground: Ground, task: str, seed: int) -> Meanwhile:
    """Write a file on a device drawn by the seed."""
    device = random.Random(f"change/{task}/{seed}").choice(NAMES)  # noqa: S311 - where an examination changes something
    text = "Somebody wrote this while the task ran.\n"
    ground.write(device, PLACE, text)
    return Meanwhile(f"{PLACE} was written on {device}", {device: {PLACE: text.encode()}})
