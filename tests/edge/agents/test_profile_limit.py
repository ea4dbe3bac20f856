"""A device stays within the profile that its join code allowed, whatever it offers later."""

from __future__ import annotations

from typing import Any

import msgspec

from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.stream.feed import decode_event
from starloom_protocol.vocabulary import Effect, Profile, Repeatability
from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, chain, settle


def tool(name: str, grant: str | None, *effects: Effect) -> ToolOffer:
    return ToolOffer(
        name=name, grant=grant, effects=list(effects or (Effect.READ,)), repeatability=Repeatability.PURE, title=name
    )


SHELL = tool("shell.run", "shell:run", Effect.CHANGE, Effect.DESTROY)
LOOK = tool("system.info", None)
READ = tool("fs.read", "files:read")
WIDE = Offer(digest="w", grants=["files:read", "shell:run"], tools=[LOOK, READ, SHELL])


async def joined(world: World, most: str) -> Agent:
    agent = Agent("box")
    async with world.client() as http:
        made = (await http.post("/api/v1/enrollments", json={"preapproved": True, "profile_most": most})).json()
        answer = await http.post("/agent/join", json=agent.ask(made["code"]) | {"profile": "observe"})
    assert answer.json()["state"] == "approved", answer.text
    return agent


async def claim(agent: Agent, world: World, offer: Offer, profile: Profile) -> None:
    await agent.send(f.OfferFrame(offer=offer, os="linux", policy_digest="p", profile=profile))
    await settle()


async def seen(world: World) -> dict[str, Any]:
    async with world.client() as http:
        found = (await http.get("/api/v1/devices")).json()["items"][0]
        return dict(found) | {"offer": (await http.get(f"/api/v1/devices/{found['id']}")).json()}


async def test_an_offer_beyond_the_join_code_is_cut_down(world: World) -> None:
    agent = await joined(world, "files")
    await agent.connect(world, offer=Offer(digest="n", tools=[LOOK]))
    await claim(agent, world, WIDE, Profile.OPERATE)
    found = await seen(world)
    assert (found["profile"], found["profile_most"]) == ("files", "files")
    assert found["grants"] == ["files:read"]
    assert found["tools"] == ["fs.read", "system.info"]
    assert "the profile operate, shell:run, shell.run" in found["over"]
    assert "starloom-agent leave" in found["over"]
    assert "starloom enroll --name box" in found["over"]


async def test_a_cut_offer_stands_in_the_log_with_its_device(world: World) -> None:
    agent = await joined(world, "observe")
    await agent.connect(world, offer=WIDE)
    async with world.client() as http:
        refused = (await http.get("/api/v1/enrollments")).json()["refused"]
    assert [row["door"] for row in refused] == ["offer"]
    assert "observe at most" in refused[0]["reason"]
    streams = world.engine._store.history.streams  # type: ignore[attr-defined]
    offers = [event for event in map(decode_event, streams["fleet"]) if event.kind == "device_offer"]
    assert "observe at most" in offers[-1].note
    noted = [event for event in map(decode_event, streams["access"]) if event.kind == "refused"]
    assert [(event.about, event.by) for event in noted] == [("offer", f"device:{agent.id}")]


async def test_work_beyond_the_join_code_is_not_given(world: World) -> None:
    agent = await joined(world, "observe")
    await agent.connect(world, offer=WIDE)
    made = await world.submit(chain("shell.run", policy={"approval": "never"}))
    await settle()
    assert not [frame for frame in agent.inbox if isinstance(frame, f.Dispatch)]
    async with world.client() as http:
        why = (await http.get(f"/api/v1/constellations/{made['id']}/why", params={"task_id": "t0"})).json()
    assert "join code of this device allowed the profile observe" in str(why)


async def test_a_tool_of_the_profile_whose_widest_call_is_beyond_it_is_no_cut(world: World) -> None:
    clone = msgspec.structs.replace(
        tool("git.clone", "git:run", Effect.WRITE, Effect.REACH), effects_by={"source": {"folder": [Effect.WRITE]}}
    )
    agent = await joined(world, "work")
    await agent.connect(world, offer=Offer(digest="n", tools=[LOOK]))
    await claim(agent, world, Offer(digest="c", grants=["git:run"], tools=[LOOK, clone]), Profile.WORK)
    found = await seen(world)
    assert (found["profile"], found["over"]) == ("work", "")
    assert found["tools"] == ["system.info"]
    wide = msgspec.structs.replace(clone, effects_by={})
    await claim(agent, world, Offer(digest="d", grants=["git:run"], tools=[LOOK, wide]), Profile.WORK)
    assert "not taken over: git.clone" in (await seen(world))["over"]


async def test_an_owner_may_grant_more_within_the_join_code(world: World) -> None:
    agent = await joined(world, "files")
    await agent.connect(world, offer=Offer(digest="n", tools=[LOOK]))
    await claim(agent, world, Offer(digest="g", grants=["files:read"], tools=[LOOK, READ]), Profile.OBSERVE)
    found = await seen(world)
    assert (found["grants"], found["tools"], found["over"]) == (["files:read"], ["fs.read", "system.info"], "")


async def test_a_code_without_a_limit_holds_nothing_back(world: World) -> None:
    agent = await joined(world, "operate")
    await agent.connect(world, offer=Offer(digest="n", tools=[LOOK]))
    await claim(agent, world, WIDE, Profile.OPERATE)
    found = await seen(world)
    assert (found["profile"], found["over"]) == ("operate", "")
    assert found["tools"] == ["fs.read", "shell.run", "system.info"]


async def test_a_look_without_a_grant_is_allowed_in_every_profile(world: World) -> None:
    check = tool("net.check", None, Effect.REACH)
    until = tool("wait.until", None, Effect.READ, Effect.REACH)
    steals = tool("mail.send", None, Effect.REACH, Effect.CHANGE)
    for most in ("observe", "files", "work"):
        agent = await joined(world, most)
        await agent.connect(world, offer=Offer(digest="n", tools=[check, until, steals]))
        offer = world.hub.fleet.offers[agent.id]
        assert [one.name for one in offer.tools if not one.unavailable] == ["net.check", "wait.until"]


UNGRANTED = "shell:run is not granted here; on the device: starloom-agent grant shell:run"
ASKS = msgspec.structs.replace(SHELL, unavailable=UNGRANTED)


async def test_why_names_the_way_out_of_a_join_code(world: World) -> None:
    agent = await joined(world, "work")
    await agent.connect(world, offer=Offer(digest="n", tools=[LOOK, ASKS]))
    made = await world.submit(chain("shell.run", policy={"approval": "never"}))
    await settle()
    async with world.client() as http:
        why = (await http.get(f"/api/v1/constellations/{made['id']}/why", params={"task_id": "t0"})).json()
    assert "starloom-agent leave" in str(why)
    assert "starloom-agent grant" not in str(why)
