"""A device makes nobody leave but itself: every false request to leave, and what the one true request does."""

from __future__ import annotations

from starloom.edge.agents.hub_keys import verifies
from starloom_protocol.wire.channel import LEAVE, answer_bytes
from tests.edge.world import World, settle
from tests.guard.signed import forged_requests, signed_request


async def test_t46_a_device_makes_no_other_device_leave(world: World) -> None:
    victim, evil = await world.join("victim"), await world.join("evil")
    await victim.connect(world)
    said = set()
    async with world.client("") as http:
        for why, lie in forged_requests(world, victim, evil, LEAVE).items():
            reply = await http.post("/agent/leave", json=lie)
            assert (reply.status_code, reply.json()["code"]) == (403, "bad_signature"), why
            said.add(reply.json()["reason"])
    assert len(said) == 1, "an answer tells which devices there are"
    await settle()
    devices = world.hub.fleet.devices
    assert not devices[victim.id].revoked
    assert not devices[evil.id].revoked
    assert devices[victim.id].link == "online"
    async with world.client() as owner:
        for who in (f"device:{evil.id}", "edge"):
            asked_of = await owner.post(f"/api/v1/devices/{victim.id}/leave", headers={"x-who": who})
            assert asked_of.status_code in (404, 422)
        noted = (await owner.get("/api/v1/audit", params={"kind": "refused"})).json()["items"]
    assert not devices[victim.id].revoked
    assert noted, "refusals are told"


async def test_a_device_that_leaves_is_told_so_and_its_key_is_done(world: World) -> None:
    agent = await world.online("laptop")
    request = signed_request(world, agent, LEAVE)
    async with world.client("") as http:
        reply = await http.post("/agent/leave", json=request)
        assert reply.status_code == 200, reply.text
        said = reply.json()
        assert said["answer"] == {"left": True, "name": "laptop"}
        signed = answer_bytes(
            LEAVE, hub=world.hub.key.text, device=agent.id, nonce=request["nonce"], answer=said["answer"]
        )
        assert verifies(world.hub.key.raw, said["signature"], signed)
        assert (await http.post("/agent/leave", json=signed_request(world, agent, LEAVE))).status_code == 200
    await settle()
    async with world.client() as owner:
        shown = (await owner.get(f"/api/v1/devices/{agent.id}")).json()
        deeds = (await owner.get("/api/v1/audit", params={"kind": "devices"})).json()["items"]
    assert (shown["left"], shown["revoked"], shown["link"]) == (True, True, "offline")
    left = [deed for deed in deeds if deed["kind"] == "device_left"]
    assert [deed["by"] for deed in left] == [f"device:{agent.id}"]
