"""A device that has a code for many devices (T201): it gets in, and no more comes with it."""

from __future__ import annotations

from tests.edge.routes.fleet.test_joined_labels import approve, ask, gone, labels
from tests.edge.world import Agent, World

ENROLLMENTS = "/api/v1/enrollments"


async def code_for(world: World, devices: int, **more: object) -> str:
    async with world.client() as http:
        made = await http.post(ENROLLMENTS, json={"preapproved": True, "devices": devices, "label": "node", **more})
    return str(made.json()["code"])


async def test_t201_no_device_of_a_code_for_many_gets_the_labels_of_a_gone_one(world: World) -> None:
    await gone(world, "node-2", ["trusted"])
    code = await code_for(world, 3, labels=["field"])
    agents = [Agent(name) for name in ("a", "node-2", "b")]
    async with world.client("") as device:
        for agent in agents:
            joined = (await device.post("/agent/join", json=agent.ask(code) | {"labels": ["trusted"]})).json()
            assert joined["state"] == "approved"
    assert [await labels(world, agent) for agent in agents] == [["field"]] * 3


async def test_t201_where_a_person_looks_the_device_gets_what_was_shown(world: World) -> None:
    await gone(world, "node-2", ["trusted"])
    code = await code_for(world, 3, preapproved=False)
    agents = [Agent(name) for name in ("a", "b")]
    async with world.client("") as device, world.client() as owner:
        asked = [(await device.post("/agent/join", json=agent.ask(code))).json() for agent in agents]
        shown = [(await owner.get(f"{ENROLLMENTS}/{item['enrollment']}")).json()["labels"] for item in asked]
        for item in asked:
            await approve(world, item["enrollment"])
    assert [await labels(world, agent) for agent in agents] == shown


async def test_t201_what_takes_the_place_of_a_reserved_device_is_reserved(world: World) -> None:
    first, second = Agent("vault"), Agent("vault")
    enrollment, _ = await ask(world, first, [])
    await approve(world, enrollment)
    async with world.client() as owner:
        assert (await owner.post(f"/api/v1/devices/{first.id}/reserve")).is_success
        enrollment, _ = await ask(world, second, [], replaces=first.id)
        await approve(world, enrollment)
        found = (await owner.get(f"/api/v1/devices/{second.id}")).json()
    assert (found["name"], found["reserved"]) == ("vault", True)
