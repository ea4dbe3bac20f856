"""Every picture is on srv-b with its hash, and the sheet names each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    pictures = world.below("phone", "DCIM/*", before=True)
    stored = sorted(hashlib.sha256(data).hexdigest() for data in world.below("srv-b", "Backup/*").values())
    yield "every picture", stored == sorted(hashlib.sha256(data).hexdigest() for data in pictures.values()), 3
    sheet = world.text("desk", "Reports/sheet.html")
    yield "each on the sheet", all(path.rpartition("/")[2] in sheet for path in pictures), 1
    yield "with a preview of each", sheet.count("<img") == len(pictures), 1
    yield "to its end", "</html>" in sheet, 1
