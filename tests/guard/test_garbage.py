"""Bytes that are no text, before and after the proof, leave one line that names their sender and no traceback."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect

from tests.edge.test_served import served
from tests.edge.world import Agent, World, Ws
from tests.guard.test_evil_device_wire import Line

GARBAGE: dict[str, Any] = {
    "binary": (b"\x00\xff\xfe garbage", False),
    "text that is no UTF-8": (b'{"n":1,"f":["\xff"]}', True),
    "text cut within a character": ("\u00e9".encode()[:1], True),
    "fragments that are no UTF-8": ([b'{"n":', b"\xc3\x28}"], True),
}


class Served(Agent):
    """An agent over a real socket to the hub in this process."""

    async def reach(self, world: World) -> Ws:
        self.raw = await connect(f"ws://127.0.0.1:{world.hub.settings.port}/aip/v1", proxy=None)
        return Line(self.raw)  # type: ignore[return-value]


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the warnings about sockets; anything worse, or a traceback, is a fault of the hub."""
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize("name", GARBAGE)
async def test_garbage_before_the_proof_is_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    payload, text = GARBAGE[name]
    async with served(tmp_path) as world:
        agent = Served("one")
        await agent.dial(world)
        await agent.raw.send(payload, text=text)
        await agent.raw.wait_closed()
    (line,) = told(caplog)
    assert "event=aip_refused from=127.0.0.1 who=unproved" in line


@pytest.mark.parametrize("name", GARBAGE)
async def test_garbage_after_the_proof_names_its_device(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    payload, text = GARBAGE[name]
    async with served(tmp_path) as world:
        agent = Served("one")
        async with world.client() as http:
            made = (await http.post("/api/v1/enrollments", json={"preapproved": True})).json()
            await http.post("/agent/join", json=agent.ask(made["code"]))
        await agent.connect(world)
        await agent.raw.send(payload, text=text)
        await agent.raw.wait_closed()
        refused = [item for item in world.hub.refusals.latest() if item.device == agent.id]
    (line,) = told(caplog)
    assert f"who=one ({agent.id})" in line
    assert [item.door for item in refused] == ["connect"]
    assert world.hub.refusals.latest()[0].who == "one"


async def test_garbage_on_the_live_socket_is_no_fault_of_the_hub(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(tmp_path) as world:
        for payload, text in GARBAGE.values():
            url = f"ws://127.0.0.1:{world.hub.settings.port}/api/v1/live"
            async with connect(url, proxy=None, origin=world.hub.settings.url) as socket:  # type: ignore[arg-type]
                await socket.send(payload, text=text)
                await socket.wait_closed()
    told(caplog)
