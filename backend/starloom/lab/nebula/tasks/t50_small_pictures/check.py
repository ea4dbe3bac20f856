"""There is a small picture for each, none larger than 800 pixels."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from starloom.lab.nebula.seen import Checkpoint, Seen

LONGEST_PX: Final = 800


def checks(w: Seen) -> Iterator[Checkpoint]:
    pictures = w.below("phone", "DCIM/*", before=True)
    small = w.below("desk", "Mail/*")
    names = {path.rpartition("/")[2].partition(".")[0] for path in small}
    yield "one for each", len(small) == len(pictures), 1
    yield "by its name", names == {path.rpartition("/")[2].partition(".")[0] for path in pictures}, 1
    sizes = [struct.unpack(">II", data[16:24]) for data in small.values()]
    yield "small enough", bool(sizes) and all(0 < max(size) <= LONGEST_PX for size in sizes), 2
    yield "whole", all(data.endswith(END) for data in small.values()), 1


END: Final = b"IEND" + bytes.fromhex("ae426082")
