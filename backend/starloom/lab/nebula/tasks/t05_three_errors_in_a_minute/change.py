"""While the task watches, three ERROR lines come, among others."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from starloom.lab.nebula.base.ground import Ground
from starloom.lab.nebula.changes import Meanwhile

WORDS = ("INFO job done", "ERROR db timeout", "ERROR db timeout", "INFO cache warmed", "ERROR queue is full")
PLACE = "logs/watched.log"


def change(ground: Ground) -> Meanwhile:
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    text = "".join(f"{at} {words}\n" for words in WORDS)
    # Written now, not at the world's noon: a search of the last minute leaves out a file that is older.
    os.utime(ground.write("srv-b", PLACE, text))
    return Meanwhile("three ERROR lines came", {"srv-b": {PLACE: text.encode()}})
