"""A device that lies about taps asks for nobody's hand but for its own attempts that run, and repeats no text."""

from __future__ import annotations

import pytest

from starloom_protocol.wire import frames as f
from tests.edge.world import World, an_offer, chain, settle


async def test_t120_a_tap_is_told_only_for_attempts_that_run_there(world: World) -> None:
    honest, liar = await world.join("honest"), await world.join("liar")
    for agent in (honest, liar):
        await agent.connect(world, offer=an_offer("t.one", slots=1))
    made = await world.submit(chain("t.one"))
    dispatch = await honest.next(f.Dispatch)
    await honest.send(f.Started(at=dispatch.at, report=1))
    at = f"{made['id']}/{dispatch.at.task}/{dispatch.at.attempt}"
    await liar.send(f.ConditionFrame(facts={"tap": f"{at} <b>ann</b> //"}))
    await settle()
    assert world.engine.shard.constellations[made["id"]].head.attention == []
    async with world.client() as http:
        why = await http.get(f"/api/v1/constellations/{made['id']}/why")
    assert "tap" not in why.text
    assert "ann" not in why.text
    await honest.send(f.ConditionFrame(facts={"tap": at}))
    await settle()
    async with world.client() as http:
        told = (await http.get(f"/api/v1/constellations/{made['id']}/why")).json()
    assert [one["reason"] for one in told["attention"]] == ["waits_for_a_tap"]
    assert "for a tap on honest, in the page of Starloom there." in told["attention"][0]["sentence"]


@pytest.mark.parametrize("tap", ["x" * 4_097, "c/t/1 " * 700])
async def test_t120_a_long_list_of_taps_ends_the_connection(world: World, tap: str) -> None:
    liar = await world.online("liar", offer=an_offer("t.one", slots=1))
    await liar.send(f.ConditionFrame(facts={"tap": tap}))
    await settle()
    assert world.hub.fleet.devices[liar.id].link == "offline"
