"""A notice was shown on each device, and not before its time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.devices import NAMES
from starloom.lab.nebula.world.files.ground import Ground

_NOTICE: Final = b'"tool":"notify"'


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    titles = [title.split() for title, value in world.answer.items if isinstance(value, dict) and value.get("shown")]
    titles += [[str(one) for one in row.values()] for table in world.answer.tables for row in table if row.get("shown")]
    yield "on every device", {name for words in titles for name in NAMES if name in words} == set(NAMES), 2
    notices = {
        key.removeprefix("spec/")
        for event in world.events
        for key, raw in event.puts.items()
        if key.startswith("spec/") and raw is not None and _NOTICE in bytes(raw)
    }
    leased_ms = [event.at_ms for event in world.events if event.kind == "task_leased" and event.about in notices]
    yield "at the time and not before", bool(leased_ms) and min(leased_ms) >= world.truth["at_ms"], 2


AHEAD_S: Final = 15


def lay(ground: Ground) -> dict[str, Any]:
    """A note with a time that comes soon."""
    at = datetime.fromtimestamp(int(ground.facts.run_s) + AHEAD_S, UTC)
    ground.write("desk", "Documents/note.txt", f"{at:%Y-%m-%d %H:%M:%S}Z\n")
    return {"at_ms": int(at.timestamp() * 1000)}
