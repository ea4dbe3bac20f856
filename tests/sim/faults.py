"""Carries out the faults of a schedule at the simulated ports: network, Redis, SQL, disks, clocks, processes."""

from __future__ import annotations

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import Sequence

from starloom.core.state.inputs import ConditionReceived
from starloom_protocol.vocabulary import Courtesy, CourtesyCause, DeviceFact
from tests.sim.hub import Site
from tests.sim.minds.site import MindPairSite, MindSite
from tests.sim.script import Fault
from tests.sim.surroundings import Surroundings
from tests.store.memory import CommitFailure

STORES = (
    "redis_restart",
    "redis_cut",
    "redis_wipe",
    "redis_down",
    "redis_doubt",
    "commit_lost",
    "history_down",
    "history_doubt",
    "history_slow",
)


class Chaos(ABC):
    """Each fault at its moment, mended after a while; `count` is how many there were."""

    def __init__(self, site: Surroundings, faults: Sequence[Fault]) -> None:
        self.site = site
        self._faults = faults
        self.count = 0

    async def run(self) -> None:
        """Return when the last one is mended."""
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            for fault in self._faults:
                await asyncio.sleep(max(0.0, fault.at_s - loop.time()))
                self.count += 1
                self.site.note(f"fault {fault.kind} ({fault.device})")
                group.create_task(self._one(fault, fault.chance()))

    async def _one(self, fault: Fault, chance: random.Random) -> None:
        match fault.kind:
            case "agent_crash" | "agent_power_loss" | "disk_full" | "link_cut" | "partition" | "duplicate":
                await self._device(fault, chance)
            case "courtesy":
                await self._courtesy(fault.device, chance)
            case "worker_kill" | "worker_stop":
                self._workers(fault.kind, chance)
            case "clock_jump":
                self.site.clock.jump(chance.choice([-40.0, -3.0, 3.0, 40.0]))
            case "clock_leap":
                self.site.clock.jump(chance.choice([300.0, 3_600.0, 30 * 3_600.0]))
            case "slow_net":
                self.site.net.slow_s = chance.choice([0.02, 0.5, 2.0])
            case kind if kind in STORES:
                await self._store(kind, chance)
            case kind:
                await self._hubs(kind, chance)

    @abstractmethod
    async def _hubs(self, kind: str, chance: random.Random) -> None:
        """Break a hub, or what only an installation with so many hubs has."""

    async def _store(self, kind: str, chance: random.Random) -> None:
        site = self.site
        match kind:
            case "redis_restart":
                site.redis.restart(lose_moves=chance.random() < 0.5)
            case "redis_cut":
                site.redis.restart(lose_commits=chance.randint(1, 6))
            case "redis_wipe":
                site.redis.wipe()
            case "redis_down":
                site.redis.down = True
                await asyncio.sleep(chance.choice([0.2, 0.5, 8.0]))
                site.redis.down = False
            case "redis_doubt":
                site.doubts.redis += chance.randint(1, 3)
            case "commit_lost":
                site.redis.failures.append(chance.choice(list(CommitFailure)))
            case "history_down":
                site.history.down = True
                await asyncio.sleep(chance.choice([0.2, 0.5, 8.0, 20.0]))
                site.history.down = False
            case "history_doubt":
                site.doubts.history += chance.randint(1, 3)
            case "history_slow":
                site.doubts.slow_s = chance.choice([0.3, 2.5])
                await asyncio.sleep(chance.choice([1.0, 6.0]))
                site.doubts.slow_s = 0.0
            case _:
                raise AssertionError(f"no such fault: {kind}")

    def _workers(self, kind: str, chance: random.Random) -> None:
        assert isinstance(self.site, MindSite | MindPairSite)
        if kind == "worker_kill":
            self.site.workers.kill()
        else:
            # Shorter than a claim holds, and longer.
            self.site.workers.stop(chance.choice([2.0, 14.0, 17.0, 30.0]))

    async def _courtesy(self, device: str, chance: random.Random) -> None:
        """The owner sits down at a device that has a rule, and leaves it again."""
        await self._says(device, chance.choice([Courtesy.NO, Courtesy.LESS]))
        await asyncio.sleep(chance.choice([1.0, 10.0, 40.0]))
        left = await self._says(device, Courtesy.YES)
        while not left:
            await asyncio.sleep(1.0)
            left = await self._says(device, Courtesy.YES)

    async def _says(self, device: str, courtesy: Courtesy) -> bool:
        """Let a device say its courtesy on its present session; False if no hub has taken it."""
        engine = self.site.engine
        known = engine.shard.fleet.devices.get(device) if engine is not None else None
        if engine is None or known is None:
            return False
        facts = {DeviceFact.COURTESY.value: courtesy.value, DeviceFact.COURTESY_WHY.value: CourtesyCause.IN_USE.value}
        said = ConditionReceived(
            id=self.site.ident(), by=f"device:{device}", device=device, facts=facts, session=known.session
        )
        reply = await self.site.ask(said)
        return reply is not None and not reply.faults

    async def _device(self, fault: Fault, chance: random.Random) -> None:
        site, device = self.site, fault.device
        agent = site.agents[device]
        match fault.kind:
            case "agent_crash" | "agent_power_loss":
                # What was not flushed is gone either way; a machine without power is away for longer.
                site.crash_agent(device)
                away_s = [0.2, 0.2, 4.0] if fault.kind == "agent_crash" else [4.0, 18.0, 45.0]
                await asyncio.sleep(chance.choice(away_s))
                if not agent.alive:
                    site.boot_agent(device)
            case "disk_full":
                agent.ledger.full += 1
                await asyncio.sleep(chance.choice([0.5, 3.0, 12.0]))
                agent.ledger.full -= 1
            case "link_cut":
                site.net.cut_device(device)
            case "duplicate":
                site.net.repeat(device, chance.choice([1, 2, 6]))
            case "partition":
                site.net.cut_off.add(device)
                await asyncio.sleep(chance.choice([1.0, 10.0, 30.0, 60.0]))
                site.net.cut_off.discard(device)
                site.net.cut_device(device)


class LoneChaos(Chaos):
    """With the faults of a hub that is alone."""

    def __init__(self, site: Site, faults: Sequence[Fault]) -> None:
        super().__init__(site, faults)
        self._site = site
        self._hub = asyncio.Lock()

    async def _hubs(self, kind: str, chance: random.Random) -> None:
        async with self._hub:
            await self._hub_gone(kind, chance)

    async def _hub_gone(self, kind: str, chance: random.Random) -> None:
        site = self._site
        if kind == "takeover":
            # The other hub believes the owner dead; it is not, and finds out by its next commit.
            await site.take_over(alive_s=chance.choice([0.0, 0.5, 6.0]))
            return
        if kind == "late_power_loss":
            # SQL falls behind first, so that there is much for Redis to forget.
            site.history.down = True
            await asyncio.sleep(chance.choice([1.0, 5.0]))
        await site.kill_hub()
        site.history.down = False
        if kind != "hub_crash":
            # A whole machine: Redis forgets what was not synced, whether SQL has it or not.
            site.redis.restart(lose_commits=chance.randint(0, 30), lose_moves=chance.random() < 0.5)
        await asyncio.sleep(chance.choice([0.1, 0.5, 2.0, 25.0]))
        await site.start_hub()
