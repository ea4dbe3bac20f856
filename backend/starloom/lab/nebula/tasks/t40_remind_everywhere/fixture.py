"""A note with a time that comes soon."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from starloom.lab.nebula.base.ground import Ground

AHEAD_S: Final = 15


def lay(ground: Ground) -> dict[str, Any]:
    at = datetime.fromtimestamp(int(ground.facts.run_s) + AHEAD_S, UTC)
    ground.write("desk", "Documents/note.txt", f"{at:%Y-%m-%d %H:%M:%S}Z\n")
    return {"at_ms": int(at.timestamp() * 1000)}
