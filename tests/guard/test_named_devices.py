"""A device whose result decides where a later task runs names others than the plan allows: real hub, real sockets."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Effect, Repeatability
from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, an_offer, settle
from tests.guard.test_rights import dispatched

NAMES: dict[str, Any] = {
    "outside by name": "other",
    "outside by id": None,
    "nobody": "nobody",
    "a list": ["allowed"],
    "a selector": {"name": "other"},
    "a secret": {"secret": "canary"},
    "empty": "",
    "long": "x" * 10_000,
}


def offer() -> Offer:
    made = an_offer("t.pick")
    writes = ToolOffer(name="t.write", effects=[Effect.WRITE], repeatability=Repeatability.IDEMPOTENT, title="w")
    return type(made)(digest="d2", slots=made.slots, tools=[*made.tools, writes])


async def three(world: World) -> dict[str, Agent]:
    found = {}
    for name in ("liar", "allowed", "other"):
        found[name] = await world.online(name, offer=offer())
    return found


def plan(within: Any) -> dict[str, Any]:
    where = {"from": "pick", "output": "/device", **({"within": within} if within is not None else {})}
    pick = {"id": "pick", "tool": "t.pick", "device": {"name": "liar"}}
    return {"starloom": 1, "name": "Chosen", "tasks": [pick, {"id": "run", "tool": "t.write", "device": where}]}


async def named(world: World, agents: dict[str, Agent], name: Any) -> None:
    await world.submit(plan({"name": "allowed"}))
    dispatch = await agents["liar"].next(f.Dispatch)
    await agents["liar"].done(dispatch, canonical({"device": name}))
    await settle()


@pytest.mark.parametrize("how", NAMES)
async def test_t96_a_result_that_names_a_device_outside_reaches_none(world: World, how: str) -> None:
    agents = await three(world)
    name = agents["other"].id if how == "outside by id" else NAMES[how]
    await named(world, agents, name)
    assert {who: await dispatched(agent) for who, agent in agents.items()} == {"liar": [], "allowed": [], "other": []}
    (made,) = (item for key, item in world.engine.shard.constellations.items() if item.head.name == "Chosen")
    assert str(made.groups["run"].code) in ("device_outside", "no_value")
    assert made.head.state == "failed"


async def test_t96_a_result_that_names_a_device_of_the_set_reaches_it(world: World) -> None:
    """Without this the tests above could pass because no device is ever reached."""
    agents = await three(world)
    await named(world, agents, "allowed")
    assert [frame.tool for frame in await dispatched(agents["allowed"])] == ["t.write"]


async def test_t96_a_task_that_does_more_than_read_needs_a_set(world: World) -> None:
    agents = await three(world)
    async with world.client() as http:
        refused = await http.post("/api/v1/constellations", json={"plan": plan(None)})
    assert refused.status_code == 422
    assert "may not choose among all devices" in refused.text
    assert await dispatched(agents["liar"]) == []
