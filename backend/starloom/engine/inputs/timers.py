"""The heap of timers, computed from state; a fired timer is an input that the core judges against state again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush

from starloom.core.state.inputs import TimerFired
from starloom.core.state.orders import ArmTimer
from starloom.engine.ports import Clock
from starloom_protocol.stream.authors import ENGINE

# The clock of a waiting process stops while the machine sleeps; the wall clock does not.
LOOK_AGAIN_MS = 30_000
HELD_LEAST = 1_024
"""Stale timers are cleared out when the heap has doubled; a small heap is not worth that."""


class Timers:
    """Posts a `TimerFired` at each moment that was armed; keeps no other state.

    Most timers become stale before they are due. Each time the heap has doubled, those for which `stale` is true are
    dropped, so it holds at most about twice as many as state implies.
    """

    def __init__(
        self,
        clock: Clock,
        post: Callable[[TimerFired], None],
        stale: Callable[[ArmTimer], bool] = lambda _timer: False,
    ) -> None:
        self._clock = clock
        self._post = post
        self._stale = stale
        self._most = HELD_LEAST
        self._heap: list[tuple[int, int, ArmTimer]] = []
        self._count = 0
        self._changed = asyncio.Event()

    def arm(self, timer: ArmTimer) -> None:
        """Fire at `timer.due_ms`, or at once if that has passed."""
        self._count += 1
        heappush(self._heap, (timer.due_ms, self._count, timer))
        if len(self._heap) > self._most:
            self._prune()
        # A first timer that is already due passed while the machine slept.
        if self._heap and (self._heap[0][2] is timer or self._heap[0][0] <= self._clock.now_ms()):
            self._changed.set()

    def replace(self, timers: Iterable[ArmTimer]) -> None:
        """Drop all timers and arm these, at the start of an owner."""
        self._heap = [(timer.due_ms, number, timer) for number, timer in enumerate(timers, self._count + 1)]
        self._count += len(self._heap)
        self._most = max(HELD_LEAST, 2 * len(self._heap))
        heapify(self._heap)
        self._changed.set()

    def look(self) -> None:
        """Check for due timers now: the clock has moved by more than the time waited."""
        self._changed.set()

    def __len__(self) -> int:
        return len(self._heap)

    def _prune(self) -> None:
        self._heap = [entry for entry in self._heap if not self._stale(entry[2])]
        heapify(self._heap)
        self._most = max(HELD_LEAST, 2 * len(self._heap))
        self._changed.set()

    async def run(self) -> None:
        """Fire due timers until cancelled."""
        while True:
            self._changed.clear()
            now = self._clock.now_ms()
            while self._heap and self._heap[0][0] <= now:
                self._fire(heappop(self._heap)[2])
            if not self._heap:
                await self._changed.wait()
                continue
            wait = asyncio.ensure_future(self._clock.wait(min(self._heap[0][0] - now, LOOK_AGAIN_MS)))
            changed = asyncio.ensure_future(self._changed.wait())
            try:
                await asyncio.wait({wait, changed}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                wait.cancel()
                changed.cancel()

    def _fire(self, timer: ArmTimer) -> None:
        self._count += 1
        self._post(
            TimerFired(
                id=f"timer-{self._count}",
                by=ENGINE,
                constellation=timer.constellation,
                entity=timer.entity,
                kind=timer.kind,
                attempt=timer.attempt,
                round=timer.round,
            )
        )
