"""A device makes nobody leave but itself: every false request to leave, and what the one true request does."""

from __future__ import annotations

import base64
import secrets
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from starloom.edge.keys import verifies
from starloom_protocol.signed_requests import LEAVE, answer_bytes, request_bytes
from tests.edge.world import Agent, World, settle


def asked(world: World, signer: Agent, *, device: str = "", hub: str = "", what: str = LEAVE) -> dict[str, Any]:
    """Return a request that `signer` signed, in its own name unless another device is given."""
    nonce, name = secrets.token_hex(32), device or signer.id
    signed = request_bytes(what, hub=hub or world.hub.key.text, device=name, nonce=nonce)
    return {"device": name, "nonce": nonce, "signature": base64.b64encode(signer.private.sign(signed)).decode()}


def other_hub() -> str:
    raw = Ed25519PrivateKey.generate().public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return base64.b64encode(raw).decode()


async def test_t46_a_device_makes_no_other_device_leave(world: World) -> None:
    victim, evil = await world.join("victim"), await world.join("evil")
    await victim.connect(world)
    true, nonce = asked(world, victim), secrets.token_hex(32)
    lies = {
        "its own key for another": asked(world, evil, device=victim.id),
        "a key of nobody": asked(world, Agent("nobody"), device=victim.id),
        "a signature for another hub": asked(world, victim, hub=other_hub()),
        "a signature for something else": asked(world, victim, what="join"),
        "another's signature in its own name": {**true, "device": evil.id},
        "another nonce": {**true, "nonce": nonce},
        "no signature": {**true, "signature": ""},
        "a device that is not here": asked(world, evil, device="d-" + "a" * 26),
    }
    said = set()
    async with world.client("") as http:
        for why, lie in lies.items():
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
    agent = await world.join("laptop")
    await agent.connect(world)
    request = asked(world, agent)
    async with world.client("") as http:
        reply = await http.post("/agent/leave", json=request)
        assert reply.status_code == 200, reply.text
        said = reply.json()
        assert said["answer"] == {"left": True, "name": "laptop"}
        signed = answer_bytes(
            LEAVE, hub=world.hub.key.text, device=agent.id, nonce=request["nonce"], answer=said["answer"]
        )
        assert verifies(world.hub.key.raw, said["signature"], signed)
        assert (await http.post("/agent/leave", json=asked(world, agent))).status_code == 200
    await settle()
    async with world.client() as owner:
        shown = (await owner.get(f"/api/v1/devices/{agent.id}")).json()
        deeds = (await owner.get("/api/v1/audit", params={"kind": "devices"})).json()["items"]
    assert (shown["left"], shown["revoked"], shown["link"]) == (True, True, "offline")
    left = [deed for deed in deeds if deed["kind"] == "device_left"]
    assert [deed["by"] for deed in left] == [f"device:{agent.id}"]
