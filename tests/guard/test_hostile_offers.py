"""A device whose offer is made to draw all work, to stand for another tool, or to fill the log: refused whole."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from starloom.edge.agents.offer_bounds import CONDITIONS, CONNECTIONS, OFFERS, SLOTS_MOST, offer_fault
from starloom_protocol.bounds import CHARS_MOST, ENTRIES_MOST, TOOLS_MOST
from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.vocabulary import Effect, Profile
from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, an_offer, settle
from tests.guard.test_rights import C, dispatched, plan

LONG = "x" * (CHARS_MOST + 1)


def _tool(name: str = "t.one", **fields: Any) -> ToolOffer:
    return ToolOffer(effects=[Effect.READ], name=name, **fields)


OFFERED: dict[str, Offer] = {
    "more slots than any device has": replace(an_offer(), slots=SLOTS_MOST + 1),
    "fewer slots than none": replace(an_offer(), slots=-1),
    "too many tools": replace(an_offer(), tools=[_tool(f"t.x{number}") for number in range(TOOLS_MOST + 1)]),
    "a tool twice": replace(an_offer(), tools=[_tool(), replace(_tool(), effects=[])]),
    "a name with a sign that nobody sees": replace(an_offer(), tools=[_tool("t.one\u200b")]),
    "a name of another alphabet": replace(an_offer(), tools=[_tool("t.\u043ene")]),
    "a name of two lines": replace(an_offer(), tools=[_tool("t.one\n")]),
    "a name for a terminal": replace(an_offer(), tools=[_tool("\x1b[31mt.one")]),
    "no name": replace(an_offer(), tools=[_tool("")]),
    "a long title": replace(an_offer(), tools=[_tool(title=LONG)]),
    "a long reason": replace(an_offer(), tools=[_tool(unavailable=LONG)]),
    "a long fact": replace(an_offer(), facts={"os": LONG}),
    "too many facts": replace(an_offer(), facts={f"f{number}": "" for number in range(ENTRIES_MOST + 1)}),
    "too many grants": replace(an_offer(), grants=[f"files:{number}" for number in range(ENTRIES_MOST + 1)]),
}


async def _offers(agent: Agent, offer: Offer) -> None:
    await agent.send(f.OfferFrame(offer=offer, os="linux", policy_digest="p", profile=Profile.WORK))
    await settle()


@pytest.mark.parametrize("kind", OFFERED)
async def test_t125_an_offer_beyond_its_bounds_is_refused_whole(world: World, kind: str) -> None:
    liar = await world.online("liar", offer=OFFERED[kind])
    assert world.hub.fleet.devices[liar.id].link == "offline"
    assert liar.id not in world.engine.shard.fleet.offers


async def test_t125_no_number_of_slots_draws_all_work(world: World) -> None:
    liar, honest = await world.join("liar"), await world.join("srv")
    await honest.connect(world, offer=an_offer(slots=8))
    await liar.connect(world, offer=replace(an_offer(), slots=10**9))
    async with world.client() as http:
        tasks = [{"id": f"look{number}", "tool": "t.one"} for number in range(4)]
        assert (await http.post(C, json={"plan": plan(*tasks)})).status_code == 202
    assert len(await dispatched(honest)) == 4


async def test_t125_a_flood_of_offers_ends_the_connection(world: World) -> None:
    liar = await world.online("liar")
    before = world.engine.shard.fleet.seq
    for number in range(2 * OFFERS.burst):
        await _offers(liar, replace(an_offer(), slots=1 + number % 2))
        if world.hub.fleet.devices[liar.id].link != "online":
            break
    assert world.hub.fleet.devices[liar.id].link == "offline"
    assert world.engine.shard.fleet.seq - before <= OFFERS.burst + 2


async def test_t129_a_device_that_connects_again_and_again_changes_its_offer_no_more_often(world: World) -> None:
    liar = await world.join("liar")
    offers, changes = world.engine.shard.fleet.offers, 0
    for number in range(OFFERS.burst + 10):
        before = offers.get(liar.id)
        await liar.connect(world, offer=replace(an_offer(), slots=1 + number))
        changes += offers.get(liar.id) != before
    assert changes == OFFERS.burst
    assert world.hub.fleet.devices[liar.id].link == "offline"


async def test_t129_a_device_that_connects_again_and_again_with_one_offer_is_taken(world: World) -> None:
    honest = await world.join("srv")
    for _ in range(OFFERS.burst + 10):
        await honest.connect(world)
    assert world.hub.fleet.devices[honest.id].link == "online"


async def test_t129_a_device_that_comes_and_goes_without_pause_fills_no_log(world: World) -> None:
    liar, honest = await world.join("liar"), await world.join("srv")
    before = world.engine.shard.fleet.seq
    for _ in range(CONNECTIONS.burst):
        await liar.connect(world)
    assert world.hub.fleet.devices[liar.id].link == "online"
    after = world.engine.shard.fleet.seq
    for _ in range(20):
        await liar.dial(world)
        await liar.send(liar.hello())
        await liar.send(liar.prove(await liar.next(f.Challenge)))
        assert 0 < (await liar.next(f.Refuse)).retry_after_s <= CONNECTIONS.every_s
    assert world.engine.shard.fleet.seq == after <= before + 3 * CONNECTIONS.burst
    await honest.connect(world)
    await world.clock.advance(int(1000 * CONNECTIONS.every_s))
    await liar.connect(world)


async def test_t129_a_condition_is_counted_by_device_too(world: World) -> None:
    liar = await world.join("liar")
    for number in range(CONDITIONS.burst + 10):
        await liar.connect(world)
        await liar.send(f.ConditionFrame(facts={"battery": str(number)}))
        await settle()
    assert world.hub.fleet.devices[liar.id].link == "offline"


def test_t125_what_an_agent_may_offer_is_taken() -> None:
    most = Offer(
        digest="d",
        facts={"folder": "/" + "x" * (CHARS_MOST - 1)},
        slots=SLOTS_MOST,
        tools=[_tool(f"mcp.server-{number // 200}.tool_{number}", title="a\nb") for number in range(TOOLS_MOST)],
    )
    assert offer_fault(most) == ""
    assert msgspec.convert(msgspec.to_builtins(most), Offer) == most
