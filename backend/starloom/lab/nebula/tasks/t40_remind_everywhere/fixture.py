"""A note with a time that comes soon."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from starloom.lab.nebula.base.ground import Ground

AHEAD_S: Final = 15


def lay(ground: Ground) -> dict[str, Any]:
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=AHEAD_S)
    ground.write("desk", "Documents/note.txt", f"{at:%Y-%m-%d %H:%M:%S}Z\n")
    return {"at_ms": int(at.timestamp() * 1000)}
