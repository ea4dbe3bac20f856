"""The faults that only two hubs have: either is killed, stopped in time, cut off from Redis or from the other."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from tests.sim.faults import Chaos
from tests.sim.pair import PairSite
from tests.sim.pair_hub import Hub
from tests.sim.script import Fault

FROZEN_S = (0.5, 4.0, 7.5, 12.0, 30.0)


class PairChaos(Chaos):
    """Each of two hubs may be away at a time, or both."""

    def __init__(self, site: PairSite, faults: Sequence[Fault]) -> None:
        super().__init__(site, faults)
        self._pair = site

    async def _hubs(self, kind: str, chance: random.Random) -> None:
        site = self._pair
        first, second = (site.owner, site.standby) if chance.random() < 0.7 else (site.standby, site.owner)
        hub = first or second
        away_s = chance.choice([0.1, 0.5, 2.0, 9.0, 25.0])
        if hub is None:
            return
        match kind:
            case "hub_kill":
                await self._killed([hub], away_s)
            case "hubs_kill" | "power_loss":
                both = [one for one in (first, second) if one is not None]
                await self._killed(both, away_s, forgets=chance.randint(0, 30) if kind == "power_loss" else 0)
            case "hub_stop":
                site.note(f"{hub.name} is asked to stop")
                await asyncio.wait({hub.stop()}, timeout=15.0)
                await self._killed([hub], away_s)
            case "hub_freeze":
                site.note(f"{hub.name} is stopped in time")
                hub.process.freeze()
                await self._woken(hub, chance)
            case "commit_freeze":
                hub.store.stop_at = chance.choice(["before", "after"])
                await self._woken(hub, chance)
            case "line_cut":
                hub.process.cut_off = True
                await asyncio.sleep(chance.choice([0.2, 3.0, 8.0, 20.0]))
                hub.process.cut_off = False
            case "hubs_apart":
                site.apart = True
                await asyncio.sleep(chance.choice([0.5, 5.0, 20.0]))
                site.apart = False
            case _:
                raise AssertionError(f"no such fault: {kind}")

    async def _killed(self, hubs: list[Hub], away_s: float, *, forgets: int = 0) -> None:
        site = self._pair
        for hub in hubs:
            if hub.process.alive:
                site.note(f"{hub.name} is killed")
                site.kill(hub)
        if forgets:
            site.redis.restart(lose_commits=forgets, lose_moves=True)
        await asyncio.sleep(away_s)
        for hub in hubs:
            if site.hubs[hub.name] is hub:
                site.start(hub.name)

    async def _woken(self, hub: Hub, chance: random.Random) -> None:
        await asyncio.sleep(chance.choice(FROZEN_S))
        hub.store.stop_at = ""
        if hub.process.frozen:
            self._pair.note(f"{hub.name} goes on")
            hub.process.thaw()
