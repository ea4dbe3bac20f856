"""Devices that are gone: who may take one out of the lists, what its key opens afterwards, and who decides for it."""

from __future__ import annotations

import asyncio
from typing import Any

from starloom.core.state import inputs as i
from starloom.edge.agents.aip import SCOPE
from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.vocabulary import Effect, Profile, Repeatability, Role
from starloom_protocol.wire import frames as f
from tests.edge.agents import test_artifact_rights as artifact_rights
from tests.edge.world import Agent, World, an_offer, chain, settle

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


async def test_t269_a_revoked_device_that_does_not_read_is_heard_no_more(world: World) -> None:
    agent = await world.online("one", offer=an_offer("t.one"))
    made = await world.submit(chain("t.one"))
    given = (await agent.next(f.Dispatch)).at
    assert agent.ws is not None
    agent.ws._from_app = asyncio.Queue(1)
    agent.ws._from_app.put_nowait({})
    agent.report += 1
    await agent.send(f.Started(at=given, report=agent.report))
    await settle()  # the hub has something to say, and the device does not take it
    async with world.client() as owner:
        assert (await owner.post(f"{V1}/devices/one/revoke", json={})).status_code == 200
        before = await world.hub.reads.entities("fleet")
        await agent.send(f.LogChunk(at=given, offset=0, stream="out", text="still here"))
        await agent.send(f.OfferFrame(offer=an_offer("t.evil"), os="linux", policy_digest="p", profile=Profile.WORK))
        await agent.send(f.ConditionFrame(facts={"battery": "50"}))
        await settle(100)
        log = (await owner.get(f"{V1}/constellations/{made['id']}/tasks/t0/attempts/1/log")).json()
    assert log["text"] == ""
    assert await world.hub.reads.entities("fleet") == before


async def test_t269_the_record_of_a_revoked_device_stands(world: World) -> None:
    """What was on its way when it was revoked is taken up after that."""
    agent = await world.online("one")
    async with world.client() as owner:
        assert (await owner.post(f"{V1}/devices/one/revoke", json={})).status_code == 200
    before = await world.hub.reads.entities("fleet")
    said: dict[str, Any] = {"by": f"device:{agent.id}", "device": agent.id, "scope": SCOPE, "session": 1}
    world.hub.inbox.post(i.ConditionReceived(facts={"battery": "50"}, id="late-1", **said))
    world.hub.inbox.post(i.OfferReceived(id="late-2", offer=an_offer("t.evil"), os="x", profile=Profile.WORK, **said))
    await settle(100)
    assert await world.hub.reads.entities("fleet") == before
