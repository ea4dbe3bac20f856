"""The position of a ready task among those that want the same devices, and the slots that others hold.

Reads the shard and changes nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from starloom.core.placement.feasible import capable
from starloom.core.state.model import Constellation, Demand, Shard
from starloom.core.state.queues import owner_key, usual_key

NAMED_MOST = 2
HELD_MOST = 2_000
"""The most slots of others in one answer. A fleet with more is so wide that single slots change little."""


@dataclass(frozen=True, slots=True)
class Position:
    """A position: `tasks` is the number before it, `plans` names the other constellations with most of them.

    `running` names those that hold the slots for which it waits; `used` has the taken and all slots, by device.
    """

    tasks: int
    plans: list[str]
    running: list[str]
    used: dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Held:
    """A slot that another constellation holds: its device, since when, and for how long (0: that is not known)."""

    device: str
    leased_ms: int
    expects_ms: int


def held_by_others(shard: Shard, name: str) -> list[Held]:
    """Return the slots that constellations other than this one hold now."""
    held: list[Held] = []
    for device, tasks in shard.fleet.holders.items():
        for other, task in tasks:
            if other == name:
                continue
            constellation = shard.constellations[other]
            attempt = constellation.attempt(task, constellation.tasks[task].attempt)
            held.append(Held(device, attempt.leased_ms, attempt.expects_ms))
            if len(held) == HELD_MOST:
                return held
    return held


def position(shard: Shard, name: str, task: str) -> Position | None:
    """Return the position of a task; None if it is in no queue or no device can take it."""
    key = shard.queued.get((name, task))
    demand = shard.demands.get(key) if key is not None else None
    if demand is None:
        return None
    constellation, fleet = shard.constellations[name], shard.fleet
    slots = {item.device: item.slots for item in capable(fleet, demand)}
    if not slots:
        return None
    before = _before(shard, constellation, task, demand, set(slots))
    running = Counter(holder for device in slots for holder, _task in fleet.holders.get(device, ()))
    return Position(
        tasks=before.total(),
        plans=_plan_names(shard, before, name),
        running=_plan_names(shard, running, name),
        used={device: (fleet.used.get(device, 0), count) for device, count in slots.items()},
    )


def _before(shard: Shard, mine: Constellation, task: str, demand: Demand, devices: set[str]) -> Counter[str]:
    """Count the ready tasks before a task, by constellation."""
    before: Counter[str] = Counter()
    line = demand.lines.get(mine.name, [])
    own_entry = next((entry for entry in line if entry[2] == task), None)
    if own_entry is not None:
        before[mine.name] = sum(entry < own_entry for entry in line)
    key, turn = usual_key(mine), owner_key(shard, demand.owner)
    for other in shard.demands.values():
        if other is not demand and devices.isdisjoint(item.device for item in capable(shard.fleet, other)):
            continue
        theirs = other.owner != demand.owner
        if theirs and owner_key(shard, other.owner) > turn:
            continue
        for name, line in other.lines.items():
            constellation = shard.constellations.get(name)
            if constellation is None or constellation is mine:
                continue
            if theirs or usual_key(constellation) < key:
                before[name] += min(len(line), constellation.ready)
    return before


def _plan_names(shard: Shard, counted: Counter[str], name: str) -> list[str]:
    return [shard.constellations[other].head.name for other, _ in counted.most_common() if other != name][:NAMED_MOST]
