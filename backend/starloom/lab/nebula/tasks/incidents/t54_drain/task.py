"""The answer says that srv-a drains and has no work, and names the tasks that were moved; they ended elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint


def checks(w: CheckedWorld) -> Iterator[Checkpoint]:
    rows = [row for table in w.answer.tables for row in table if "srv-a" in row.values()]
    yield "it drains", any(row.get("draining") is True for row in rows), 1
    yield "nothing runs there", any(row.get("running") == 0 for row in rows), 1
    was_there = {task for task, devices in w.truth["work"].items() if devices[0] == "srv-a"}
    yield "work was there", bool(was_there), 1
    yield "it ended elsewhere", all(devices[-1] != "srv-a" for devices in w.truth["work"].values()), 2
    yield "the moved are named", {row["task"] for row in w.answer.rows("task", "constellation")} == was_there, 2
