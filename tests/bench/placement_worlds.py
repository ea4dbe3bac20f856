"""Worlds for the benchmark of placement: random plans on unlike devices, and the schedulers beside Starloom.

Pure and seeded. Starloom sees tools, devices and sizes of results only; HEFT sees every true duration beforehand.
"""

from __future__ import annotations

import random
from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import pairwise

DEVICES, TOOLS = 5, 8
MIB = 1_048_576
SPREAD = 0.5
"""The standard deviation of the logarithm of a call's work around that of its tool."""
MS_FOR_MIB = 200


@dataclass(frozen=True)
class World:
    """Devices and tools: milliseconds of mean work by (tool, device), without the pairs that do not exist."""

    usual_ms: dict[tuple[int, int], float]

    def devices(self, tool: int) -> list[int]:
        """Return the devices that offer a tool."""
        return [device for device in range(DEVICES) if (tool, device) in self.usual_ms]


@dataclass(frozen=True)
class Graph:
    """One plan: the tool, the relative work and the bytes of each task, and the tasks before it."""

    tools: list[int]
    work: list[float]
    size: list[int]
    before: list[list[int]]

    def after(self) -> list[list[int]]:
        """Return the tasks after each task."""
        found: list[list[int]] = [[] for _ in self.tools]
        for task, sources in enumerate(self.before):
            for source in sources:
                found[source].append(task)
        return found


def world(kind: str, seed: int) -> World:
    """Return devices that are `equal`, differ in `speeds`, or in each tool (`unrelated`)."""
    chance = random.Random(f"world {kind} {seed}")
    speeds = [0.25, 0.5, 1.0, 2.0, 4.0]
    chance.shuffle(speeds)
    found = {}
    for tool in range(TOOLS):
        usual_ms = chance.lognormvariate(0, 0.7) * 4_000
        for device in sorted(chance.sample(range(DEVICES), chance.randint(2, DEVICES))):
            slower = {"equal": 1.0, "speeds": 1 / speeds[device], "unrelated": 2 ** chance.uniform(-2, 2)}[kind]
            found[tool, device] = usual_ms * slower
    return World(found)


def graph(seed: int, transfers: float) -> Graph:
    """Return a layered plan of 12 to 45 tasks; `transfers`: their mean time beside that of the work, 0 for none."""
    chance = random.Random(f"graph {seed}")
    count = chance.randint(12, 45)
    layers: list[list[int]] = []
    task = 0
    while task < count:
        width = min(count - task, chance.randint(1, 8))
        layers.append(list(range(task, task + width)))
        task += width
    before: list[list[int]] = [[] for _ in range(count)]
    for above, layer in pairwise(layers):
        for one in layer:
            before[one] = sorted(chance.sample(above, min(len(above), chance.randint(1, 3))))
    size = [int(chance.lognormvariate(0, 0.5) * transfers * 5_000 / MS_FOR_MIB * MIB) for _ in range(count)]
    return Graph(
        tools=[chance.randrange(TOOLS) for _ in range(count)],
        work=[chance.lognormvariate(0, SPREAD) for _ in range(count)],
        size=size,
        before=before,
    )


def again(made: Graph, seed: int, number: int) -> Graph:
    """Return another run of a plan: the same calls, each with as much work as it has this time."""
    chance = random.Random(f"again {seed} {number}")
    return replace(made, work=[chance.lognormvariate(0, SPREAD) for _ in made.work])


def takes_ms(here: World, plan: Graph, task: int, device: int) -> int:
    """Return the true time of a task on a device, without its transfers."""
    return max(1, int(here.usual_ms[plan.tools[task], device] * plan.work[task]))


def moves_ms(plan: Graph, task: int, device: int, at: Callable[[int], int]) -> int:
    """Return the time in which the inputs of a task reach a device, one after the other; `at` is where each lies."""
    moved = sum(plan.size[source] for source in plan.before[task] if at(source) != device)
    return moved * MS_FOR_MIB // MIB


def lower_bound(here: World, plan: Graph) -> int:
    """Return a makespan that no schedule beats: the longest chain at its best, or all work spread over all devices."""
    best = [
        min(takes_ms(here, plan, task, device) for device in here.devices(tool)) for task, tool in enumerate(plan.tools)
    ]
    ends: list[int] = []
    for task, sources in enumerate(plan.before):
        ends.append(best[task] + max((ends[source] for source in sources), default=0))
    return max(max(ends), sum(best) // DEVICES)


def heft(here: World, plan: Graph) -> int:
    """Return the makespan of HEFT (Topcuoglu et al. 2002) with the true durations, gaps on devices included."""
    after = plan.after()
    mean = [
        sum(takes_ms(here, plan, task, device) for device in here.devices(tool)) / len(here.devices(tool))
        for task, tool in enumerate(plan.tools)
    ]
    rank = [0.0] * len(mean)
    for task in reversed(range(len(mean))):
        edge = plan.size[task] * MS_FOR_MIB / MIB * (DEVICES - 1) / DEVICES
        rank[task] = mean[task] + max((edge + rank[later] for later in after[task]), default=0.0)
    busy: list[list[tuple[int, int]]] = [[] for _ in range(DEVICES)]
    end: dict[int, int] = {}
    where: dict[int, int] = {}
    for task in sorted(range(len(mean)), key=lambda one: -rank[one]):
        ready = max((end[source] for source in plan.before[task]), default=0)
        found = []
        for device in here.devices(plan.tools[task]):
            span = takes_ms(here, plan, task, device) + moves_ms(plan, task, device, where.__getitem__)
            found.append((_gap(busy[device], ready, span) + span, device, span))
        finish, device, span = min(found)
        insort(busy[device], (finish - span, finish))
        end[task], where[task] = finish, device
    return max(end.values())


def _gap(busy: list[tuple[int, int]], ready: int, span: int) -> int:
    at = ready
    for begin, end in busy:
        if at + span <= begin:
            return at
        at = max(at, end)
    return at


def at_random(here: World, plan: Graph, seed: int) -> int:
    """Return the makespan where each ready task goes to a free device by chance, in order of hops to the end."""
    chance = random.Random(f"device {seed}")
    after = plan.after()
    hops = [0] * len(plan.tools)
    for task in reversed(range(len(hops))):
        hops[task] = max((1 + hops[later] for later in after[task]), default=0)
    left = [len(sources) for sources in plan.before]
    ready = [(-hops[task], task) for task, count in enumerate(left) if not count]
    free = set(range(DEVICES))
    where: dict[int, int] = {}
    running: list[tuple[int, int]] = []
    now = 0
    while ready or running:
        for entry in sorted(ready):
            task = entry[1]
            able = [device for device in here.devices(plan.tools[task]) if device in free]
            if able:
                device = chance.choice(able)
                free.discard(device)
                where[task] = device
                span = takes_ms(here, plan, task, device) + moves_ms(plan, task, device, where.__getitem__)
                heappush(running, (now + span, task))
                ready.remove(entry)
        now, done = heappop(running)
        free.add(where[done])
        for later in after[done]:
            left[later] -= 1
            if not left[later]:
                ready.append((-hops[later], later))
    return now
