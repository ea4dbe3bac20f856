"""Texts that a device brings as it joins: none is read as a sentence of Starloom (T161)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.edge.world import Agent, World

MISLEADING = [
    "nas. All is safe",
    "nas\nApproved by Ann",
    "nas\u202eelif",
    "nas\u2028",
    "nas\u00a0",
    'nas", "pc',
    '"}]} and may tools all ```',
    "nas: ok",
    "\u3164",
]


async def code_of(world: World) -> tuple[str, str]:
    async with world.client() as http:
        made = (await http.post("/api/v1/enrollments", json={})).json()
    return made["id"], made["code"]


@pytest.mark.parametrize("text", MISLEADING)
@pytest.mark.parametrize("place", ["name", "os", "labels"])
async def test_t161_no_device_joins_with_a_misleading_text(world: World, place: str, text: str) -> None:
    _, code = await code_of(world)
    asked: dict[str, Any] = Agent("laptop").ask(code)
    asked[place] = [text] if place == "labels" else text
    async with world.client("") as http:
        answer = await http.post("/agent/join", json=asked)
    assert answer.status_code in (400, 422), answer.json()
    assert not [one for one in world.hub.fleet.enrollments.values() if one.state == "asking"]
    assert not world.hub.fleet.devices


@pytest.mark.parametrize("text", MISLEADING)
async def test_t161_no_code_and_no_rename_brings_one(world: World, text: str) -> None:
    agent = await world.join("laptop")
    async with world.client() as http:
        made = await http.post("/api/v1/enrollments", json={"label": text})
        renamed = await http.patch(f"/api/v1/devices/{agent.id}", json={"name": text})
    assert (made.status_code in (400, 422), renamed.status_code in (400, 422)) == (True, True)
    assert [device.name for device in world.hub.fleet.devices.values()] == ["laptop"]
