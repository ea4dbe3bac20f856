"""One schedule, played: a script decides the plans, the faults and every delay; the same script gives the same run."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field

from tests.sim.bounds import Bounds
from tests.sim.client import Client, Told
from tests.sim.faults import Chaos, LoneChaos
from tests.sim.hub import Site
from tests.sim.minds.oracle import changed_hubs
from tests.sim.minds.oracle import judge as judge_minds
from tests.sim.minds.people import Asked
from tests.sim.minds.site import MindPairSite, MindSite
from tests.sim.oracle import judge
from tests.sim.pair import PairSite
from tests.sim.pair_faults import PairChaos
from tests.sim.people.faults import PeopleChaos
from tests.sim.people.oracle import judge as judge_people
from tests.sim.people.pair import PeoplePairSite
from tests.sim.people.persons import Person
from tests.sim.people.site import Peopled, PeopleSite
from tests.sim.script import Act, Script, draw
from tests.sim.surroundings import Surroundings
from tests.sim.virtual import run

PATIENCE_S = 12_000.0
"""A family of three that breaks the one device it may run on has nine tries, each after two pauses of ten minutes."""
PATIENT = "p0"


@dataclass
class Outcome:
    """What a schedule came to. `events` is the length of its log, a fingerprint of the run; `told` is its story.

    `changed_hubs` counts the goals that more than one owner of the shard carried on.
    """

    seed: int
    faults: int
    violations: list[str]
    events: int
    virtual_s: float
    changed_hubs: int = 0
    told: list[tuple[float, str]] = field(default_factory=list, compare=False, repr=False)
    streams: dict[str, list[bytes]] = field(default_factory=dict, compare=False, repr=False)


async def _act_all(site: Surroundings, script: Script, told: Told) -> list[Client]:
    """Do what people do, each at its moment."""
    loop = asyncio.get_running_loop()
    clients = []
    async with asyncio.TaskGroup() as group:
        for act in script.acts:
            await asyncio.sleep(max(0.0, act.at_s - loop.time()))
            site.note(f"{act.person} {act.kind} #{act.number}")
            clients.append(_client(site, script, act, told))
            group.create_task(clients[-1].do())
    return clients


def _client(site: Surroundings, script: Script, act: Act, told: Told) -> Client:
    if isinstance(site, Peopled):
        return Person(site, act, told)
    return (Asked if script.minds else Client)(site, act, told)


async def _schedule(script: Script) -> Outcome:
    loop = asyncio.get_running_loop()
    chance = random.Random(script.seed + 1)
    site: Surroundings
    chaos: Chaos
    if script.hubs == 2:
        if script.people:
            pair: PairSite = PeoplePairSite(chance, script.devices)
        elif script.minds:
            pair = MindPairSite(chance, script.devices, script.seed)
        else:
            pair = PairSite(chance, script.devices)
        site = pair
        chaos = PairChaos(pair, script.faults)
    elif script.people:
        site = people = PeopleSite(chance, script.devices)
        chaos = PeopleChaos(people, script.faults)
    else:
        site = lone = MindSite(chance, script.devices, script.seed) if script.minds else Site(chance, script.devices)
        chaos = LoneChaos(lone, script.faults)
    told = site.told_of if isinstance(site, Peopled) else Told()
    try:
        await site.start_hubs()
        await site.furnish()
        for device in site.agents:
            await site.join(device)
            site.boot_agent(device)
        async with asyncio.TaskGroup() as group:
            group.create_task(chaos.run())
            acting = group.create_task(_act_all(site, script, told))
        clients = acting.result()
        site.heal()
        site.note("nothing is broken any more")
        bounds = Bounds(site)
        if clients:
            # One more request: a hub that has nothing to commit need not notice that Redis was replaced.
            await clients[0].submit()
        watching = loop.create_task(bounds.watch())
        while loop.time() < PATIENCE_S:
            if clients:
                await clients[0].finish()
            await asyncio.sleep(3.0)
            if site.is_over():
                break
        # Reports that are still under way, and the projector.
        await asyncio.sleep(30.0)
        # A tool that does not listen goes on after its task was given up, and then has something to report; where the
        # hub's clock was set back, what is finished is kept for longer.
        for _ in range(300):
            if not site.busy():
                break
            await asyncio.sleep(1.0)
        # What a timer has done in the last moment reaches the history a moment later.
        for _ in range(300):
            engine = site.engine
            if engine is not None and engine.pos == site.redis.pos == site.history.meta.watermark:
                break
            await asyncio.sleep(0.1)
        watching.cancel()
        await asyncio.wait({watching})
        violations = [*site.ended(), *site.violations]
        if site.engine is not None:
            restores = site.heeded.restores if isinstance(site, Peopled) else []
            lives_from = restores[-1].incarnation if restores else 0
            found = judge(site.engine.shard, site.redis, site.history, site.world, told, lives_from=lives_from)
            violations += [*bounds.violations, *site.left(), *found]
            if isinstance(site, MindSite | MindPairSite):
                violations += judge_minds(site.history, site.world, site.workers.said)
            if isinstance(site, Peopled):
                violations += judge_people(site.history, site.world, site.heeded, site.owners)
        streams = site.history.streams
        events = sum(len(raws) for raws in streams.values())
        changed = changed_hubs(site.history) if script.minds else 0
        return Outcome(script.seed, chaos.count, violations, events, loop.time(), changed, site.told, streams)
    finally:
        await site.close()


def play(script: Script) -> Outcome:
    """Play a schedule in a loop of its own."""
    try:
        outcome, faults = run(_schedule(script))
    except Exception as error:
        return Outcome(script.seed, len(script.faults), [f"the schedule ended: {error!r}"], 0, 0.0)
    assert isinstance(outcome, Outcome)
    outcome.violations.extend(faults)
    return outcome


def run_seed(seed: int) -> Outcome:
    """Draw the schedule of a seed and play it."""
    return play(draw(seed))
