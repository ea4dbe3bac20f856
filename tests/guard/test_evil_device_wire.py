"""The device that lies, against a real hub process over a real socket: a small part of what runs in this process."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from starloom.client.rest import Client
from starloom_protocol.wire import frames as f
from starloom_protocol.wire.frames import LeaseRef
from tests.edge.world import Agent, World, Ws, an_offer
from tests.guard.evil_device import Lies
from tests.installation import Installation
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.test

CONNECTIONS = 50


class Line:
    """A real socket with the few calls of the one in memory that an agent of the tests uses."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def send(self, text: str) -> None:
        await self._socket.send(text)

    async def receive(self) -> str:
        try:
            return str(await asyncio.wait_for(self._socket.recv(), PATIENCE_S))
        except ConnectionClosed as closed:
            raise ConnectionError(str(closed)) from closed

    async def leave(self) -> None:
        await self._socket.close()


class RealAgent(Agent):
    """An agent that dials a real hub."""

    def __init__(self, name: str, client: Client, profile: str) -> None:
        super().__init__(name)
        self._url = client.address.url
        self._profile = profile
        made = client.post("/enrollments", {"preapproved": True, "profile_most": profile})
        answer = client._http.post("/agent/join", json=self.ask(made["code"]))
        assert answer.json()["state"] == "approved", answer.text

    def ask(self, code: str) -> dict[str, Any]:
        return super().ask(code) | {"profile": self._profile}

    async def reach(self, world: World) -> Ws:
        url = self._url.replace("http", "ws", 1) + "/aip/v1"
        return Line(await connect(url, max_size=2**22, proxy=None))  # type: ignore[return-value]


async def lie(agent: RealAgent, lies: Lies, seed: int) -> int:
    """Send messages until the hub ends the connection or all were sent; return how many."""
    chance = random.Random(seed)
    await agent.connect(None, offer=an_offer("t.look"))  # type: ignore[arg-type]
    assert agent.ws is not None
    sent = 0
    for turn in range(6):
        frame = lies.message(chance, over=False) if turn else lies.first(seed, chance)
        agent.session._sent += 1
        try:
            await agent.ws.send(agent.sealed(json.dumps({"n": agent.session._sent, "f": [frame]})))
        except ConnectionClosed:
            break
        sent += 1
    await agent.ws.leave()
    return sent


def test_a_real_hub_lets_a_lying_device_change_nothing(tmp_path: Path) -> None:
    hub = Installation(tmp_path / "home")
    try:
        hub.up("--no-agent")
        victim, evil = RealAgent("victim", hub.client, "operate"), RealAgent("evil", hub.client, "observe")
        asyncio.run(_besiege(hub.client, victim, evil))
        refused = [row for row in hub.client.get("/enrollments")["refused"] if row["who"] == "evil"]
        log = "\n".join(path.read_text(errors="replace") for path in (tmp_path / "home" / "logs").glob("*.log"))
    finally:
        hub.close()
    assert sum(row["times"] for row in refused if row["door"] == "connect") > 10
    assert f"who=evil ({evil.id})" in log
    assert "Traceback" not in log


async def _besiege(client: Client, victim: RealAgent, evil: RealAgent) -> None:
    plan = {"starloom": 1, "name": "dump", "tasks": [{"id": "dump", "tool": "t.dump"}]}
    mine = {"starloom": 1, "name": "look", "tasks": [{"id": "look", "tool": "t.look"}]}
    await victim.connect(None, offer=an_offer("t.dump"))  # type: ignore[arg-type]
    await evil.connect(None, offer=an_offer("t.look"))  # type: ignore[arg-type]
    of_others = (await asyncio.to_thread(client.post, "/constellations", {"plan": plan}))["id"]
    await asyncio.to_thread(client.post, "/constellations", {"plan": mine})
    theirs: LeaseRef = (await victim.next(f.Dispatch)).at
    own: LeaseRef = (await evil.next(f.Dispatch)).at
    before = await asyncio.to_thread(client.get, f"/constellations/{of_others}")
    assert victim.ws is not None
    assert evil.ws is not None
    await evil.ws.leave()
    try:
        lies, sent = Lies(own, [theirs], "ab" * 32), 0
        for seed in range(CONNECTIONS):
            sent += await lie(evil, lies, seed)
        assert sent > CONNECTIONS
    finally:
        await victim.ws.leave()
    after = await asyncio.to_thread(client.get, f"/constellations/{of_others}")
    assert after == before
    work = await asyncio.to_thread(client.get, f"/constellations/{own.constellation}")
    assert [task["id"] for task in work["tasks"]] == ["look"]
    assert work["version"] == 1
