"""One schedule: a seed decides the plans, the faults and every delay; the same seed gives the same run."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

from starloom.store.memory import CommitFailure
from tests.sim.client import Client, Told
from tests.sim.hub import Site
from tests.sim.oracle import judge
from tests.sim.virtual import run

CHAOS_S = 90.0
PATIENCE_S = 4_000.0
FAULTS = (
    "hub_crash",
    "hub_crash",
    "redis_restart",
    "redis_cut",
    "power_loss",
    "late_power_loss",
    "late_power_loss",
    "redis_wipe",
    "redis_down",
    "history_down",
    "commit_lost",
    "agent_crash",
    "agent_crash",
    "link_cut",
    "link_cut",
    "partition",
    "slow_net",
)


@dataclass
class Outcome:
    """What a schedule came to. `events` is the length of its log, a fingerprint of the run."""

    seed: int
    faults: int
    violations: list[str]
    events: int
    virtual_s: float


class Chaos:
    """Faults at random moments, each mended after a while."""

    def __init__(self, site: Site, chance: random.Random) -> None:
        self.site = site
        self._chance = chance
        self.count = 0
        self._hub = asyncio.Lock()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        moments = sorted(self._chance.uniform(0.5, CHAOS_S) for _ in range(self._chance.randint(0, 9)))
        async with asyncio.TaskGroup() as group:
            for moment in moments:
                await asyncio.sleep(max(0.0, moment - loop.time()))
                self.count += 1
                group.create_task(self._one(self._chance.choice(FAULTS)))

    async def _one(self, fault: str) -> None:
        chance, site = self._chance, self.site
        device = chance.choice(list(site.agents))
        match fault:
            case "hub_crash" | "power_loss" | "late_power_loss":
                async with self._hub:
                    if fault == "late_power_loss":
                        # SQL falls behind first, so that there is much for Redis to forget.
                        site.history.down = True
                        await asyncio.sleep(chance.choice([1.0, 5.0]))
                    await site.kill_hub()
                    site.history.down = False
                    if fault != "hub_crash":
                        # A whole machine: Redis forgets what was not synced, whether SQL has it or not.
                        site.redis.restart(lose_commits=chance.randint(0, 30), lose_moves=chance.random() < 0.5)
                    await asyncio.sleep(chance.choice([0.1, 2.0, 25.0]))
                    await site.start_hub()
            case "redis_restart":
                site.redis.restart(lose_moves=chance.random() < 0.5)
            case "redis_cut":
                site.redis.restart(lose_commits=chance.randint(1, 6))
            case "redis_wipe":
                site.redis.wipe()
            case "redis_down":
                site.redis.down = True
                await asyncio.sleep(chance.choice([0.5, 8.0]))
                site.redis.down = False
            case "history_down":
                site.history.down = True
                await asyncio.sleep(chance.choice([0.5, 8.0, 20.0]))
                site.history.down = False
            case "commit_lost":
                site.redis.failures.append(chance.choice(list(CommitFailure)))
            case "agent_crash":
                site.crash_agent(device)
                await asyncio.sleep(chance.choice([0.2, 4.0, 45.0]))
                if not site.agents[device].alive:
                    site.boot_agent(device)
            case "link_cut":
                site.net.cut_device(device)
            case "partition":
                site.net.cut_off.add(device)
                await asyncio.sleep(chance.choice([1.0, 10.0, 30.0, 60.0]))
                site.net.cut_off.discard(device)
                site.net.cut_device(device)
            case "slow_net":
                site.net.slow_s = chance.choice([0.02, 0.5, 2.0])


async def _schedule(seed: int) -> Outcome:
    chance = random.Random(seed)
    loop = asyncio.get_running_loop()
    site = Site(chance, ["one", "two", "three"][: chance.randint(1, 3)])
    told = Told()
    try:
        await site.start_hub()
        for device in site.agents:
            await site.join(device)
            site.boot_agent(device)
        clients = [Client(site, f"p{n}", random.Random(chance.getrandbits(32)), told) for n in range(2)]
        chaos = Chaos(site, random.Random(chance.getrandbits(32)))
        async with asyncio.TaskGroup() as group:
            group.create_task(chaos.run())
            for client in clients:
                group.create_task(client.live(CHAOS_S))
        site.net.slow_s = 0.02
        # One more request: a hub that has nothing to commit need not notice that Redis was replaced.
        await clients[0].submit()
        while loop.time() < PATIENCE_S:
            await clients[0].finish()
            await asyncio.sleep(3.0)
            if site.engine is not None and not site.engine.shard.live:
                break
        # Reports that are still under way, and the projector.
        await asyncio.sleep(30.0)
        engine = site.engine
        violations = list(site.violations)
        if engine is None:
            violations.append("no hub runs at the end")
        else:
            site._look_at(engine)
            violations = [*site.violations, *judge(engine.shard, site.redis, site.history, site.world, told)]
        return Outcome(
            seed, chaos.count, violations, sum(len(raws) for raws in site.history.streams.values()), loop.time()
        )
    finally:
        await site.close()


def run_seed(seed: int) -> Outcome:
    """Run one schedule in a loop of its own."""
    try:
        outcome, faults = run(_schedule(seed))
    except Exception as error:
        return Outcome(seed, 0, [f"the schedule ended: {error!r}"], 0, 0.0)
    assert isinstance(outcome, Outcome)
    outcome.violations.extend(faults)
    return outcome
