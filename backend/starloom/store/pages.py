"""The check of a SQLite file for corrupt pages, for a bounded time and without writing.

SQLite has no checksums: a changed byte inside a record is found when the record is read, or by the audit chain.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from starloom.store.faults import corrupt, unavailable

CHECK_AT_START_S: Final = 2.0
"""Enough for about half a gigabyte on a usual disk; a larger history is checked whole by `doctor --whole`."""
_FAULTS_TOLD: Final = 3
_STEPS_BETWEEN_LOOKS: Final = 20_000


def check_pages(path: Path, within_s: float | None) -> bool:
    """Check a file's pages; False if the time ran out before the last one. A missing file is sound.

    Raises:
        Corrupt: some pages are corrupt; the text names the first ones.
        Unavailable: the file cannot be read.
    """
    if not path.exists() or not path.stat().st_size:
        return True
    place = f"SQLite {path}"
    until_s = None if within_s is None else time.monotonic() + within_s
    try:
        # Read only: even the close of the last connection does not move the WAL into the file.
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as sql:
            if until_s is not None:
                sql.set_progress_handler(lambda: time.monotonic() > until_s, _STEPS_BETWEEN_LOOKS)
            found = [str(row[0]) for row in sql.execute(f"PRAGMA quick_check({_FAULTS_TOLD})")]
    except sqlite3.Error as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            return False
        raise unavailable(place, error, path.parent) from error
    if found != ["ok"]:
        raise corrupt(place, "; ".join(" ".join(line.split()) for line in found))
    return True
