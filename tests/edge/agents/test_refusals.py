"""Every way in which a device can be kept out: its side is told why and what to do, and so is the owner's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from starloom.edge.access.refusals import KEPT_MAX, DeviceRefusal, Refusals
from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, settle

JOIN = "/agent/join"


@dataclass
class Case:
    """How a device is brought to be refused, with words of the reason and of the way out."""

    brings: Callable[[World, httpx.AsyncClient, httpx.AsyncClient], Awaitable[httpx.Response]]
    code: str
    reason: str
    hint: str
    who: str = "box"


async def made(owner: httpx.AsyncClient, **body: Any) -> str:
    return str((await owner.post("/api/v1/enrollments", json=body)).json()["code"])


async def unknown_code(world: World, device: httpx.AsyncClient, owner: httpx.AsyncClient) -> httpx.Response:
    return await device.post(JOIN, json=Agent("box").ask("AAAA-BBBB-CCCC-DDDD"))


async def expired_code(world: World, device: httpx.AsyncClient, owner: httpx.AsyncClient) -> httpx.Response:
    code = await made(owner)
    await world.clock.advance(600_001)
    return await device.post(JOIN, json=Agent("box").ask(code))


async def used_code(world: World, device: httpx.AsyncClient, owner: httpx.AsyncClient) -> httpx.Response:
    code = await made(owner, preapproved=True)
    assert (await device.post(JOIN, json=Agent("first").ask(code))).json()["state"] == "approved"
    return await device.post(JOIN, json=Agent("box").ask(code))


async def code_of_another_that_asks(
    world: World, device: httpx.AsyncClient, owner: httpx.AsyncClient
) -> httpx.Response:
    code = await made(owner)
    assert (await device.post(JOIN, json=Agent("first").ask(code))).json()["state"] == "asking"
    return await device.post(JOIN, json=Agent("box").ask(code))


async def wrong_words(world: World, device: httpx.AsyncClient, owner: httpx.AsyncClient) -> httpx.Response:
    code, agent = await made(owner), Agent("box")
    enrollment = (await device.post(JOIN, json=agent.ask(code))).json()["enrollment"]
    reason = {"reason": "the words were not the same"}
    await owner.post(f"/api/v1/enrollments/{enrollment}/deny", json=reason)
    told = (await device.get(f"{JOIN}/{enrollment}")).json()
    assert (told["state"], told["reason"]) == ("denied", reason["reason"])
    return await device.post(JOIN, json=agent.ask(code))


async def revoked_key(world: World, device: httpx.AsyncClient, owner: httpx.AsyncClient) -> httpx.Response:
    agent = await world.join("box")
    await owner.post(f"/api/v1/devices/{agent.id}/revoke")
    return await device.post(JOIN, json=agent.ask(await made(owner)))


async def joined_already(world: World, device: httpx.AsyncClient, owner: httpx.AsyncClient) -> httpx.Response:
    agent = await world.join("box")
    return await device.post(JOIN, json=agent.ask(await made(owner)))


async def too_much(world: World, device: httpx.AsyncClient, owner: httpx.AsyncClient) -> httpx.Response:
    return await device.post(JOIN, json=Agent("box").ask(await made(owner, profile_most="observe")))


async def too_many_tries(world: World, device: httpx.AsyncClient, owner: httpx.AsyncClient) -> httpx.Response:
    for _ in range(10):
        await device.post(JOIN, json=Agent("guess").ask("AAAA-BBBB-CCCC-DDDD"))
    return await device.post(JOIN, json=Agent("box").ask("AAAA-BBBB-CCCC-DDDD"))


async def bad_name(world: World, device: httpx.AsyncClient, owner: httpx.AsyncClient) -> httpx.Response:
    code = await made(owner)
    return await device.post(JOIN, json={**Agent("box").ask(code), "name": "a/b"})


CASES = {
    "unknown code": Case(unknown_code, "bad_code", "no such join code", "starloom enroll"),
    "expired code": Case(expired_code, "bad_code", "too old", "starloom enroll"),
    "used code": Case(used_code, "bad_code", "another device has used this code", "starloom enroll"),
    "code in use": Case(code_of_another_that_asks, "bad_code", "another device has used", "starloom enroll"),
    "wrong words": Case(wrong_words, "bad_code", "the words were not the same", "starloom enroll"),
    "revoked key": Case(revoked_key, "device_revoked", "revoked here, as box", ""),
    "joined already": Case(
        joined_already, "conflict", "has joined as box; type here: starloom-agent leave, then join", ""
    ),
    "more than the code allows": Case(
        too_much, "forbidden", "observe at most; work was asked for", "--profile observe"
    ),
    "too many tries": Case(too_many_tries, "rate_limited", "too many others from this address: wait", "", who=""),
}


@pytest.mark.parametrize("name", CASES)
async def test_a_refusal_is_told_on_both_sides(world: World, name: str) -> None:
    case = CASES[name]
    async with world.client("") as device, world.client() as owner:
        answer = await case.brings(world, device, owner)
        problem = answer.json()
        assert (answer.status_code >= 400, problem["code"]) == (True, case.code), problem
        assert case.reason in problem["reason"]
        assert case.hint in problem["hint"]
        assert problem["hint"]
        listed = (await owner.get("/api/v1/enrollments")).json()["refused"]
    assert (listed[0]["code"], listed[0]["reason"], listed[0]["who"]) == (case.code, problem["reason"], case.who)
    assert listed[0]["address"] == "127.0.0.1"


async def test_a_pairing_shows_who_else_tried_its_code(world: World) -> None:
    async with world.client("") as device, world.client() as owner:
        code = await made(owner, profile_most="observe")
        for _ in range(3):
            await device.post(JOIN, json=Agent("box").ask(code))
        enrollment = (await owner.get("/api/v1/enrollments")).json()["items"][0]["id"]
        refused = (await owner.get(f"/api/v1/enrollments/{enrollment}")).json()["refused"]
        assert [(item["who"], item["times"]) for item in refused] == [("box", 3)]
        other = (await owner.post("/api/v1/enrollments", json={})).json()["id"]
        assert (await owner.get(f"/api/v1/enrollments/{other}")).json()["refused"] == []


async def test_a_name_that_is_taken_gets_a_number_and_both_sides_see_it(world: World) -> None:
    await world.join("box")
    async with world.client("") as device, world.client() as owner:
        answer = (await device.post(JOIN, json=Agent("box").ask(await made(owner)))).json()
        shown = (await owner.get(f"/api/v1/enrollments/{answer['enrollment']}")).json()
        assert answer["name"] == shown["name"] == "box-2"
        refused = await owner.patch(f"/api/v1/devices/{(await world.join('other')).id}", json={"name": "box"})
    assert refused.status_code == 409
    assert refused.json()["reason"].startswith("the name is taken: the device d-")


async def test_a_revoked_device_is_cut_at_once_and_told_why_when_it_comes_back(world: World) -> None:
    agent = await world.online("box")
    async with world.client() as owner:
        await owner.post(f"/api/v1/devices/{agent.id}/revoke", json={"reason": "it was stolen"})
        last = await agent.next(f.ErrorFrame)
        assert (last.code, last.reason) == ("device_revoked", "it was stolen")
        assert agent.ws is not None
        await agent.ws.until_closed()
        await agent.dial(world)
        await agent.send(agent.hello())
        await agent.send(agent.prove(await agent.next(f.Challenge)))
        again = await agent.next(f.Refuse)
        assert again.code == "device_revoked"
        listed = (await owner.get("/api/v1/enrollments")).json()["refused"]
    assert (listed[0]["door"], listed[0]["reason"]) == ("connect", again.reason)


async def greet(world: World, agent: Agent, version: int, **more: Any) -> str:
    """Greet the hub as an agent of this version of the protocol; return the hub's last word."""
    await agent.dial(world)
    assert agent.ws is not None
    hello: dict[str, Any] = {"t": "hello", "device": agent.id, "instance": "i", "key": agent.key, "ledger": "l"}
    hello |= {"next_report": 1, "version": "0.0.1", "versions": [version], **more}
    await agent.ws.send_json({"n": 1, "f": [hello]})
    return str(await agent.ws.receive())


async def test_an_agent_that_is_too_old_is_told_and_shown(world: World) -> None:
    agent = await world.join("box")
    assert "agent_too_old" in await greet(world, agent, 0)
    async with world.client() as owner:
        listed = (await owner.get("/api/v1/enrollments")).json()["refused"]
        assert listed[0]["code"] == "agent_too_old"
        await settle()
        shown = (await owner.get(f"/api/v1/devices/{agent.id}")).json()
        assert (shown["link"], shown["refused"]) == ("offline", "agent_too_old")
        await greet(world, agent, 99)
        await settle()
        assert (await owner.get(f"/api/v1/devices/{agent.id}")).json()["refused"] == "hub_too_old"
        await agent.connect(world)
        shown = (await owner.get(f"/api/v1/devices/{agent.id}")).json()
        assert (shown["link"], shown["refused"]) == ("online", "")


async def test_a_greeting_marks_neither_a_device_of_another_key_nor_one_online(world: World) -> None:
    """It proves nothing, so it says little: a stranger may send it."""
    box, other = await world.join("box"), await world.join("other")
    await greet(world, Agent("stranger"), 0)
    await greet(world, other, 0, device=box.id)
    await box.connect(world)
    await greet(world, Agent("third"), 0, device=box.id, key=box.key)
    await settle()
    assert [device.refused for device in world.hub.fleet.devices.values()] == ["", ""]
    for _ in range(3):
        await greet(world, other, 0)
        await settle()
    async with world.client() as owner:
        events = (await owner.get("/api/v1/audit", params={"kind": "devices"})).json()["items"]
    assert [item["kind"] for item in events].count("device_refused") == 1


async def test_a_clock_that_is_wrong_on_the_device_keeps_nobody_out(world: World) -> None:
    agent = await world.join("box")
    world.clock.ms += 10 * 365 * 86_400_000  # the hub's clock and the device's are ten years apart
    welcome = await agent.connect(world)
    assert welcome.hub_time_ms == world.clock.ms


def test_refusals_are_bounded_and_counted() -> None:
    kept = Refusals()
    for number in range(KEPT_MAX + 5):
        kept.note(DeviceRefusal(number, "join", f"10.0.0.{number}", "bad_code", "no"))
    assert len(kept.latest()) == KEPT_MAX
    assert kept.latest()[0].at_ms == KEPT_MAX + 4
    kept.note(DeviceRefusal(999, "join", "10.0.0.50", "bad_code", "no"))
    assert (kept.latest()[0].times, kept.latest()[0].at_ms) == (2, 999)
