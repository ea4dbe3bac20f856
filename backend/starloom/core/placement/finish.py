"""The expected finish of a task: on a free device its time there, on a busy one the wait for its next slot as well.

In one `PlacementPass` over the queues, a task that waits for a better device claims its next slot, so that the tasks
after it do not count on the same one. At most `WAITING_MOST` tasks wait in a pass; all others take any free device.
A busy device that is late is expected to need as long again as it is late, so every wait for it has an end.
Waits end in the sweep over leases, which asks here for those that are over.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heapreplace
from math import isqrt
from typing import Final

import msgspec

from starloom.core.placement.pace import PaceIndex, index_of
from starloom.core.state.model import Demand, Fleet, Shard
from starloom.core.state.orders import ArmTimer
from starloom_protocol.stream.feed import FLEET

WAITING_MOST: Final = 16
WAIT_MOST_MS: Final = 600_000
"""A task waits for no device that is busy for longer."""
NOISE_MS: Final = 50
"""Two expected finishes that differ by less are the same."""
DOUBT: Final = 250
"""The part of 1,000 by which the time of one call may be wrong; that of a mean falls with the root of its calls."""
DOUBT_LEAST: Final = 80
"""The part of 1,000 to which it falls at most."""
TIMER: Final = "pace_wait"


@dataclass(slots=True)
class Waits:
    """The tasks of one demand that wait for better devices; nothing changes before `until_ms` unless the fleet does."""

    demand: Demand
    until_ms: int


class PlacementPass(msgspec.Struct, gc=False):
    """One pass: its time, the tasks that are `waiting` for a better device, and when slots of busy devices are free.

    `waits` has these tasks by their demands, `ends` the moments at which the slots of a device become free; `held` of
    them wait for a device of the person whose values they take. `last` is the only device that was free for any demand
    when the newest task was placed, at the fleet's `revision`; empty where there were others.

    A `silent` one examines the queues as after an input that decided nothing: no task is placed by expected finish.
    """

    now_ms: int
    silent: bool = False
    held: int = 0
    last: str = ""
    revision: int = 0
    waiting: dict[tuple[str, str], None] = {}
    waits: dict[tuple[str, bytes], Waits] = {}
    ends: dict[str, list[int]] = {}

    def is_over(self, fleet: Fleet) -> bool:
        """Tell whether the last free device has no slot left, and no other one has come in between."""
        last = self.last
        return fleet.revision == self.revision and fleet.used.get(last, 0) >= fleet.offers[last].slots

    def free_ms(self, fleet: Fleet, device: str, spare_ms: int) -> int:
        """Return the wait for a busy device's next slot; -1 if one of its tasks is of unknown length.

        `spare_ms` is the least that a slot beyond its time is expected to need.
        """
        ends = self.ends.get(device)
        if ends is None:
            ends = self.ends[device] = list(fleet.holders.get(device, {}).values())
            heapify(ends)
        if not ends or not ends[0] or fleet.hedges.get(device):
            return -1
        over_ms = self.now_ms - ends[0]
        return -over_ms if over_ms < 0 else max(over_ms, spare_ms)

    def wait(self, at: tuple[str, str], demand: Demand, device: str, wait_ms: int, takes_ms: int) -> None:
        """Let a task wait for a device's next slot, and claim that slot."""
        ends = self.ends[device]
        due_ms = ends[0]
        heapreplace(ends, self.now_ms + wait_ms + takes_ms)
        self._rest(at, demand, due_ms)

    def hold(self, at: tuple[str, str], demand: Demand, until_ms: int) -> None:
        """Let a task wait for a device of the person whose values it takes, until then at most."""
        self.held += 1
        self._rest(at, demand, until_ms)

    def _rest(self, at: tuple[str, str], demand: Demand, due_ms: int) -> None:
        self.waiting[at] = None
        waits = self.waits.get(demand.key)
        if waits is None:
            self.waits[demand.key] = Waits(demand, due_ms)
        else:
            waits.until_ms = min(waits.until_ms, due_ms)

    def close(self, shard: Shard) -> None:
        """Let the demands rest whose tasks all wait; one that rests already keeps its moment while nothing changes."""
        for waits in self.waits.values():
            now = situation(shard, waits.demand)
            if waits.demand.rested != now:
                waits.demand.rested = now
                waits.demand.rests_until_ms = waits.until_ms


def situation(shard: Shard, demand: Demand) -> tuple[int, ...]:
    """Return what must change before a demand that rests is examined again."""
    fleet = shard.fleet
    return fleet.freed, fleet.revision, fleet.pace_number, shard.order, demand.fleet_seen, demand.secrets_seen


def rests(shard: Shard, demand: Demand, now_ms: int) -> bool:
    """Tell whether all tasks of a demand wait for better devices and none can be free yet."""
    return now_ms < demand.rests_until_ms and demand.rested == situation(shard, demand)


class Paced:
    """The expected times of a demand's feasible devices for one size class, by their places; brought up to date.

    `guessed` has the times of devices without enough calls of their own, filled by the placements that ask for them.
    `alike` is the number of known devices where none is slower than another by more than chance, else 0.
    """

    __slots__ = ("alike", "doubt", "guessed", "known", "order", "seen", "tool")

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.seen = -1
        self.alike = 0
        self.known: dict[int, int] = {}
        self.guessed: dict[int, int] = {}
        self.doubt: dict[int, int] = {}
        self.order: list[tuple[int, int]] = []

    def update(self, index: PaceIndex, size: int, places: dict[str, int]) -> None:
        """Take the devices whose paces changed since."""
        if self.seen == index.number:
            return
        self.guessed.clear()
        sure, logs = index.sure.get((self.tool, size), {}), index.logs.get((self.tool, size), {})
        changed = index.changed.get(self.tool, {})
        for device in reversed(changed):
            if changed[device] <= self.seen:
                break
            place = places.get(device)
            if place is None:
                continue
            known_ms = self.known.pop(place, None)
            if known_ms is not None:
                self.order.remove((known_ms, place))
                del self.doubt[place]
            if device in sure:
                takes_ms = index.expected(self.tool, size, device) if device in logs else 0
                self.known[place] = takes_ms
                self.doubt[place] = doubt_of(sure[device])
                insort(self.order, (takes_ms, place))
        order, self.seen = self.order, index.number
        self.alike = len(order) if order and order[-1][0] - order[0][0] <= NOISE_MS else 0


def paced_of(fleet: Fleet, demand: Demand, size: int) -> Paced | None:
    """Return the expected times for a demand; None while nothing is known of its tool."""
    paced: Paced | None = demand.paced.get(size)
    if paced is not None and paced.seen == fleet.pace_number:
        return paced
    index = index_of(fleet)
    if demand.tool not in index.sizes or not index.sizes[demand.tool]:
        return None
    if paced is None:
        paced = demand.paced[size] = Paced(demand.tool)
    if paced.seen != index.number:
        paced.update(index, size, demand.places)
    return paced


def doubt_of(count: int) -> int:
    """Return the part of 1,000 by which the mean of so many calls may be wrong."""
    return max(DOUBT_LEAST, DOUBT // isqrt(max(1, count)))


def same(first_ms: int, second_ms: int, doubt: int) -> bool:
    """Tell whether two expected finishes differ by no more than chance; `doubt` is that of the less known one."""
    low, high = min(first_ms, second_ms), max(first_ms, second_ms)
    return high - low <= NOISE_MS + high * doubt // 1000


def due_waits(shard: Shard, now_ms: int) -> Iterator[ArmTimer]:
    """Yield one timer if a device for which tasks wait should have been free by now."""
    if any(demand.lines and demand.rested and demand.rests_until_ms <= now_ms for demand in shard.demands.values()):
        yield ArmTimer(constellation=FLEET, due_ms=now_ms, entity="", kind=TIMER)
