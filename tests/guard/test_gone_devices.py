"""Devices that are gone: who may take one out of the lists, what its key opens afterwards, and who decides for it."""

from __future__ import annotations

from typing import Any

from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.vocabulary import Effect, Repeatability, Role
from starloom_protocol.wire import frames as f
from tests.edge.agents import test_artifact_rights as artifact_rights
from tests.edge.world import Agent, World, settle

V1 = "/api/v1"
ACTING = {"x-starloom-acting": "assistant"}
RESTART = ToolOffer(name="t.restart", effects=[Effect.CHANGE], repeatability=Repeatability.NEVER)
PLAN: dict[str, Any] = {
    "starloom": 1,
    "name": "Restart",
    "tasks": [{"id": "restart", "tool": "t.restart", "device": {"name": "srv"}}],
}


async def test_t105_only_a_person_with_the_right_over_the_fleet_forgets_a_device(world: World) -> None:
    agent = await world.join("srv")
    async with world.client() as owner:
        assert (await owner.post(f"{V1}/devices/srv/revoke", json={})).status_code == 200
        acting = await owner.post(f"{V1}/devices/srv/forget", json={}, headers=ACTING)
        assert acting.status_code == 403, acting.text
    tokens = [("viewer", None), ("approver", None), ("operator", ["run", "read"]), ("owner", ["approve", "read"])]
    for role, scopes in tokens:
        _, token = await world.new_token(Role(role), scopes)
        async with world.client(token) as http:
            assert (await http.post(f"{V1}/devices/srv/forget", json={})).status_code == 403, role
    async with world.client("") as nobody:
        assert (await nobody.post(f"{V1}/devices/srv/forget", json={})).status_code == 401
    await settle()
    assert not world.hub.fleet.devices[agent.id].forgotten


async def test_t251_the_files_of_its_work_are_refused_to_a_revoked_device(world: World) -> None:
    _, reader, _ = await artifact_rights.begun(world)
    assert reader.welcome is not None
    async with reader.http(world, reader.welcome) as http, world.client() as owner:
        assert (await http.get(artifact_rights.PATH)).content == artifact_rights.BYTES
        assert (await owner.post(f"{V1}/devices/reader/revoke", json={})).status_code == 200
        assert (await reader.next(f.ErrorFrame)).code == "device_revoked"
        assert (await http.get(artifact_rights.PATH)).status_code == 401


async def test_t105_a_forgotten_key_joins_with_no_code(world: World) -> None:
    agent = await world.join("srv")
    async with world.client() as owner:
        for action in ("revoke", "forget"):
            assert (await owner.post(f"{V1}/devices/srv/{action}", json={})).status_code == 200
        made = (await owner.post(f"{V1}/enrollments", json={"preapproved": True})).json()
    async with world.client("") as http:
        again = await http.post("/agent/join", json=agent.ask(made["code"]))
    assert (again.status_code, again.json()["code"]) == (422, "device_revoked")
    await settle()
    kept = world.hub.fleet.devices[agent.id]
    assert (kept.revoked, kept.forgotten, kept.name) == (True, True, "srv")


async def test_t105_no_assistant_approves_for_devices_that_are_gone(world: World) -> None:
    await world.online("srv", offer=Offer(digest="d", slots=1, tools=[RESTART]))
    made = await world.submit(PLAN)
    async with world.client() as owner:
        await owner.post(f"{V1}/devices/srv/revoke", json={})
        approve = f"{V1}/approvals/{made['id']}:approve-plan/approve"
        acting = await owner.post(approve, json={"anyway": True}, headers=ACTING)
        assert acting.status_code == 403, acting.text
        assert (await owner.post(approve, json={"always": True})).status_code == 409
        found = (await owner.get(f"{V1}/constellations/{made['id']}")).json()
    assert found["state"] == "awaiting_approval"


async def test_t133_an_operator_ends_no_device_that_another_person_let_in(world: World) -> None:
    async with world.client() as owner:
        bert, cleo = [
            (await owner.post(f"{V1}/tokens", json={"role": "operator", "for": name})).json()["token"]
            for name in ("bert@example.org", "cleo@example.org")
        ]
    pixel = Agent("pixel")
    async with world.client(cleo) as http, world.client("") as device:
        made = (await http.post(f"{V1}/enrollments", json={})).json()
        assert (await device.post("/agent/join", json=pixel.ask(made["code"]))).status_code == 202
        assert (await http.post(f"{V1}/enrollments/{made['id']}/approve")).status_code == 200
    async with world.client(bert) as http:
        ended = await http.post(f"{V1}/devices/pixel/revoke", json={})
        replaced = await http.post(f"{V1}/enrollments", json={"replaces": "pixel"})
    for refused in (ended, replaced):
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert "cleo@example.org let in" in refused.json()["reason"]
    assert not world.hub.fleet.devices[pixel.id].revoked
    async with world.client(cleo) as http:
        assert (await http.post(f"{V1}/devices/pixel/revoke", json={})).status_code == 200
    assert world.hub.fleet.devices[pixel.id].revoked
