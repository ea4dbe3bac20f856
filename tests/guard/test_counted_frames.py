"""T258: the numbers of a device's frames are counts that disks and pages can keep, whatever it sends."""

from __future__ import annotations

import json
import logging
from typing import Any

import msgspec
import pytest

from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, settle
from tests.guard.sockets import Faults
from tests.guard.test_rights import C, plan

FRAMES: dict[str, dict[str, Any]] = {
    "offset": {"t": "log", "stream": "out", "text": "x"},
    "bytes": {"t": "result", "outcome": "ok", "report": 1, "value": "1"},
}


async def say(agent: Agent, frame: dict[str, Any]) -> None:
    """Send a frame that no agent would make."""
    assert agent.ws is not None
    agent.session._sent += 1
    await agent.ws.send(agent.sealed(json.dumps({"n": agent.session._sent, "f": [frame]})))
    await settle()


@pytest.mark.parametrize("number", [10**300, 2**53 + 1, -1], ids=["no name of a file", "no number of a page", "less"])
@pytest.mark.parametrize("field", FRAMES)
async def test_t258_a_number_that_is_no_count_ends_the_connection(world: World, field: str, number: int) -> None:
    faults = Faults()
    logging.getLogger().addHandler(faults)
    liar = await world.online("liar")
    async with world.client() as http:
        made = (await http.post(C, json={"plan": plan({"id": "look", "tool": "t.one"})})).json()
        at = msgspec.to_builtins((await liar.next(f.Dispatch)).at)
        await say(liar, {**FRAMES[field], "at": at, field: number})
        await world.hub.logs.flush()
        log = await http.get(f"{C}/{made['id']}/tasks/look/attempts/1/log")
    logging.getLogger().removeHandler(faults)
    assert world.hub.fleet.devices[liar.id].link == "offline"
    assert faults.seen == []
    assert (log.status_code, log.json()["end"]) == (200, 0)


async def test_t258_the_largest_count_is_taken(world: World) -> None:
    agent = await world.online("srv")
    async with world.client() as http:
        await http.post(C, json={"plan": plan({"id": "look", "tool": "t.one"})})
        at = msgspec.to_builtins((await agent.next(f.Dispatch)).at)
        for field, frame in FRAMES.items():
            await say(agent, {**frame, "at": at, field: 2**53})
    assert world.hub.fleet.devices[agent.id].link == "online"
