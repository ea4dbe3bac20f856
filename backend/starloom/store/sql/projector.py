"""The projector copies whole commits, in order, from Redis to the durable history.

One write at a time takes all queued commits, at once if an answer or an effect waits for one; other commits are
collected for a moment. A failure is kept, reported to all waiting calls and tried again after a growing pause. A
history that belongs to another owner ends the projector.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from starloom.process.ending import end_tasks
from starloom.store.port import Unavailable
from starloom.store.sql.history import PastCommit, Superseded

PAUSE_S: Final = 0.05
PAUSE_MOST_S: Final = 2.0
BATCH_COMMITS_MOST: Final = 2_000
GATHER_S: Final = 0.1  # a transaction with its acknowledgements costs as much as about ten tasks

Write = Callable[[Sequence[PastCommit]], Awaitable[None]]
Sleep = Callable[[float], Awaitable[None]]


class Projector:
    """The projector. `write` must be atomic, and must accept a repeated batch whose fate is unknown."""

    def __init__(self, write: Write, *, sleep: Sleep = asyncio.sleep) -> None:
        self._write = write
        self._sleep = sleep
        self._queue: deque[PastCommit] = deque()
        self._waiting: list[tuple[int, asyncio.Future[int]]] = []
        self._arrived = asyncio.Event()
        self._hurry = asyncio.Event()
        self._waited_for = 0  # the last position for which an answer or an effect waits
        self._task: asyncio.Task[None] | None = None
        self._end_reason: str | None = None
        self.watermark = 0

    def start(self, watermark: int) -> None:
        """Start after `watermark`, with an empty queue."""
        if self._task is not None and not self._task.done():
            raise RuntimeError("the projector runs already; stop it first")
        self.watermark = watermark
        self._queue.clear()
        self._end_reason = None
        self._waited_for = 0
        self._arrived = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name="projector")

    async def stop(self) -> None:
        """Stop after the write in flight; queued commits stay in Redis for the next owner."""
        task, self._task = self._task, None
        if task is not None:
            await end_tasks([task])
        self._fail(Unavailable("the projector was stopped"))

    def add(self, commit: PastCommit, *, waited_for: bool = True) -> None:
        """Queue a commit that Redis has; positions must be consecutive. One that is `waited_for` is written now."""
        last = self._queue[-1].pos if self._queue else self.watermark
        if commit.pos <= last:
            return
        if commit.pos != last + 1:
            raise ValueError(f"commit {commit.pos} cannot follow {last} in the history")
        self._queue.append(commit)
        self._arrived.set()
        if waited_for:
            self._want(commit.pos)

    def _want(self, pos: int) -> None:
        self._waited_for = max(self._waited_for, pos)
        self._hurry.set()

    @property
    def runs(self) -> bool:
        return self._task is not None and self._end_reason is None

    @property
    def last_pos(self) -> int:
        """The position up to which commits are durable or queued."""
        return self._queue[-1].pos if self._queue else self.watermark

    def lag_ms(self, now_ms: int) -> int:
        return max(0, now_ms - self._queue[0].at_ms) if self._queue else 0

    async def passed(self, pos: int) -> int:
        """Wait until the watermark is above `pos` and return it.

        Raises:
            Unavailable: the write failed (it is tried again), or the projector does not run.
        """
        if self.watermark > pos:
            return self.watermark
        if self._end_reason is not None or self._task is None:
            raise Unavailable(self._end_reason or "the projector does not run")
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((pos, future))
        return await future

    async def drained(self) -> None:
        """Wait until all commits queued now are durable.

        Raises:
            Unavailable: as `passed`.
        """
        if self._queue:
            self._want(self._queue[-1].pos)
            await self.passed(self._queue[-1].pos - 1)

    async def _run(self) -> None:
        pause = PAUSE_S
        while True:
            if not self._queue:
                self._arrived.clear()
                await self._arrived.wait()
            if self._waited_for <= self.watermark:
                await self._gather()
            batch = [self._queue[at] for at in range(min(len(self._queue), BATCH_COMMITS_MOST))]
            try:
                await self._write(batch)
            except Unavailable as error:
                self._fail(type(error)(f"the history cannot be written: {error}"))
                await self._sleep(pause)
                pause = min(pause * 2, PAUSE_MOST_S)
                continue
            except Exception as error:
                # Retrying does not help: another owner, or an invalid commit. No call may return as durable.
                kind = "" if isinstance(error, Superseded) else f"{type(error).__name__}: "
                self._end_reason = f"the projector ended: {kind}{error}"
                self._fail(Unavailable(self._end_reason))
                return
            pause = PAUSE_S
            for _ in batch:
                self._queue.popleft()
            self._advance(batch[-1].pos)

    async def _gather(self) -> None:
        self._hurry.clear()
        either = {asyncio.ensure_future(self._sleep(GATHER_S)), asyncio.ensure_future(self._hurry.wait())}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in either:
                task.cancel()

    def _advance(self, watermark: int) -> None:
        self.watermark = watermark
        waiting, self._waiting = self._waiting, []
        for pos, future in waiting:
            if pos >= watermark:
                self._waiting.append((pos, future))
            elif not future.done():
                future.set_result(watermark)

    def _fail(self, why: Unavailable) -> None:
        waiting, self._waiting = self._waiting, []
        for _, future in waiting:
            if not future.done():
                future.set_exception(type(why)(*why.args))
