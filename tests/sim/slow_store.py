"""The memory twin with time in it, and calls that are carried out and then told to have failed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from starloom.store.port import Commit, Ownership, StreamState, Unavailable
from starloom.store.sql.history import PastCommit
from tests.store.memory import MemoryHistory, MemoryRedis, MemoryStore


@dataclass
class Doubts:
    """Calls to come that are carried out and whose reply is then lost, and how slow SQL is now."""

    redis: int = 0
    history: int = 0
    slow_s: float = 0.0


class SlowStore(MemoryStore):
    """The memory twin with time in it: a commit and a write to SQL take a while, so others come between.

    A call in doubt is carried out and then told to have failed.
    """

    def __init__(self, redis: MemoryRedis, history: MemoryHistory, chance: random.Random, doubts: Doubts) -> None:
        super().__init__(redis, history, sleep=asyncio.sleep)
        self._chance = chance
        self._doubts = doubts

    def _lose_reply(self) -> None:
        if self._doubts.redis > 0:
            self._doubts.redis -= 1
            raise Unavailable("Redis in memory did what was asked and its reply was lost")

    async def commit(self, commit: Commit) -> None:
        await asyncio.sleep(self._chance.choice([0.0, 0.001, 0.02]))
        await super().commit(commit)

    async def _replied(self) -> None:
        await asyncio.sleep(self._chance.choice([0.0, 0.001, 0.02]))

    async def take(
        self, owner: str, at_ms: int, keep: Collection[str] = (), *, over: int | None = None, polite: bool = False
    ) -> Ownership:
        await asyncio.sleep(0.01)
        own = await super().take(owner, at_ms, keep, over=over, polite=polite)
        try:
            self._lose_reply()
        except Unavailable:
            # As in `RedisStore`: a taking that failed leaves no ownership behind.
            await self._projector.stop()
            self._ownership = None
            raise
        return own

    async def renew(self, owner: str, term: int, at_ms: int) -> bool:
        renewed = await super().renew(owner, term, at_ms)
        self._lose_reply()
        return renewed

    async def owns(self, term: int) -> bool:
        owned = await super().owns(term)
        self._lose_reply()
        return owned

    async def position(self) -> tuple[int, int, str]:
        found = await super().position()
        await asyncio.sleep(self._chance.choice([0.0, 0.001]))
        return found

    async def recall(self, streams: Sequence[str]) -> dict[str, StreamState]:
        await asyncio.sleep(self._chance.choice([0.0, 0.001, 0.02]))
        found = await super().recall(streams)
        self._lose_reply()
        return found

    async def retire(self, streams: Sequence[tuple[str, int]]) -> None:
        await asyncio.sleep(self._chance.choice([0.0, 0.001]))
        await super().retire(streams)
        await asyncio.sleep(self._chance.choice([0.0, 0.001]))
        self._lose_reply()

    async def _project(self, batch: Sequence[PastCommit]) -> None:
        await asyncio.sleep(self._doubts.slow_s or self._chance.choice([0.001, 0.05, 0.2]))
        await super()._project(batch)
        if self._doubts.history > 0:
            self._doubts.history -= 1
            raise Unavailable("the history in memory was written and its reply was lost")
