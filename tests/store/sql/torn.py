"""Damage to a SQLite file as a bad disk does it: pages that hold what nobody wrote."""

from __future__ import annotations

import random
from pathlib import Path

PAGE_BYTES = 4096
_KEPT_PAGES = 2
"""The first pages say that it is a database and what lies in it: without them nothing can be opened at all."""


def tear(file: Path) -> None:
    """Write random bytes over the heads of half of a file's pages; its log must have been moved into it before."""
    chance = random.Random(1)
    count = file.stat().st_size // PAGE_BYTES
    assert count > 2 * _KEPT_PAGES, f"{file} has {count} pages"
    with file.open("r+b") as raw:
        for page in chance.sample(range(_KEPT_PAGES, count), (count - _KEPT_PAGES) // 2):
            raw.seek(page * PAGE_BYTES)
            raw.write(chance.randbytes(64))
