"""The snapshot has the metrics of both servers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint, Meanwhile
from starloom.lab.nebula.world.files.ground import Ground


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    text = world.text("desk", "Reports/snapshot.json")
    for server in ("srv-a", "srv-b"):
        load = world.before.states[server]["metrics"]["now"]["load"]
        yield f"the metrics of {server}", str(load) in text, 1


WORDS = ("INFO job done", "ERROR db timeout", "ERROR db timeout", "INFO cache warmed", "ERROR queue is full")
PLACE = "logs/watched.log"


def change(ground: Ground) -> Meanwhile:
    """While the task watches, three ERROR lines come, among others."""
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    text = "".join(f"{at} {words}\n" for words in WORDS)
    # Written now, not at the world's noon: a search of the last minute leaves out a file that is older.
    os.utime(ground.write("srv-b", PLACE, text))
    return Meanwhile("three ERROR lines came", {"srv-b": {PLACE: text.encode()}})


def lay(ground: Ground) -> dict[str, Any]:
    """A quiet log; its errors come by a change of the world while the task runs."""
    ground.write("srv-b", "logs/watched.log", "")
    return {}
