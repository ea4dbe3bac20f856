"""Installations of one and of two hubs with workers and more tools, for schedules with minds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from starloom.jobs.claiming import ask
from starloom.store.port import Unavailable
from tests.sim.hub import Site
from tests.sim.minds.plans import OFFERS
from tests.sim.minds.tools import Gives
from tests.sim.minds.workers import Workers
from tests.sim.pair import PairSite
from tests.sim.surroundings import TOOLS, Surroundings
from tests.store.memory import MemoryInbox


class MindSite(Site):
    """Workers are woken by whichever hub runs, and outlive it."""

    def __init__(self, chance: random.Random, devices: Sequence[str], seed: int) -> None:
        super().__init__(chance, devices)
        self.jobs = self.workers = _furnished(self, chance, seed)

    async def close(self) -> None:
        self.closing = True
        await self.workers.close()
        await super().close()


class MindPairSite(PairSite):
    """Workers are woken by the hub that owns the shard, post to the inbox in Redis, and outlive both hubs."""

    def __init__(self, chance: random.Random, devices: Sequence[str], seed: int) -> None:
        super().__init__(chance, devices)
        self.jobs = self.workers = _furnished(self, chance, seed)
        self._inbox = MemoryInbox(self.redis)

    async def ask(self, item: Any) -> Any:
        """Ask a hub; what a worker posts is taken in its order by whichever hub owns the shard."""
        if not item.by.startswith("worker:"):
            return await super().ask(item)
        try:
            return await ask(self._inbox, item)
        except Unavailable:
            return None

    async def close(self) -> None:
        self.closing = True
        await self.workers.close()
        await super().close()


def _furnished(site: Surroundings, chance: random.Random, seed: int) -> Workers:
    """Give a site the tools of minds, and return its workers."""
    site.tools = [*TOOLS, *OFFERS]
    workers = Workers(site, random.Random(chance.getrandbits(32)), seed)
    for agent in site.agents.values():
        agent.gives = Gives(site.clock.now_ms, seed)
    return workers
