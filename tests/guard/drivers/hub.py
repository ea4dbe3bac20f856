"""A hub that is not the hub, where a real agent looks for its own; the real hub stands beside it."""

from __future__ import annotations

import asyncio
import hashlib
import random
import sys
from pathlib import Path

import httpx
import msgspec

from starloom.host.agents import LocalAgent, join
from starloom_agent.home.directory import AgentHome
from starloom_protocol.vocabulary import Profile
from tests.guard.drivers.tally import AttackTally, Stopwatch
from tests.guard.false_hub import FalseHub
from tests.guard.test_false_hub import REASONS
from tests.installation import Installation
from tests.waiting import PATIENCE_S

NAME = "server"


def drive(home: Path, clock: Stopwatch, seed: int) -> AttackTally:
    hub, tally = Installation(home), AttackTally()
    try:
        hub.up("--no-agent")
        asyncio.run(_besiege(hub, clock, random.Random(seed), tally))
        devices = hub.client.get("/devices")["items"]
        tally.effects += [f"{item['name']} is online" for item in devices if item["link"] == "online"]
    finally:
        hub.close()
    return tally


async def _besiege(hub: Installation, clock: Stopwatch, chance: random.Random, tally: AttackTally) -> None:
    url = hub.client.address.url
    agent = LocalAgent(hub.home / "agent", NAME, url, Profile.OBSERVE, ())
    await join(hub.client, agent)
    false = FalseHub(url.replace("http", "ws", 1) + "/aip/v1", chance.choice(list(REASONS)))
    port = await false.start()
    home = AgentHome(agent.home)
    joined = home.joined()
    home.join(msgspec.structs.replace(joined, via=f"127.0.0.1:{port}"))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "starloom_agent", "run", "--home", str(home.root), "--reconnect-most-s", "0.2"),
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        while not clock.over() or not tally.attacks:
            tricks = list(REASONS)
            for trick in chance.sample(tricks, len(tricks)):
                await _one(false, trick, process.stderr, tally)
    finally:
        process.terminate()
        await process.communicate()
        await false.stop()
    tally.effects += [f"it obeyed: {frame}" for frame in false.obeyed]
    tally.effects += [f"it said {frame} of itself" for frame in false.heard if frame == "prove"]
    sha256 = hashlib.sha256(b"").hexdigest()
    async with httpx.AsyncClient(base_url=url, trust_env=False) as http:
        for token in set(false.tokens):
            headers = {"Authorization": f"Bearer {token}"}
            if (await http.head(f"/aip/v1/artifacts/{sha256}", headers=headers)).status_code != 401:
                tally.effects.append("a token that was overheard opens artifacts")


async def _one(false: FalseHub, trick: str, log: asyncio.StreamReader, tally: AttackTally) -> None:
    """Wait until the agent has met this trick and says why it is gone."""
    false.trick = trick
    false.tried.clear()
    lines: list[str] = []
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not lines or REASONS[trick] not in lines[-1] or "trying again in" not in lines[-1]:
                lines.append((await log.readline()).decode())
                if not lines[-1]:
                    raise AssertionError("the agent has ended")
            await false.tried.wait()
    except TimeoutError:
        raise AssertionError(f"the agent does not say that it left for {trick}: {lines[-5:]}") from None
    tally.attacks += 1
    tally.refuse(NAME, trick)
