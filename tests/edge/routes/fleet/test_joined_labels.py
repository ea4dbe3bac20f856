"""Labels that a device asks for are a wish: a person who approves it gives them, and nothing it says later does."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_protocol.records.entities import Offer
from starloom_protocol.vocabulary import Profile
from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, an_offer, chain, settle

WANTED = ["gpu", "trusted"]


async def ask(world: World, agent: Agent, wanted: list[str], **code: object) -> tuple[str, dict[str, Any]]:
    async with world.client() as http:
        made = (await http.post("/api/v1/enrollments", json=code)).json()
        answer = await http.post("/agent/join", json=agent.ask(made["code"]) | {"labels": wanted})
    return made["id"], answer.json()


async def labels(world: World, agent: Agent) -> list[str]:
    async with world.client() as http:
        found: list[str] = (await http.get(f"/api/v1/devices/{agent.id}")).json()["labels"]
    return found


async def approve(world: World, enrollment: str) -> None:
    async with world.client() as http:
        assert (await http.post(f"/api/v1/enrollments/{enrollment}/approve")).status_code == 200


async def test_labels_are_shown_approved_and_selected_by(world: World) -> None:
    agent, other = Agent("box"), Agent("plain")
    enrollment, _ = await ask(world, agent, ["trusted", "gpu"])
    async with world.client() as http:
        shown = (await http.get(f"/api/v1/enrollments/{enrollment}")).json()
    assert (shown["state"], shown["labels"]) == ("asking", WANTED)
    await approve(world, enrollment)
    plain, _ = await ask(world, other, [])
    await approve(world, plain)
    assert (await labels(world, agent), await labels(world, other)) == (WANTED, [])
    for device in (other, agent):
        await device.connect(world, offer=an_offer("t.look"))
    plan = chain("t.look")
    plan["tasks"][0]["device"] = {"labels": ["gpu"]}
    await world.submit(plan)
    dispatch = await agent.next(f.Dispatch)
    assert dispatch.at.task == "t0"
    assert not [frame for frame in other.inbox if isinstance(frame, f.Dispatch)]


async def test_t48_a_device_gives_itself_no_labels(world: World) -> None:
    agent = Agent("evil")
    _, answer = await ask(world, agent, WANTED, preapproved=True)
    assert (answer["state"], answer["labels"]) == ("approved", [])
    assert await labels(world, agent) == []
    await agent.connect(world, offer=an_offer("t.look"))
    said = {"labels": "gpu,trusted"}
    claims = Offer(digest="other", facts=said, tools=an_offer("t.look").tools)
    await agent.send(f.OfferFrame(offer=claims, os="linux", policy_digest="p", profile=Profile.WORK))
    await settle()
    assert await labels(world, agent) == []
    plan = chain("t.look")
    plan["tasks"][0]["device"] = {"labels": ["gpu"]}
    await world.submit(plan)
    await settle()
    assert not [frame for frame in agent.inbox if isinstance(frame, f.Dispatch)]


async def test_t48_a_second_request_changes_no_labels(world: World) -> None:
    agent = Agent("evil")
    async with world.client() as http:
        made = (await http.post("/api/v1/enrollments", json={})).json()
        await http.post("/agent/join", json=agent.ask(made["code"]) | {"labels": ["phone"]})
        for wanted in (WANTED, []):
            again = await http.post("/agent/join", json=agent.ask(made["code"]) | {"labels": wanted})
            assert again.json()["labels"] == ["phone"]
    await approve(world, made["id"])
    async with world.client() as http:
        late = await http.post("/agent/join", json=agent.ask(made["code"]) | {"labels": WANTED})
    assert late.json()["labels"] == ["phone"]
    assert await labels(world, agent) == ["phone"]


async def test_t48_the_place_of_a_device_keeps_its_labels(world: World) -> None:
    first, second = Agent("nas"), Agent("nas")
    enrollment, _ = await ask(world, first, ["backup"])
    await approve(world, enrollment)
    enrollment, _ = await ask(world, second, WANTED, replaces=first.id)
    await approve(world, enrollment)
    assert await labels(world, second) == ["backup"]


async def test_a_person_changes_labels_later(world: World) -> None:
    agent = Agent("box")
    enrollment, _ = await ask(world, agent, WANTED)
    await approve(world, enrollment)
    async with world.client() as http:
        await http.patch(f"/api/v1/devices/{agent.id}", json={"labels": ["spare"]})
    await agent.connect(world, offer=an_offer("t.look"))
    assert await labels(world, agent) == ["spare"]


async def test_an_old_agent_sends_no_labels(world: World) -> None:
    agent = Agent("old")
    async with world.client() as http:
        made = (await http.post("/api/v1/enrollments", json={})).json()
        answer = await http.post("/agent/join", json=agent.ask(made["code"]))
    assert (answer.json()["state"], answer.json()["labels"]) == ("asking", [])


@pytest.mark.parametrize("wanted", [["a,b"], ["x" * 200], [""], ["a"] * 33, ["two\nlines"], "gpu"])
async def test_labels_that_cannot_be_are_refused(world: World, wanted: Any) -> None:
    _, answer = await ask(world, Agent("box"), wanted)
    assert answer["code"] in ("bad_request", "plan_invalid", "invalid"), answer


async def gone(world: World, name: str, kept: list[str]) -> None:
    """Let a device join, give it labels, and revoke it."""
    agent = Agent(name)
    enrollment, _ = await ask(world, agent, [])
    await approve(world, enrollment)
    async with world.client() as http:
        await http.patch(f"/api/v1/devices/{agent.id}", json={"labels": kept})
        assert (await http.post(f"/api/v1/devices/{agent.id}/revoke", json={"reason": "joins again"})).is_success


async def test_a_code_gives_the_labels_that_it_was_made_with(world: World) -> None:
    agent, other = Agent("web"), Agent("box")
    _, answer = await ask(world, agent, [], preapproved=True, label="web", labels=["server"])
    assert (answer["labels"], await labels(world, agent)) == (["server"], ["server"])
    enrollment, _ = await ask(world, other, ["gpu"], labels=["server"])
    await approve(world, enrollment)
    assert await labels(world, other) == ["gpu", "server"]


async def test_a_device_that_joins_again_keeps_its_labels(world: World) -> None:
    await gone(world, "nas", ["backup", "server"])
    agent, last = Agent("nas"), Agent("nas")
    enrollment, answer = await ask(world, agent, ["gpu"])
    assert answer["labels"] == ["backup", "gpu", "server"]
    await approve(world, enrollment)
    assert await labels(world, agent) == ["backup", "gpu", "server"]
    async with world.client() as http:
        await http.patch(f"/api/v1/devices/{agent.id}", json={"labels": ["spare"]})
        await world.clock.advance(1_000)
        await http.post(f"/api/v1/devices/{agent.id}/revoke", json={"reason": "joins again"})
    _, answer = await ask(world, last, [], preapproved=True, label="nas", labels=["server"])
    assert await labels(world, last) == ["server", "spare"]


async def test_t168_a_gone_name_gives_no_labels_unseen(world: World) -> None:
    await gone(world, "nas", ["trusted"])
    thief = Agent("nas")
    _, answer = await ask(world, thief, WANTED, preapproved=True)
    assert (answer["name"], answer["state"], answer["labels"]) == ("nas", "approved", [])
    assert await labels(world, thief) == []


async def test_t168_a_name_beside_a_gone_one_gives_none(world: World) -> None:
    await gone(world, "nas", ["trusted"])
    first, second = Agent("nas"), Agent("nas")
    enrollment, _ = await ask(world, first, [])
    await approve(world, enrollment)
    async with world.client() as http:
        await http.patch(f"/api/v1/devices/{first.id}", json={"labels": []})
    _, answer = await ask(world, second, [])
    assert (answer["name"], answer["labels"]) == ("nas-2", [])
