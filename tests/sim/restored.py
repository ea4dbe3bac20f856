"""A history is put back to an earlier moment while its devices go on, as when a backup is restored; played by seed.

People only submit, so that nothing but the hub itself asks for work a second time.
"""

from __future__ import annotations

import asyncio
import copy
import random
from dataclasses import dataclass, field

from starloom_protocol.vocabulary import Repeatability
from tests.sim.client import Client, Told
from tests.sim.hub import Site
from tests.sim.script import Act
from tests.sim.virtual import run
from tests.store.memory import MemoryHistory

PATIENCE_S = 3_000.0


@dataclass
class Restored:
    """What came of it: work begun twice on one device, what the owner was told, what never ended."""

    seed: int
    repeated: list[str] = field(default_factory=list)
    forgotten: int = 0
    refused: int = 0
    told: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


def put_back(history: MemoryHistory, before: MemoryHistory) -> None:
    """Give a history the rows of an earlier moment; its hubs hold the object itself."""
    for name, value in vars(copy.deepcopy(before)).items():
        setattr(history, name, value)


async def _restore(seed: int) -> Restored:
    chance = random.Random(seed)
    site, made = Site(chance, ("one", "two")[: chance.randint(1, 2)]), Restored(seed)
    told = Told()
    try:
        await site.start_hubs()
        for device in site.agents:
            await site.join(device)
            site.boot_agent(device)
        clients = [Client(site, Act(0.0, "submit", "p0", at, chance.getrandbits(32)), told) for at in range(6)]
        for client in clients[:4]:
            await client.do()
        await asyncio.sleep(chance.uniform(0.0, 4.0))
        before = copy.deepcopy(site.history)
        for client in clients[4:]:
            await client.do()
        await asyncio.sleep(chance.uniform(1.0, 30.0))
        if chance.random() < 0.5:
            site.redis.restart(lose_moves=False)
            await asyncio.sleep(chance.uniform(0.5, 10.0))
        await site.kill_hub()
        if chance.random() < 0.3:
            device = chance.choice(list(site.agents))
            site.crash_agent(device)
            site.boot_agent(device)
        known = sum(len(raws) for raws in before.streams.values())
        made.forgotten = sum(len(raws) for raws in site.history.streams.values()) - known
        put_back(site.history, before)
        site.redis.wipe()
        await site.start_hub()
        loop = asyncio.get_running_loop()
        while loop.time() < PATIENCE_S:
            await asyncio.sleep(3.0)
            await clients[0].finish()
            if site.engine is not None and not site.engine.shard.live:
                break
        made.violations = [*site.violations, *site.ended()]
        if site.engine is not None:
            made.violations += [f"{name} did not end" for name in site.engine.shard.live]
            made.told = [device.remembers for device in site.engine.shard.fleet.devices.values() if device.remembers]
        begun: dict[tuple[str, str, str], int] = {}
        for _at_s, device, at, repeatability in site.world.begun:
            if repeatability == Repeatability.NEVER:
                key = (device, at.constellation, at.task)
                begun[key] = begun.get(key, 0) + 1
        made.repeated = ["/".join(key) for key, times in begun.items() if times > 1]
        made.refused = site.world.remembered
        return made
    finally:
        await site.close()


def restore(seed: int) -> Restored:
    """Play one seed in a loop of its own."""
    made, faults = run(_restore(seed))
    assert isinstance(made, Restored)
    made.violations.extend(faults)
    return made
