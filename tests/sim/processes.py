"""Processes inside one virtual loop: what runs on behalf of one can be stopped, let go on, or ended in an instant.

A process is known by a context variable, which every task and timer inherits that is begun in it. What becomes ready
of a stopped one waits, in order, as under SIGSTOP; of a killed one nothing ever runs again, no `finally` either.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

_PROCESS: contextvars.ContextVar[Process | None] = contextvars.ContextVar("process", default=None)


class Process:
    """One process; `cut_off` says that it does not reach Redis."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.frozen = False
        self.cut_off = False
        self.waiting: list[asyncio.Handle] = []
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self._context.run(_PROCESS.set, self)
        self._kept: list[asyncio.Task[Any]] = []
        _prepare(self._loop).append(self)

    @property
    def runs(self) -> bool:
        return self.alive and not self.frozen

    def call(self, work: Callable[..., object], *args: object) -> None:
        """Have something done in it, after what waits already; never, if it is dead."""
        if self.alive:
            self._loop.call_soon(work, *args, context=self._context)

    def begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        return self._loop.create_task(work, context=self._context.copy())

    def freeze(self) -> None:
        self.frozen = True

    def thaw(self) -> None:
        self.frozen = False
        if self.alive:
            self.release()

    def kill(self) -> None:
        self.alive = False
        # Whoever is never woken again would be collected at any time, which asyncio reports as a fault.
        self._kept = list(asyncio.all_tasks(self._loop))

    def release(self) -> None:
        """Make ready what waits; also for the end of a loop, when every task is cancelled."""
        ready: deque[asyncio.Handle] = self._loop._ready  # type: ignore[attr-defined]
        ready.extend(self.waiting)
        self.waiting.clear()


def current() -> Process | None:
    """Return the process in which this runs, None for what belongs to the world outside."""
    return _PROCESS.get()


class _Ready(deque[asyncio.Handle]):
    """The loop's queue of what is ready; gives nothing of a process that does not run."""

    over = False

    def popleft(self) -> asyncio.Handle:
        handle: asyncio.Handle = super().popleft()
        process: Process | None = handle._context.get(_PROCESS)  # type: ignore[attr-defined]
        if process is None or process.runs or self.over:
            return handle
        process.waiting.append(handle)
        nothing: asyncio.Handle = _NOTHING
        return nothing


class _Cancelled:
    """What the loop passes over."""

    _cancelled = True


_NOTHING: Any = _Cancelled()


def _prepare(loop: Any) -> list[Process]:
    if not isinstance(loop._ready, _Ready):
        loop._ready = _Ready(loop._ready)
        loop.processes = []
    processes: list[Process] = loop.processes
    return processes


def let_all_run(loop: Any) -> None:
    """The run is over: what still waits anywhere may be cancelled."""
    if isinstance(loop._ready, _Ready):
        loop._ready.over = True
        for process in loop.processes:
            process.release()
