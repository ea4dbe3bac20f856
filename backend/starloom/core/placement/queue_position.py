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
"""Slots of others that one answer has; a fleet with more is so wide that they change little."""


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
    found: list[Held] = []
    for device, tasks in shard.fleet.holders.items():
        for other, task in tasks:
            if other == name:
                continue
            constellation = shard.constellations[other]
            attempt = constellation.attempt(task, constellation.tasks[task].attempt)
            found.append(Held(device, attempt.leased_ms, attempt.expects_ms))
            if len(found) == HELD_MOST:
                return found
    return found


def position(shard: Shard, name: str, task: str) -> Position | None:
    """Return the position of a task; None if it is in no queue or no device can take it."""
    key = shard.queued.get((name, task))
    demand = shard.demands.get(key) if key is not None else None
    if demand is None:
        return None
    constellation, fleet = shard.constellations[name], shard.fleet
    slots = {device: count for device, count, _sparing, _idle in capable(fleet, demand)}
    if not slots:
        return None
    before = _before(shard, constellation, task, demand, set(slots))
    running = Counter(held[0] for device in slots for held in fleet.holders.get(device, ()))
    return Position(
        tasks=before.total(),
        plans=_named(shard, before, name),
        running=_named(shard, running, name),
        used={device: (fleet.used.get(device, 0), count) for device, count in slots.items()},
    )


def _before(shard: Shard, mine: Constellation, task: str, demand: Demand, devices: set[str]) -> Counter[str]:
    """Count the ready tasks before a task, by constellation."""
    found: Counter[str] = Counter()
    own = next((entry for entry in demand.lines.get(mine.name, ()) if entry[2] == task), None)
    if own is not None:
        found[mine.name] = sum(entry < own for entry in demand.lines[mine.name])
    key, turn = usual_key(mine), owner_key(shard, demand.owner)
    for other in shard.demands.values():
        if other is not demand and devices.isdisjoint(item[0] for item in capable(shard.fleet, other)):
            continue
        theirs = other.owner != demand.owner
        if theirs and owner_key(shard, other.owner) > turn:
            continue
        for name, line in other.lines.items():
            known = shard.constellations.get(name)
            if known is not None and known is not mine and (theirs or usual_key(known) < key):
                found[name] += min(len(line), known.ready)
    return found


def _named(shard: Shard, counted: Counter[str], name: str) -> list[str]:
    return [shard.constellations[other].head.name for other, _ in counted.most_common() if other != name][:NAMED_MOST]
