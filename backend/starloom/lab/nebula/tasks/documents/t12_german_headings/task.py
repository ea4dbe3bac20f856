"""Each file has an English heading and the same rows below it; the originals are as they were."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint

HEAD: Final = ["date", "region", "customer", "amount"]


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    old = world.below("srv-b", "sales/*.csv", before=True)
    new = {path.rpartition("/")[2]: data.decode() for path, data in world.below("srv-b", "sales-en/*.csv").items()}
    yield "every file", sorted(new) == sorted(path.rpartition("/")[2] for path in old), 1
    for path, data in old.items():
        lines = new[path.rpartition("/")[2]].splitlines()
        yield f"the heading of {path}", lines[0].replace(";", ",").split(",") == HEAD, 1
        yield f"the rows of {path}", lines[1:] == data.decode().splitlines()[1:], 1
