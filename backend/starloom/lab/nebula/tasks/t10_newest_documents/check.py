"""The three newest documents lie on the phone, byte for byte, and no fourth."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.seen import Checkpoint, Seen


def checks(w: Seen) -> Iterator[Checkpoint]:
    newest = w.truth["newest"]
    there = w.below("phone", "Documents/*")
    for path in newest:
        yield f"{path} is there", there.get(path) == w.had("desk", path), 1
    yield "no other one", sorted(there) == sorted(newest), 1
