"""A note with a time soon after noon."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground


def lay(ground: Ground) -> dict[str, Any]:
    ground.write("desk", "Documents/note.txt", f"{ground.facts.day.isoformat()} 12:01\n")
    return {}
