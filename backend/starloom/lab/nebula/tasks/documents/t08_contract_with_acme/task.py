"""The answer has the three right paths, no other one, and the date."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.desk import ACME, ACME_UNTIL


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    names = [path.rpartition("/")[2] for path in ACME]
    yield "the three texts", world.answer.says(*names), 2
    others = [
        path.rpartition("/")[2] for path in world.before.files["desk"] if path not in ACME and "Documents/" in path
    ]
    yield "no other one", world.answer.says(names[0]) and not any(world.answer.says(name) for name in others), 1
    yield "the date", world.answer.says(ACME_UNTIL), 2
