"""One Redis as two hubs reach it: each by its own line, the owner's lease running out, whoever follows woken.

Notes what no hub may do: two engines that commit under one term, a commit under a term that is over.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

from starloom.store.port import Commit, Followed, Unavailable
from tests.sim.processes import Process, current
from tests.sim.slow_store import Doubts, SlowStore
from tests.store.memory import MemoryHistory, MemoryInbox, MemoryLog, MemoryRedis
from tests.store.memory_servers import Write

OWNER_TTL_S = 5.0
RELEASED = "@released"


class PairRedis(MemoryRedis):
    """`forgot` says whether it ever came back with less than it had."""

    def __init__(self) -> None:
        self._owner, self._owner_until_s = "", 0.0
        self.forgot = False
        self.violations: list[str] = []
        self._committers: dict[int, object] = {}
        self._following: list[asyncio.Future[None]] = []
        super().__init__()

    @property
    def owner(self) -> str:
        return self._owner if asyncio.get_running_loop().time() < self._owner_until_s else ""

    @owner.setter
    def owner(self, owner: str) -> None:
        ttl_s = float("inf") if owner == RELEASED else OWNER_TTL_S
        self._owner, self._owner_until_s = owner, asyncio.get_running_loop().time() + ttl_s

    def reach(self) -> None:
        super().reach()
        process = current()
        if process is not None and process.cut_off:
            raise Unavailable(f"{process.name} does not reach Redis")

    def restart(self, *, lose_commits: int = 0, lose_moves: bool = False, keep: int | None = None) -> None:
        before, until_s = self.pos, self._owner_until_s
        super().restart(lose_commits=lose_commits, lose_moves=lose_moves, keep=keep)
        # An older lease than the last one may come back, but none that runs for longer than a lease does.
        if self._owner != RELEASED:
            self._owner_until_s = min(until_s, self._owner_until_s)
        self.forgot = self.forgot or self.pos < before

    def wipe(self) -> None:
        self.forgot = self.forgot or self.pos > 0
        super().wipe()

    def put(self, write: Write) -> None:
        super().put(write)
        process = current()
        if process is None or not isinstance(write, Commit):
            return
        # An engine commits from one task alone, so that task is the engine.
        engine = asyncio.current_task()
        if self._committers.setdefault(write.term, engine) is not engine:
            self.violations.append(f"two engines have committed under term {write.term}, one of them {process.name}'s")
        if write.term != self.term:
            self.violations.append(f"{process.name} committed under term {write.term}, when it was {self.term}")
        following, self._following = self._following, []
        for future in following:
            if not future.done():
                future.set_result(None)

    async def appended(self, within_s: float) -> None:
        """Wait until a commit comes, at most so long."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._following.append(future)
        timer = loop.call_later(within_s, _end, future)
        try:
            await future
        finally:
            timer.cancel()


def _end(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class _Log(MemoryLog):
    """Follows without waiting for longer than a commit takes."""

    def __init__(self, redis: PairRedis, history: MemoryHistory) -> None:
        super().__init__(redis, history, asyncio.sleep)
        self._woken_by = redis

    async def read_on(self, after: int, wait_ms: int) -> list[Followed]:
        self._redis.reach()
        if self._redis.pos <= after:
            await self._woken_by.appended(wait_ms / 1000)
        return await super().read_on(after, 0)


class _Inbox(MemoryInbox):
    """Gives nothing while its hub does not reach Redis."""

    async def take(self) -> AsyncIterator[tuple[str, bytes]]:
        async for delivery, raw in super().take():
            while True:
                try:
                    self._redis.reach()
                    break
                except Unavailable:
                    await asyncio.sleep(0.05)
            yield delivery, raw


class Cards:
    """`HubsPort`: where hubs say they are reached. Nothing travels beside the log."""

    def __init__(self, redis: PairRedis, cards: dict[str, tuple[float, bytes]]) -> None:
        self._redis = redis
        self._cards = cards

    async def announce(self, hub: str, card: bytes, ttl_ms: int) -> None:
        self._redis.reach()
        self._cards[hub] = (asyncio.get_running_loop().time() + ttl_ms / 1000, card)

    async def card(self, hub: str) -> bytes | None:
        self._redis.reach()
        until_s, card = self._cards.get(hub, (0.0, b""))
        return card if asyncio.get_running_loop().time() < until_s else None

    async def say_beside(self, raw: bytes) -> int:
        self._redis.reach()
        return 0 * len(raw)

    async def hear_beside(self) -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b"[]"


class HubStore(SlowStore):
    """One hub's way to Redis and history. `stop_at` stops the process at that moment of its next commit."""

    def __init__(
        self, redis: PairRedis, history: MemoryHistory, chance: random.Random, doubts: Doubts, process: Process
    ) -> None:
        super().__init__(redis, history, chance, doubts)
        self.feed = _Log(redis, history)
        self.posts = _Inbox(redis)
        self.stop_at = ""
        self._process = process

    async def commit(self, commit: Commit) -> None:
        await self._stop("before")
        await super().commit(commit)

    async def _replied(self) -> None:
        await super()._replied()
        await self._stop("after")
        if self._process.cut_off:
            raise Unavailable(f"{self._process.name} has lost its line, and with it the reply")

    async def _stop(self, at: str) -> None:
        if self.stop_at == at:
            self.stop_at = ""
            self._process.freeze()
            await asyncio.sleep(0)

    def __repr__(self) -> str:
        return f"HubStore({self._process.name})"
