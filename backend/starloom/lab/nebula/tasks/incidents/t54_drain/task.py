"""The answer says that srv-a drains and has no work, and names the tasks that were moved; they ended elsewhere.

Moved are those that were on srv-a when the drain began: a fault before it may have brought some elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from starloom.client.view import View
from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import Event
from starloom_protocol.tools.hub_tools import DRAIN


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    rows = [row for table in world.answer.tables for row in table if "srv-a" in row.values()]
    yield "it drains", any(row.get("draining") is True for row in rows), 1
    yield "nothing runs there", any(row.get("running") == 0 for row in rows), 1
    work = world.truth["work"]
    yield "work was there", any(stays[0].device == "srv-a" for stays in work.values()), 1
    yield "it ended elsewhere", all(stays[-1].device != "srv-a" for stays in work.values()), 2
    at_ms = _drained_ms(world.events)
    moved = {task for task, stays in work.items() if any(one.device == "srv-a" and one.at(at_ms) for one in stays)}
    yield "the moved are named", {row["task"] for row in world.answer.rows("task", "constellation")} == moved, 2


def _drained_ms(events: Sequence[Event]) -> int:
    """Return when the hub drained the device, whatever the plan calls that task."""
    view = View(events[0].stream)
    view.apply(list(events))
    drains = {name for name, spec in view.specs.items() if spec.tool == DRAIN}
    return next(one.at_ms for one in events if one.kind == EventKind.TASK_SUCCEEDED and one.about in drains)
