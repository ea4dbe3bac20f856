"""An asyncio loop whose time is virtual: when nothing is ready, it jumps to the next timer. Deterministic by seed.

Nothing of a schedule may touch real sockets, threads or clocks; a loop with nothing to do at all is a deadlock.
"""

from __future__ import annotations

import asyncio
import contextlib
import selectors
from collections.abc import Coroutine
from typing import Any

from tests.sim.processes import let_all_run

START_MS = 1_700_000_000_000
LONGEST_S = 20_000.0
"""No schedule is to take that long: whatever is waited for does not come."""
STILL_MOST = 2_000_000
"""Turns of the loop at one moment, after which it goes round in a circle."""


class Deadlock(RuntimeError):
    """Nothing is ready and no timer is armed: the schedule can never go on."""


class Endless(RuntimeError):
    """Time goes on, or stands still, and the schedule does not come to its end."""


class _NoSelector(selectors.SelectSelector):
    """Never waits: real file descriptors have no part in virtual time."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """`time()` moves only by jumps to the next timer."""

    def __init__(self) -> None:
        self._virtual_s = 0.0
        self._turns_at_once = 0
        self._longest_s = LONGEST_S
        super().__init__(_NoSelector())
        self.faults: list[str] = []
        self.set_exception_handler(self._on_fault)

    def time(self) -> float:
        return self._virtual_s

    def _on_fault(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        about = context.get("exception") or context.get("task") or context.get("future")
        self.faults.append(f"{context.get('message')}: {about!r}")

    def _run_once(self) -> None:
        scheduled: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        if not self._ready:  # type: ignore[attr-defined]
            if not scheduled:
                raise Deadlock("nothing is ready and no timer is armed")
            if scheduled[0].when() > self._virtual_s:
                self._virtual_s, self._turns_at_once = scheduled[0].when(), 0
            if self._virtual_s > self._longest_s:
                self._end(f"not at its end after {self._longest_s:.0f} s")
        self._turns_at_once += 1
        if self._turns_at_once > STILL_MOST:
            self._end(f"{STILL_MOST} turns at {self._virtual_s:.1f} s")
        super()._run_once()  # type: ignore[misc]

    def _end(self, why: str) -> None:
        # What is left is still to be cancelled and closed, which takes time too.
        self._longest_s, self._turns_at_once = float("inf"), 0
        raise Endless(why)


def run(main: Coroutine[Any, Any, Any]) -> tuple[Any, list[str]]:
    """Run to the end; return the result and what the loop was told went wrong."""
    loop = VirtualLoop()
    try:
        asyncio.set_event_loop(loop)
        return loop.run_until_complete(main), list(loop.faults)
    finally:
        left = asyncio.all_tasks(loop)
        let_all_run(loop)
        for task in left:
            task.cancel()
        if left:
            # What goes round in a circle may do so while it is ended too.
            with contextlib.suppress(Endless):
                loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        asyncio.set_event_loop(None)
        loop.close()


class SimClock:
    """`engine.ports.Clock` over the loop's virtual time: a wall clock, which somebody may set."""

    def __init__(self) -> None:
        self._set_s = 0.0

    def jump(self, by_s: float) -> None:
        self._set_s += by_s

    def now_ms(self) -> int:
        return START_MS + int((asyncio.get_running_loop().time() + self._set_s) * 1000)

    async def wait(self, ms: int) -> None:
        await asyncio.sleep(ms / 1000)
