"""A stranger on the hub's or a tunnel's port: a real agent, the real hub beside it, and nothing obeyed."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from starloom_agent.home.directory import AgentHome, Joined
from starloom_agent.home.identity import load_or_make
from tests.edge.test_served import served
from tests.edge.world import World
from tests.guard.false_hub import FalseHub
from tests.waiting import PATIENCE_S

UNPROVED = "cannot prove that it has it"
REASONS = {
    "omits the signature": UNPROVED,
    "names an older version": "which this agent did not offer",
    "signs with another key": UNPROVED,
    "replays a recorded challenge": UNPROVED,
    "passes on what another device was told": UNPROVED,
    "relays": "does not carry the seal of the hub",
}


@asynccontextmanager
async def an_agent(world: World, home: AgentHome, via: int) -> AsyncIterator[asyncio.StreamReader]:
    """Join a device and run its agent, whose tunnel ends at a port that somebody else has taken; yield its log."""
    home.make()
    identity = load_or_make(home.key)
    async with world.client() as http:
        made = (await http.post("/api/v1/enrollments", json={"preapproved": True})).json()
        asked = {"code": made["code"], "key": identity.key, "name": "server", "os": "linux", "profile": "observe"}
        assert (await http.post("/agent/join", json=asked)).json()["state"] == "approved"
    hub = world.hub.settings.url
    home.join(Joined(hub=hub, hub_key=world.hub.key.text, name="server", via=f"127.0.0.1:{via}"))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "starloom_agent", "run", "--home", str(home.root), "--reconnect-most-s", "0.2"),
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        yield process.stderr
    finally:
        process.terminate()
        await process.communicate()


async def said(log: asyncio.StreamReader, words: str) -> str:
    """Return the first line of the log that has these words."""
    lines = []
    async with asyncio.timeout(PATIENCE_S):
        while line := (await log.readline()).decode():
            lines.append(line)
            if words in line:
                return line
    raise AssertionError("".join(lines))


@pytest.mark.parametrize("trick", REASONS)
async def test_t29_a_false_hub_is_not_obeyed(tmp_path: Path, trick: str) -> None:
    async with served(tmp_path) as world:
        false = FalseHub(f"ws://127.0.0.1:{world.hub.settings.port}/aip/v1", trick)
        port = await false.start()
        try:
            async with an_agent(world, AgentHome(tmp_path / "agent"), port) as log:
                async with asyncio.timeout(PATIENCE_S):
                    await false.tried.wait()
                assert false.obeyed == [], "an order of the false hub was carried out"
                assert "trying again in" in await said(log, REASONS[trick])
                assert "prove" not in false.heard, "the device proved its key to a false hub"
        finally:
            await false.stop()
        sha256 = hashlib.sha256(b"").hexdigest()
        for token in false.tokens:
            async with world.client(token) as http:
                assert (await http.head(f"/aip/v1/artifacts/{sha256}")).status_code == 401


async def test_t29_a_token_alone_opens_no_artifact(tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        agent = await world.join("one")
        welcome = await agent.connect(world)
        path = f"/aip/v1/artifacts/{'a' * 64}"
        async with world.client(welcome.http_token) as http:
            assert (await http.head(path)).status_code == 401
        async with agent.http(world, welcome) as proved:
            answer = await proved.head(path)
            assert answer.status_code == 404
            taken = answer.request.headers["Authorization"]
        other = f"/aip/v1/artifacts/{'b' * 64}"
        async with httpx.AsyncClient(base_url=world.hub.settings.url) as http:
            for method, where in (("GET", path), ("HEAD", other), ("PATCH", path)):
                refused = await http.request(method, where, headers={"Authorization": taken})
                assert refused.status_code == 401, (method, where)
