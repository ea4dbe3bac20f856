"""A call played without a hub: the agent's own side of it on a loop of its own, for tests that are no coroutines."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from starloom_agent.toolkit.messages import CallSpec, Ended, Grouped, Order, Said
from starloom_agent.work.calls.runners import Runners
from starloom_agent.work.calls.running_call import RunningCall
from tests.waiting import PATIENCE_S

T = TypeVar("T")
Heard = Grouped | Said | Ended


class Loop:
    """A loop in a thread, with the runners of an agent on it."""

    def __init__(self, *, warm: bool, slots: int = 4) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()
        self.told: list[str] = []
        self.runners = self.do(self._make(warm, slots))

    async def _make(self, warm: bool, slots: int) -> Runners:
        runners = Runners(slots, self.told.append, warm=warm)
        runners.start()
        if warm:
            await runners.warmed()
        return runners

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Carry out a coroutine there and return what it returns."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE_S)

    def warmed(self) -> None:
        """Wait until runners are forked (again)."""
        self.do(self.runners.warmed())

    def close(self) -> None:
        self.do(self.runners.close())
        self.do(self.loop.shutdown_default_executor())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(PATIENCE_S)
        self.loop.close()


class Call:
    """One call and what was heard of it."""

    def __init__(self, loop: Loop, spec: CallSpec, *, stop_at_once: str = "") -> None:
        self._loop = loop
        self._heard: queue.Queue[Heard] = queue.Queue()
        self.said: list[Said] = []
        self.group: Grouped | None = None
        self.ended: Ended | None = None
        self.running = RunningCall(spec, self._heard.put, self._heard.put, loop.runners)
        if stop_at_once:
            self.running.stop(stop_at_once)
        self._future = asyncio.run_coroutine_threadsafe(self._run(), loop.loop)

    async def _run(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._heard.put(await self.running.run())

    def order(self, order: Order) -> None:
        if order.stop:
            self._loop.loop.call_soon_threadsafe(self.running.stop, order.stop)
        if order.fence_at is not None:
            self._loop.loop.call_soon_threadsafe(self.running.move_fence, order.fence_at)

    def line(self) -> Heard:
        heard = self._heard.get(timeout=PATIENCE_S)
        if isinstance(heard, Said):
            self.said.append(heard)
        elif isinstance(heard, Grouped):
            self.group = heard
        else:
            self.ended = heard
        return heard

    def until_said(self, text: str) -> None:
        while not any(text in said.text for said in self.said):
            assert not isinstance(self.line(), Ended)

    def end(self) -> Ended:
        while self.ended is None:
            self.line()
        return self.ended

    @property
    def leader(self) -> int:
        """The process of its tool; runner and tool have a line each, so this may come after the first output."""
        while self.group is None:
            self.line()
        return self.group.group

    @property
    def runner_pid(self) -> int:
        """The process of its runner, which is there once the group is."""
        assert self.leader
        return self.running.runner_pid

    def cut(self) -> None:
        """Close the agent's end of the runner's socket, as the death of the agent does."""
        self._loop.do(self._cut())

    async def _cut(self) -> None:
        assert self.running._link is not None
        self.running._link.close()

    def close(self) -> None:
        """End it, if nobody has waited for its end."""
        if self.ended is None and not self._future.done():
            self._loop.do(self._cancel())

    async def _cancel(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
