"""A constellation whose tasks no device of now can ever begin is refused with the way out, unless it is to wait."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.service import Planning
from tests.edge.world import World
from tests.planner.fleets import device, fleet, tab_offer

C = "/api/v1/constellations"
NAMED = {"phone": {"name": "nas"}, "desk": {"name": "pc"}}
WAYS: list[dict[str, Any]] = [
    {"request": "take a picture with nas and put it on pc"},
    {"recipe": "picture-to-desk", "params": NAMED},
    {"plan": {"starloom": 1, "name": "x", "tasks": [{"id": "take", "tool": "camera.capture"}]}},
]


@pytest.fixture
def planned(world: World) -> World:
    """A hub with the real recipes, on a fleet of two computers."""
    view = fleet(device("nas"), device("pc"))
    object.__setattr__(world.hub, "planner", Planning(load_catalogue(), lambda: view))
    return world


async def submitted(world: World, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    async with world.client() as http:
        answer = await http.post(C, json=body)
    return answer.status_code, answer.json()


@pytest.mark.parametrize("body", WAYS, ids=lambda body: next(iter(body)))
async def test_a_plan_that_can_never_begin_is_refused_with_the_way_out(planned: World, body: dict[str, Any]) -> None:
    status, refused = await submitted(planned, body)
    assert (status, refused["code"]) == (422, "tool_unavailable")
    assert "camera.capture" in refused["reason"]
    assert refused["errors"][0]["place"] == "tasks.take"
    assert refused["hint"]
    async with planned.client() as http:
        assert (await http.get(C)).json()["items"] == []


@pytest.mark.parametrize("body", WAYS, ids=lambda body: next(iter(body)))
async def test_a_plan_may_wait_for_a_device_that_joins_later(planned: World, body: dict[str, Any]) -> None:
    assert (await submitted(planned, body | {"able": False}))[0] == 202


async def test_a_repeat_of_an_accepted_request_is_answered_though_its_device_left(world: World) -> None:
    body, headers = {"plan": WAYS[2]["plan"], "able": True}, {"Idempotency-Key": "once"}
    fleets = [fleet(device("phone"), offers={"phone": tab_offer("")})]
    object.__setattr__(world.hub, "planner", Planning(load_catalogue(), lambda: fleets[-1]))
    async with world.client() as http:
        made = await http.post(C, json=body, headers=headers)
        fleets.append(fleet(device("nas")))
        again = await http.post(C, json=body, headers=headers)
        assert (await http.post(C, json=body)).status_code == 422
    assert (made.status_code, again.status_code) == (202, 202), again.text
    assert again.json()["id"] == made.json()["id"]


async def test_a_plan_that_can_begin_is_taken(planned: World) -> None:
    assert (await submitted(planned, {"request": "how are my machines"}))[0] == 202
