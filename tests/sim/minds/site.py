"""An installation of one hub with workers and more tools, for schedules with minds."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.sim.hub import Site
from tests.sim.minds.plans import OFFERS
from tests.sim.minds.tools import Gives
from tests.sim.minds.workers import Workers
from tests.sim.surroundings import TOOLS


class MindSite(Site):
    """Workers are woken by whichever hub runs, and outlive it."""

    def __init__(self, chance: random.Random, devices: Sequence[str], seed: int) -> None:
        super().__init__(chance, devices)
        self.tools = [*TOOLS, *OFFERS]
        self.jobs = self.workers = Workers(self, random.Random(chance.getrandbits(32)), seed)
        for agent in self.agents.values():
            agent.gives = Gives(self.clock.now_ms, seed)

    async def close(self) -> None:
        self.closing = True
        await self.workers.close()
        await super().close()
