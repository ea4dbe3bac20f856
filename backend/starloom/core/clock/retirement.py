"""Retirement of finished constellations: which may leave the shard, and which inputs are about one that left.

The live copy is a cache of the durable log: a final and durable constellation may retire, and is loaded back when an
input needs it. Retirement emits no event, because no fact about a constellation changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from starloom.core.clock.schedules import TURN, constellation_of
from starloom.core.state import inputs as i
from starloom.core.state import queues
from starloom.core.state.inputs import AnyInput
from starloom.core.state.model import Constellation, Shard
from starloom_protocol.stream.feed import ACCESS, FLEET


def may_retire(shard: Shard, constellation: Constellation) -> bool:
    """Tell whether a constellation has nothing open: no work, attempt, question or work in doubt."""
    return (
        constellation.name not in shard.live
        and not constellation.open_attempts
        and not constellation.open_questions
        and not constellation.unknown
    )


def retire(shard: Shard, name: str) -> None:
    """Remove a finished constellation with its entities and indexes from the shard.

    Raises:
        ValueError: it is not one that `may_retire`.
    """
    constellation = shard.constellations[name]
    if not may_retire(shard, constellation):
        raise ValueError(f"{name} is {constellation.head.state} or has something open; it cannot leave the shard")
    del shard.constellations[name]


def prune_demands(shard: Shard) -> None:
    """Remove from the queues the entries that no longer wait, and then the empty queues."""
    for key, demand in list(shard.demands.items()):
        for name, line in list(demand.lines.items()):
            waiting = {entry[2]: entry for entry in line if shard.queued.get((name, entry[2])) == key}
            if waiting and name in shard.constellations:
                demand.lines[name] = sorted(waiting.values())
            else:
                queues.leave(shard, demand, name)
        if not demand.lines:
            del shard.demands[key]


def missing(shard: Shard, items: Iterable[AnyInput]) -> list[str]:
    """Return the constellations that these inputs are about and the shard does not hold, each once, in order.

    Of reports only results count: of a finished constellation only a late result leaves a trace (I4). The streams of
    the fleet and of access, which a device or a person may name as well, never left: loading them would take them back
    to what the history has of them.
    """
    absent: dict[str, None] = {}
    for item in items:
        subject_of = _SUBJECT_OF.get(type(item))
        if subject_of is not None:
            name = subject_of(shard, item)
            if name is not None and name not in shard.constellations and name not in (ACCESS, FLEET):
                absent[name] = None
    return list(absent)


def _constellation(_shard: Shard, item: Any) -> str:
    name: str = item.constellation
    return name


def _origin(_shard: Shard, item: i.ForkRequested) -> str:
    return item.origin


def _reported(_shard: Shard, item: i.ResultReported) -> str:
    return item.frame.at.constellation


def _constellation_of_key(shard: Shard, item: i.RequestReceived) -> str | None:
    """Return the constellation that an earlier request with the same key made; a new request is about none."""
    if item.idempotency is None:
        return None
    entry = shard.access.idempotency.get(f"{item.caller}/{item.idempotency[0]}")
    return entry.made if entry is not None else None


def _next_firing(shard: Shard, item: i.TimerFired) -> str | None:
    """Return the name of the firing that a timer starts: it may have run and left already."""
    schedule = shard.fleet.schedules.get(item.entity) if item.kind == TURN else None
    return constellation_of(schedule.id, schedule.queued[0]) if schedule is not None and schedule.queued else None


_SUBJECT_OF: dict[type, Callable[[Shard, Any], str | None]] = {
    i.ControlRequested: _constellation,
    i.EditProposed: _constellation,
    i.FaultNoted: _constellation,
    i.ForkRequested: _origin,
    i.JobClaimed: _constellation,
    i.PartLeftOut: _constellation,
    i.PlanProposed: _constellation,
    i.LooksProposed: _constellation,
    i.ReviewProposed: _constellation,
    i.ModelUsed: _constellation,
    i.AnswerWorded: _constellation,
    i.QuestionAnswered: _constellation,
    i.RequestReceived: _constellation_of_key,
    i.ResultReported: _reported,
    i.TimerFired: _next_firing,
    i.UndoRequested: _constellation,
}
