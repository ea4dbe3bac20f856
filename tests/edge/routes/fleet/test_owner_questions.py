"""The questions of devices over REST and AIP, in a whole hub: listed, answered, and never told to an older agent."""

from __future__ import annotations

import pytest

from starloom_protocol.records.approvals import OwnerAsk
from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, settle

API = "/api/v1"
ASK = OwnerAsk(action="0c" * 32, args='{"name":"nginx"}', id="1f2e3d4c", left_s=600, tool="service.restart")


async def joined(world: World, answers: str = "hub") -> Agent:
    agent = await world.online("vps")
    await agent.send(f.AsksFrame(answers=answers, open=[ASK]))
    await settle()
    return agent


@pytest.mark.parametrize(("action", "allow"), [("approve", True), ("deny", False)])
async def test_a_person_answers_for_a_device(world: World, action: str, allow: bool) -> None:
    agent = await joined(world)
    async with world.client() as http:
        (item,) = (await http.get(f"{API}/asks")).json()["items"]
        assert (item["tool"], item["device"]["name"], item["answers"]) == ("service.restart", "vps", "hub")
        assert item["line"] == "starloom-agent approve 1f2e3d4c"
        said = await http.post(f"{API}/asks/{item['id']}/{action}", json={"action": item["action"], "reason": "seen"})
        assert said.status_code == 200, said.text
        order = await agent.next(f.OwnerAnswer)
        assert (order.ask, order.action, order.allow, order.reason) == (ASK.id, ASK.action, allow, "seen")
        assert order.by.startswith("person:")
        await agent.send(f.AsksFrame(answers="hub"))
        await settle()
        assert (await http.get(f"{API}/asks")).json()["items"] == []
        (kept,) = (await http.get(f"{API}/asks", params={"state": "answered"})).json()["items"]
        assert (kept["action"], kept["answer"], kept["reason"]) == (ASK.action, "allow" if allow else "deny", "seen")
        assert kept["answered_by"].startswith("person:")
        assert (await http.post(f"{API}/asks/{item['id']}/{action}")).status_code == 404


async def test_a_device_that_is_answered_on_itself_is_not_answered_here(world: World) -> None:
    await joined(world, answers="here")
    async with world.client() as http:
        refused = await http.post(f"{API}/asks/1f2e3d4c/approve", json={})
        assert (refused.status_code, refused.json()["code"]) == (409, "answered_there")
        stale = await http.post(f"{API}/asks/1f2e3d4c/approve", json={"action": "another"})
        assert stale.status_code == 409


async def test_a_viewer_reads_and_does_not_answer(world: World) -> None:
    await joined(world)
    _, token = await world.new_token("viewer")
    async with world.client(token) as http:
        assert len((await http.get(f"{API}/asks")).json()["items"]) == 1
        assert (await http.post(f"{API}/asks/1f2e3d4c/approve", json={})).status_code == 403


async def test_an_agent_of_versions_without_a_proof_is_too_old(world: World) -> None:
    agent = await world.join("old")
    agent.versions = [1, 2]
    await agent.dial(world)
    await agent.send(agent.hello())
    assert (await agent.next(f.Refuse)).code == "agent_too_old"
