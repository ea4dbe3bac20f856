"""A joined device that lies about how it fares, over real sockets to a real hub, beside one that tells the truth."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

from websockets.exceptions import ConnectionClosed

from starloom.client.rest import Client
from starloom_protocol.wire import frames as f
from tests.guard.drivers.tally import AttackTally, Stopwatch, differences, state_of
from tests.guard.lying_figures import broken, flood, impossible
from tests.guard.test_evil_device_wire import RealAgent
from tests.installation import Installation
from tests.waiting import until

_TRUE = {"load_percent": 7, "memory_percent": 8, "disk_percent": 9, "battery_percent": 10}


def drive(home: Path, clock: Stopwatch, seed: int) -> AttackTally:
    hub, tally = Installation(home), AttackTally()
    try:
        hub.up("--no-agent")
        honest, evil = RealAgent("honest", hub.client, "observe"), RealAgent("evil", hub.client, "observe")
        before = state_of(hub.client)
        asyncio.run(_besiege(hub.client, honest, evil, clock, seed, tally))
        tally.effects += differences(before, state_of(hub.client))
        rows = [row for row in hub.client.get("/enrollments")["refused"] if row["who"] == evil.name]
        for row in rows:
            tally.refused[str(row["who"]), f"{row['door']}: {row['code']}"] += int(row["times"])
        if tally.attacks and not rows:
            tally.unlogged.append("no refusal of the lying device is told")
        if "Traceback" in hub.log("hub", 10**6):
            tally.effects.append("the hub's log has a traceback")
    finally:
        hub.close()
    return tally


async def _besiege(
    client: Client, honest: RealAgent, evil: RealAgent, clock: Stopwatch, seed: int, tally: AttackTally
) -> None:
    await honest.connect(None)  # type: ignore[arg-type]
    await honest.send(f.VitalsFrame(**_TRUE))
    lines = await asyncio.to_thread(until, lambda: _lines(client, honest), "the honest device has lines")
    chance = random.Random(seed)
    while True:
        await evil.connect(None)  # type: ignore[arg-type]
        for _ in range(20):
            await _say(evil, impossible(chance))
        await evil.send(*flood())
        await _say(evil, broken(chance))
        tally.attacks += 22
        assert evil.ws is not None
        await evil.ws.leave()
        if clock.over():
            break
    for line in (await asyncio.to_thread(_lines, client, evil)).values():
        if any(value is not None and not 0 <= value <= 10_000 for value in line) or len(line) > 120:
            tally.effects.append(f"a lie has become a point: {line}")
    after = await asyncio.to_thread(_lines, client, honest)
    if {name: line[: len(lines[name])] for name, line in after.items()} != lines:
        tally.effects.append(f"the lines of the honest device were {lines} and are {after}")
    assert honest.ws is not None
    await honest.ws.leave()


def _lines(client: Client, agent: RealAgent) -> dict[str, Any]:
    told: dict[str, Any] = client.get("/vitals", device=agent.id)["items"][0]["lines"]
    return told


async def _say(agent: RealAgent, frame: str) -> None:
    assert agent.ws is not None
    agent.session._sent += 1
    try:
        await agent.ws.send(agent.sealed(f'{{"n":{agent.session._sent},"f":[{frame}]}}'))
    except ConnectionClosed:
        return
