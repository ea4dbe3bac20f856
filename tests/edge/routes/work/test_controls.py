"""Edits over REST are held to the versions of tools that the devices of the run have."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from starloom.planner.fleet import FleetSnapshot
from starloom_protocol.records.entities import Offer
from tests.edge.world import NoRecipes, World, an_offer, chain

C = "/api/v1/constellations"


def taking(*names: str) -> Offer:
    """Return the offer of an agent whose version of `t.one` takes these arguments."""
    named = {name: {"type": "string"} for name in names}
    schema = {"type": "object", "properties": named, "additionalProperties": False}
    offer = an_offer("t.one")
    tools = [msgspec.structs.replace(tool, args=msgspec.json.encode(schema).decode()) for tool in offer.tools]
    return msgspec.structs.replace(offer, digest="".join(names), tools=tools)


def known(world: World) -> None:
    """Let the planner know the devices of the hub."""
    planner = world.hub.planner
    assert isinstance(planner, NoRecipes)
    planner.fleet = FleetSnapshot.of(world.hub.fleet.devices, world.hub.fleet.offers)


@pytest.mark.parametrize(
    ("operation", "taken"),
    [
        ({"add_task": {"id": "new", "tool": "t.one", "device": {"name": "old"}, "args": {"b": "x"}}}, False),
        ({"add_task": {"id": "new", "tool": "t.one", "device": {"name": "new"}, "args": {"b": "x"}}}, True),
        ({"update_task": {"id": "t1", "args": {"b": "x"}, "device": {"name": "old"}}}, False),
        ({"update_task": {"id": "t1", "device": {"name": "old"}}}, True),
        ({"reassign": {"id": "given", "device": {"name": "old"}}}, False),
        ({"reassign": {"id": "given", "device": {"name": "new"}}}, True),
    ],
)
async def test_an_edit_is_held_to_the_tools_of_its_device(world: World, operation: dict[str, Any], taken: bool) -> None:
    await world.online("old", offer=taking("a"))
    await world.online("new", offer=taking("a", "b"))
    plan = chain("t.one", "t.one")
    plan["tasks"].append({"id": "given", "tool": "t.one", "args": {"b": "x"}, "device": {"name": "new"}})
    plan["dependencies"].append({"from": "t1", "to": "given"})
    made = await world.submit(plan)
    known(world)
    async with world.client() as http:
        answer = await http.post(f"{C}/{made['id']}/edits", json={"base_version": 1, "operations": [operation]})
    if taken:
        assert (answer.status_code, answer.json()) == (200, {"version": 2})
        return
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "unknown_field")
    assert "would be refused by old (t.one there takes no `b`)" in problem["reason"]
    assert "Name another device: new" in problem["hint"]


@pytest.mark.parametrize(
    "operation",
    [
        {"add_task": {"id": "new", "tool": "t.one", "for_each": {"devices": {"any": [{"name": "phone"}]}}}},
        {"add_task": {"id": "new", "tool": "t.one", "device": {"name": "phone"}}},
        {"update_task": {"id": "t1", "device": {"name": "phone"}}},
        {"reassign": {"id": "t1", "device": {"name": "phone"}}},
    ],
    ids=lambda one: next(iter(one)),
)
async def test_an_edit_that_can_never_begin_is_refused_as_a_plan_is(world: World, operation: dict[str, Any]) -> None:
    await world.online("nas", offer=an_offer("t.one"))
    await world.online("phone", offer=an_offer("t.two"))
    made = await world.submit(chain("t.one", "t.one"))
    known(world)
    edit: dict[str, Any] = {"base_version": 1, "operations": [operation]}
    async with world.client() as http:
        refused = await http.post(f"{C}/{made['id']}/edits", json=edit)
        assert (refused.status_code, refused.json()["code"]) == (422, "tool_unavailable")
        assert "phone does not offer t.one" in refused.json()["reason"]
        assert "nas" in refused.json()["hint"]
        assert (await http.post(f"{C}/{made['id']}/edits", json=edit | {"able": False})).status_code == 200


async def test_an_edit_may_add_a_task_that_only_a_failure_calls_for(world: World) -> None:
    await world.online("nas", offer=an_offer("t.one"))
    await world.online("phone", offer=an_offer("t.two"))
    made = await world.submit(chain("t.one", "t.one"))
    known(world)
    operations = [
        {"add_task": {"id": "tell", "tool": "t.one", "device": {"name": "phone"}}},
        {"add_dependency": {"from": "t1", "to": "tell", "when": "failure"}},
    ]
    async with world.client() as http:
        answer = await http.post(f"{C}/{made['id']}/edits", json={"base_version": 1, "operations": operations})
    assert answer.status_code == 200, answer.text
