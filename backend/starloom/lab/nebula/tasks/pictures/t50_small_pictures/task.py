"""There is a small picture for each, none larger than 800 pixels."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator
from typing import Any, Final

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.ground import Ground, png

LONGEST_PX: Final = 800


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    pictures = world.below("phone", "DCIM/*", before=True)
    small = world.below("desk", "Mail/*")
    names = {path.rpartition("/")[2].partition(".")[0] for path in small}
    yield "one for each", len(small) == len(pictures), 1
    yield "by its name", names == {path.rpartition("/")[2].partition(".")[0] for path in pictures}, 1
    sizes = [struct.unpack(">II", data[16:24]) for data in small.values()]
    yield "small enough", bool(sizes) and all(0 < max(size) <= LONGEST_PX for size in sizes), 2
    yield "whole", all(data.endswith(END) for data in small.values()), 1


END: Final = b"IEND" + bytes.fromhex("ae426082")


WIDTH, HEIGHT = 1000, 40
COUNT = 30


def lay(ground: Ground) -> dict[str, Any]:
    """Pictures that are too large for a mail."""
    shutil.rmtree(ground.files("phone") / "DCIM")
    for number in range(1, COUNT + 1):
        data = png(ground.draw(f"large {number}"), WIDTH, HEIGHT)
        ground.write("phone", f"DCIM/IMG_{number:04d}.png", data)
    return {}
