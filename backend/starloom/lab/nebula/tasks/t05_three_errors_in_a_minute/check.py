"""The snapshot has the metrics of both servers."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.seen import Checkpoint, Seen


def checks(w: Seen) -> Iterator[Checkpoint]:
    text = w.text("desk", "Reports/snapshot.json")
    for server in ("srv-a", "srv-b"):
        load = w.before.states[server]["metrics"]["now"]["load"]
        yield f"the metrics of {server}", str(load) in text, 1
