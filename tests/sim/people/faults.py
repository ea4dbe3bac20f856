"""The faults of a schedule with people: those of one hub, and a history put back."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from tests.sim.faults import LoneChaos
from tests.sim.people.site import PeopleSite
from tests.sim.script import Fault


class PeopleChaos(LoneChaos):
    def __init__(self, site: PeopleSite, faults: Sequence[Fault]) -> None:
        super().__init__(site, faults)
        self._people = site

    async def _one(self, fault: Fault, chance: random.Random) -> None:
        match fault.kind:
            case "restore":
                await self._restore(chance)
            case _:
                await super()._one(fault, chance)

    async def _restore(self, chance: random.Random) -> None:
        backup, made_s = self._people.backup()
        await asyncio.sleep(chance.choice([2.0, 12.0, 30.0, 70.0, 150.0]))
        async with self._hub:
            if not self._people.heeded.restores or self._people.heeded.restores[-1].at_s < made_s:
                await self._people.restore(backup, made_s)
