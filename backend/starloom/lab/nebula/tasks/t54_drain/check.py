"""The answer says that srv-a drains and has no work."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.seen import Seen
from starloom.lab.nebula.task import Checkpoint


def checks(w: Seen) -> Iterator[Checkpoint]:
    rows = [row for table in w.answer.tables for row in table if "srv-a" in row.values()]
    yield "it drains", any(row.get("draining") is True for row in rows), 1
    yield "nothing runs there", any(row.get("running") == 0 for row in rows), 1
