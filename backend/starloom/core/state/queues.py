"""The queues of ready tasks, one per demand, and the turns in which they are given free slots. Places no task.

`apply` maintains them and placement reads them. A queue has one heap for each constellation, by rank, then age: ranks
of different plans are not comparable. An entry that is no longer in `shard.queued` is dropped when placement meets it.

Owners share slots: the one that holds the fewest comes first. Of one owner's constellations a higher priority comes
first, then small ones in order of age, then the others by the slots that they hold, weighted by their remaining work.
After `IN_A_ROW_MOST` grants in that order, one goes to the constellation that holds no slot and was served longest ago.
One of n waiting constellations therefore gets a slot within n * (IN_A_ROW_MOST + 1) grants of its owner, whatever the
others are.

A demand for which several constellations wait keeps two heaps over them, so that a turn costs their logarithm. A key
that rises is corrected when it comes to the top; one that falls is pushed again at once (`moved`).
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final

from starloom.core.state.model import Constellation, Demand, QueueEntry, Shard, UsualKey
from starloom.core.state.task_needs import needs_in
from starloom_protocol.records.entities import Selector, TaskRecord, TaskSpec, encode_entity
from starloom_protocol.vocabulary import Priority, TaskState

ANY = Selector()
_READY = TaskState.READY
SMALL_MOST: Final = 8
"""A constellation with at most this many unfinished tasks goes before larger ones, which it hardly delays."""
IN_A_ROW_MOST: Final = 3
STALE_MOST: Final = 64
"""The entries that a heap may have beyond two a constellation before it is rebuilt."""

_RANKS: Final = {Priority.HIGH: 0, Priority.NORMAL: 1, Priority.LOW: 2}


def demand_key(spec: TaskSpec, recipe: str | None = None) -> tuple[str, bytes]:
    """Return the key of a task's demand, so that tasks that want the same wait in one queue.

    `recipe` is that of its constellation; it matters only for tasks that are given secrets.
    """
    where = encode_entity(spec.device) if spec.device is not None else b""
    if spec.secrets:
        where += "\0".join(("", *spec.secrets, recipe or "")).encode()
    return spec.tool or "", where


def queueable(record: TaskRecord) -> bool:
    """Tell whether a task's own record allows it to be placed now."""
    return record.state is _READY and record.reason is None


def enqueue(shard: Shard, constellation: Constellation, spec: TaskSpec) -> None:
    """Append a task to the queue of its demand."""
    if spec.tool is None:
        return
    head, name, task = constellation.head, constellation.name, spec.id
    tool, where = demand_key(spec, head.recipe)
    needs = needs_in(shard.access, constellation, spec) if spec.secrets or constellation.approved else None
    if needs is not None and needs.approved is not None:
        where += constellation.approved_keys[needs.approved]
    key = tool, where + head.author.encode()
    demand = shard.demands.get(key)
    if demand is None:
        demand = shard.demands[key] = Demand(key, tool, spec.device or ANY, needs, head.author)
        shard.shares.setdefault(head.author, 0)
    shard.queued[(name, task)] = demand.key
    shard.order += 1
    line = join(shard, constellation, demand)
    heappush(line, (-constellation.rank.get(task, 0), shard.order, task))


def dequeue(shard: Shard, constellation: Constellation, task: str, spec: TaskSpec | None) -> None:
    """Remove a task from its queue, if it is in one."""
    shard.queued.pop((constellation.name, task), None)
    if spec is not None and spec.group:
        constellation.parked.get(spec.group, {}).pop(task, None)


def owner_key(shard: Shard, owner: str) -> tuple[int, int]:
    """Return the key that orders owners: fewest slots held, then served longest ago."""
    return shard.shares.get(owner, 0), shard.turns.get(owner, 0)


def usual_key(constellation: Constellation) -> UsualKey:
    """Return the key that orders the constellations of one owner, the smallest first; it ends with the name."""
    head, unfinished = constellation.head, len(constellation.tasks) - constellation.progress.ended
    if unfinished <= SMALL_MOST:
        return _RANKS[head.policy.priority], 0, 0, head.created_ms, constellation.name
    share = (constellation.held + 1) * unfinished.bit_length()
    return _RANKS[head.policy.priority], 1, share, constellation.served, constellation.name


def join(shard: Shard, constellation: Constellation, demand: Demand) -> list[QueueEntry]:
    """Return the heap of a constellation in a demand; make a new one if it has none."""
    name = constellation.name
    line = demand.lines.setdefault(name, [])
    if demand.key not in constellation.demands:
        constellation.demands[demand.key] = demand
        if not constellation.served:
            constellation.served = shard.order
        if len(demand.lines) == 2:
            _build(shard, demand)
        elif len(demand.lines) > 2:
            _push(demand, usual_key(constellation))
            if name not in demand.aged:
                demand.aged.add(name)
                heappush(demand.longest, (constellation.served, name))
    return line


def leave(shard: Shard, demand: Demand, name: str) -> None:
    """Drop the heap of a constellation that no longer waits for a demand."""
    del demand.lines[name]
    demand.pushed.pop(name, None)
    constellation = shard.constellations.get(name)
    if constellation is not None:
        constellation.demands.pop(demand.key, None)
    if len(demand.lines) == 1:
        demand.usual.clear()
        demand.longest.clear()
        demand.pushed.clear()
        demand.aged.clear()


def moved(constellation: Constellation) -> None:
    """Note that a constellation may come earlier now: it freed a slot, tasks ended, or its priority changed."""
    for demand in constellation.demands.values():
        if len(demand.lines) > 1:
            _push(demand, usual_key(constellation))


def _push(demand: Demand, key: UsualKey) -> None:
    if demand.pushed.get(key[4]) != key:
        demand.pushed[key[4]] = key
        heappush(demand.usual, key)


def _build(shard: Shard, demand: Demand) -> None:
    waiting = [constellation for name in demand.lines if (constellation := shard.constellations.get(name)) is not None]
    demand.usual = [usual_key(one) for one in waiting]
    demand.pushed = {key[4]: key for key in demand.usual}
    demand.aged = {one.name for one in waiting}
    demand.longest = [(one.served, one.name) for one in waiting]
    heapify(demand.usual)
    heapify(demand.longest)


def alone(shard: Shard, demand: Demand) -> Constellation | None:
    """Return the only constellation that waits for a demand; None if there are several."""
    if len(demand.lines) != 1:
        return None
    return shard.constellations.get(next(iter(demand.lines)))


def served(shard: Shard, constellation: Constellation) -> None:
    """Note that a constellation got a slot for which no other one of its owner waited."""
    shard.order += 1
    shard.turns[constellation.head.author] = constellation.served = shard.order


class Turns:
    """The constellations of one owner that wait for `demands`, tried in turn until one can be placed.

    `close` puts back those that were tried without success.
    """

    def __init__(self, shard: Shard, owner: str, demands: list[Demand]) -> None:
        self._shard = shard
        self._owner = owner
        self._demands = demands
        self._tried: dict[str, None] = {}
        self._aside: list[tuple[list[UsualKey], UsualKey]] = []
        self._without_aside: list[tuple[list[tuple[int, str]], tuple[int, str]]] = []
        self._late = shard.in_a_row.get(owner, 0) >= IN_A_ROW_MOST

    def next(self) -> tuple[Constellation, list[Demand]] | None:
        """Return the next constellation, with the demands for which it waits; None once each was tried."""
        first = self._longest() if self._late else None
        if first is None:
            self._late = False
            first = self._usual()
        if first is None:
            return None
        self._tried[first] = None
        return self._shard.constellations[first], [demand for demand in self._demands if first in demand.lines]

    def served(self, constellation: Constellation) -> None:
        """Note that a constellation got a slot."""
        shard, name = self._shard, constellation.name
        if any(len(demand.lines) > (name in demand.lines) for demand in self._demands):
            row = shard.in_a_row.get(self._owner, 0)
            shard.in_a_row[self._owner] = 0 if row >= IN_A_ROW_MOST else row + 1
        served(shard, constellation)

    def close(self) -> None:
        """Put back those that were tried without success, so that they are tried again for the next slot."""
        for heap, key in self._aside:
            heappush(heap, key)
        for longest, entry in self._without_aside:
            heappush(longest, entry)

    def _usual(self) -> str | None:
        best: UsualKey | None = None
        for demand in self._demands:
            key = self._usual_of(demand)
            if key is not None and (best is None or key < best):
                best = key
        return best[4] if best is not None else None

    def _usual_of(self, demand: Demand) -> UsualKey | None:
        heap = self._contended(demand)
        if heap is None:
            alone = self._alone(demand)
            return usual_key(alone) if alone is not None else None
        while demand.usual:
            key = demand.usual[0]
            constellation = self._waiting(demand, key[4])
            if constellation is None:
                heappop(demand.usual)
                continue
            now = usual_key(constellation)
            if now != key:
                heappop(demand.usual)
                _push(demand, now)
            elif key[4] in self._tried:
                self._aside.append((demand.usual, heappop(demand.usual)))
            else:
                return key
        return None

    def _longest(self) -> str | None:
        best: tuple[int, str] | None = None
        for demand in self._demands:
            entry = self._longest_of(demand)
            if entry is not None and (best is None or entry < best):
                best = entry
        return best[1] if best is not None else None

    def _longest_of(self, demand: Demand) -> tuple[int, str] | None:
        heap = self._contended(demand)
        if heap is None:
            alone = self._alone(demand)
            return (alone.served, alone.name) if alone is not None and not alone.held else None
        while heap:
            entry = heap[0]
            constellation = self._waiting(demand, entry[1])
            if constellation is None:
                heappop(heap)
                demand.aged.discard(entry[1])
            elif constellation.served != entry[0]:
                heappop(heap)
                heappush(heap, (constellation.served, constellation.name))
            elif constellation.held or constellation.name in self._tried:
                self._without_aside.append((heap, heappop(heap)))
            else:
                return entry
        return None

    def _contended(self, demand: Demand) -> list[tuple[int, str]] | None:
        """Return the heap by age of a demand for which several wait, rebuilt if most of its entries are stale."""
        if len(demand.lines) < 2:
            return None
        if len(demand.usual) > 2 * len(demand.lines) + STALE_MOST and not self._tried:
            _build(self._shard, demand)
        return demand.longest

    def _alone(self, demand: Demand) -> Constellation | None:
        name = next(iter(demand.lines), None)
        return self._waiting(demand, name) if name is not None and name not in self._tried else None

    def _waiting(self, demand: Demand, name: str) -> Constellation | None:
        """Return a constellation if it waits for a demand; one that left the shard does not."""
        if name not in demand.lines:
            return None
        constellation = self._shard.constellations.get(name)
        if constellation is None:
            leave(self._shard, demand, name)
        return constellation
