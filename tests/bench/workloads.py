"""What is run on a stack, and the figures of one run. A run that does not end well raises; it never gives a figure."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from starloom.edge.live.endpoint import FRAME_S
from tests.bench.graphs import Graph, plan, task_id
from tests.bench.hub_client import BenchFailed, Conflict, HubClient, Seen
from tests.bench.machine import Busy
from tests.bench.stack import Stack

EDIT_EVERY = 50
LEAVE = 150
LATE_MOST = 5


class TooLate(BenchFailed):
    """So many edits came after the end that the run did not measure editing; it says nothing against the hub."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one graph. CPU is of what the graph needed until the history had it; `busy` is of the machine."""

    tasks: int
    wall_s: float
    accept_s: float
    hub_us: float
    redis_us: float
    agents_us: float
    hop_p50_ms: float
    others_busy: float
    resyncs: int

    @property
    def tasks_s(self) -> float:
        return self.tasks / self.wall_s


async def run(
    stack: Stack, client: HubClient, graph: Graph, *, repeatability: str | None = None, edits: bool = False
) -> Run:
    """Run a graph from submit until the client sees it done."""
    document = plan(graph, repeatability=repeatability)
    editor = Editor(client, graph) if edits else None
    machine, cpu, own = Busy.now(), stack.cpu(), time.process_time()
    seen = await client.run(document, editor.completed if editor else None)
    await stack.settled(client)
    used, after = stack.cpu() - cpu, Busy.now()
    tasks = len(graph) + (editor.added if editor else 0)
    mine = used.hub + used.redis + used.agents + time.process_time() - own
    others = max(0.0, after.used_s - machine.used_s - mine) / max(after.at - machine.at, 1e-9)
    return Run(
        tasks=tasks,
        wall_s=seen.wall_s,
        accept_s=seen.accepted - seen.began,
        hub_us=used.hub / tasks * 1e6,
        redis_us=used.redis / tasks * 1e6,
        agents_us=used.agents / tasks * 1e6,
        hop_p50_ms=hop_p50_ms(seen),
        others_busy=others,
        resyncs=seen.resyncs,
    )


def hop_p50_ms(seen: Seen) -> float:
    """Return the median time from one end of a task to the next, as the client sees them.

    The hub tells a page what happened within a frame of the screen together, so the ends in one message share the time
    since the one before, each alike. A message less than half a frame behind another waited for the client and not for
    the hub, and is counted to it.
    """
    told: list[tuple[float, int]] = []  # the last message of those that came at once, and the ends in all of them
    for at, ends in sorted(Counter(seen.done_at).items()):
        if told and at - told[-1][0] < FRAME_S / 2:
            told[-1] = (at, told[-1][1] + ends)
        else:
            told.append((at, ends))
    hops = [(now - before) / ends for (before, _), (now, ends) in pairwise(told) for _ in range(ends)]
    return statistics.median(hops) * 1e3 if hops else 0.0


class Editor:
    """Edits the running constellation each time fifty more tasks are done: a new task behind one of the last layer.

    It stops `LEAVE` tasks before the end. One that still comes after the end, because the client saw it later than it
    was, adds nothing and is not counted; more than `LATE_MOST` of them make the run worth nothing (`TooLate`).
    """

    def __init__(self, client: HubClient, graph: Graph) -> None:
        self._client = client
        self._tasks = len(graph)
        self._asked = 0
        self._late = 0
        self.added = 0

    def completed(self, constellation: str, seen: Seen) -> Coroutine[Any, Any, None] | None:
        """Return the edit that is due now, if one is."""
        if seen.done % EDIT_EVERY or seen.done > self._tasks - LEAVE:
            return None
        self._asked += 1
        name = f"edit{self._asked}"
        operations = [
            {"add_task": {"id": name, "tool": "lab.echo"}},
            {"add_dependency": {"from": task_id(self._tasks - self._asked), "to": name}},
        ]
        body = {"base_version": seen.version, "operations": operations, "reason": f"{seen.done} tasks are done"}
        return self._edit(constellation, body)

    async def _edit(self, constellation: str, body: dict[str, Any]) -> None:
        try:
            await self._client.post(f"/constellations/{constellation}/edits", body)
        except Conflict as conflict:
            if "illegal_control" not in str(conflict):
                raise
            self._late += 1
            if self._late > LATE_MOST:
                raise TooLate(f"{self._late} of {self._asked} edits came after the end") from conflict
        else:
            self.added += 1
