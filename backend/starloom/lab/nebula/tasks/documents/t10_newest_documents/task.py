"""The three newest documents lie on the phone, byte for byte, and no fourth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.ground import Ground


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    newest = world.truth["newest"]
    files = world.below("phone", "Documents/*")
    for path in newest:
        yield f"{path} is there", files.get(path) == world.had("desk", path), 1
    yield "no other one", sorted(files) == sorted(newest), 1


def lay(ground: Ground) -> dict[str, Any]:
    """The truth: which three documents are the newest."""
    folder = ground.files("desk") / "Documents"
    newest = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)[-3:]
    return {"newest": sorted(f"Documents/{path.name}" for path in newest)}
