"""`POST /what-if`: the expected time of a plan on a changed fleet, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.core.placement.pace import key_of, with_sample
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.service import Planning
from starloom_protocol.records.fleet import Offer, Pace
from starloom_protocol.vocabulary import DeviceLink
from tests.builders import TOOLS
from tests.edge.world import World

PATH = "/api/v1/what-if"
PLAN = {"starloom": 1, "name": "Two", "tasks": [{"id": "a", "tool": "t.pure"}, {"id": "b", "tool": "t.pure"}]}


@pytest.fixture
async def known(world: World) -> World:
    """A hub with two devices that have run `t.pure`."""
    await world.join("one")
    await world.join("two")
    fleet = world.hub.fleet
    for device in fleet.devices:
        row = Pace(device=device, last_ms=0, tool="t.pure")
        for _ in range(4):
            row = with_sample(row, 10_000, 10, 0)
        fleet.paces[key_of("t.pure", device, 0)] = row
    devices = {name: replace(device, link=DeviceLink.ONLINE) for name, device in fleet.devices.items()}
    offers = {name: Offer(digest="x", tools=TOOLS) for name in devices}
    planner = Planning(load_catalogue(), lambda: FleetSnapshot.of(devices, offers, paces=fleet.paces))
    object.__setattr__(world.hub, "planner", planner)
    return world


async def asked(world: World, body: Any, token: str | None = None) -> tuple[int, Any]:
    async with world.client(token) as http:
        answer = await http.post(PATH, json=body)
    return answer.status_code, answer.json()


async def test_both_fleets_are_told(known: World) -> None:
    status, found = await asked(known, {"plan": PLAN, "without": ["one"], "within_s": 60})
    assert status == 200, found
    assert set(found) == {"name", "plan_hash", "change", "within_ms", "now", "then", "said"}
    assert found["change"] == "Without one"
    assert found["now"] is not None, found["said"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"plan": PLAN}, "bad_request"),
        ({"plan": PLAN, "without": ["three"]}, "unknown_device"),
        ({"without": ["one"]}, "bad_request"),
        ({"plan": PLAN, "without": ["one"], "within_s": 0}, "bad_request"),
        ({"plan": PLAN, "without": ["one"] * 21}, "bad_request"),
    ],
)
async def test_a_bad_question_is_refused(known: World, body: Any, code: str) -> None:
    status, found = await asked(known, body)
    assert (status // 100, found["code"]) == (4, code)
