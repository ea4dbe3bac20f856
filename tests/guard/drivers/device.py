"""A joined device that lies about the work of another, over real sockets to a real hub."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from pathlib import Path
from typing import Any

from starloom.client.rest import Client
from starloom.client.routes import get_audit
from starloom_protocol.wire import frames as f
from starloom_protocol.wire.frames import LeaseRef
from tests.edge.world import an_offer
from tests.guard.drivers.tally import AttackTally, Stopwatch
from tests.guard.evil_device import Lies
from tests.guard.test_evil_device_wire import RealAgent, lie
from tests.installation import Installation
from tests.waiting import until

ALIVE_S = 2.0
_TOOLS = ("dump", "look")


def drive(home: Path, clock: Stopwatch, seed: int) -> AttackTally:
    hub, tally = Installation(home), AttackTally()
    try:
        hub.up("--no-agent")
        victim, evil = RealAgent("victim", hub.client, "operate"), RealAgent("evil", hub.client, "observe")
        asyncio.run(_besiege(hub.client, victim, evil, clock, seed, tally))
        rows = [row for row in hub.client.get("/enrollments")["refused"] if row["who"] == evil.name]
        for row in rows:
            tally.refused[str(row["who"]), f"{row['door']}: {row['code']}"] += int(row["times"])
            if not row["reason"]:
                tally.unlogged.append(f"{row['door']} {row['code']} has no reason")
        audited = [row for row in hub.client.pages(get_audit(), most=5_000) if row["kind"] == "refused"]
        if not any(evil.id in row["by"] and row["note"] for row in audited):
            tally.unlogged.append("the log of the hub's people names the device nowhere")
        log = hub.log("hub", 10**6)
        if "Traceback" in log:
            tally.effects.append("the hub's log has a traceback")
    finally:
        hub.close()
    return tally


async def _besiege(
    client: Client, victim: RealAgent, evil: RealAgent, clock: Stopwatch, seed: int, tally: AttackTally
) -> None:
    plans = {name: {"starloom": 1, "name": name, "tasks": [{"id": name, "tool": f"t.{name}"}]} for name in _TOOLS}
    await victim.connect(None, offer=an_offer("t.dump"))  # type: ignore[arg-type]
    await evil.connect(None, offer=an_offer("t.look"))  # type: ignore[arg-type]
    works = {
        name: str((await asyncio.to_thread(client.post, "/constellations", {"plan": plan}))["id"])
        for name, plan in plans.items()
    }
    theirs = (await victim.next(f.Dispatch)).at
    own = (await evil.next(f.Dispatch)).at
    assert victim.ws is not None
    assert evil.ws is not None
    await evil.ws.leave()
    await victim.send(f.Started(at=theirs, report=1))
    working = asyncio.create_task(_work(victim, theirs))
    before = await _running(client, works["dump"])
    lies = Lies(own, [theirs], "ab" * 32)
    try:
        for number in itertools.count(seed):
            tally.attacks += await lie(evil, lies, number)
            if clock.over():
                break
        after = await asyncio.to_thread(client.get, f"/constellations/{works['dump']}")
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        await victim.ws.leave()
    if after != before:
        changed = {name: (before[name], after[name]) for name in before if before[name] != after[name]}
        tally.effects.append(f"the victim's work changed: {changed}")
    mine = await asyncio.to_thread(client.get, f"/constellations/{works['look']}")
    if ([task["id"] for task in mine["tasks"]], mine["version"]) != (["look"], 1):
        tally.effects.append(f"its own plan is {mine}")


async def _work(victim: RealAgent, at: LeaseRef) -> None:
    """Say that the work goes on, as often as an agent does, and take what the hub sends."""
    assert victim.ws is not None
    while True:
        await victim.send(f.Alive(running=[at], sent_ms=0))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ALIVE_S):
                while True:
                    await victim.ws.receive()


async def _running(client: Client, constellation: str) -> dict[str, Any]:
    """Return the victim's work as soon as it runs."""

    def look() -> dict[str, Any] | None:
        found: dict[str, Any] = client.get(f"/constellations/{constellation}")
        return found if found["tasks"][0]["state"] == "running" else None

    found = await asyncio.to_thread(until, look, "the victim's work runs")
    assert isinstance(found, dict)
    return found
