"""A device that lies about courtesy can only refuse work: it draws none, moves no other device, and floods nobody."""

from __future__ import annotations

import pytest

from starloom.edge.agents.offer_bounds import CONDITIONS
from starloom.edge.routes.work.run_forecasts import RATES, WHAT_IF
from starloom_protocol.bounds import CHARS_MOST
from starloom_protocol.text.courtesy import courtesy_sentence
from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, an_offer, chain, settle

LIES = (
    {"courtesy": "yes", "courtesy_why": "please"},
    {"courtesy": "YES"},
    {"courtesy": "no", "device": "honest"},
    {"courtesy": "no", "courtesy_why": "quiet_hours", "courtesy_until": "<b>ann</b>"},
    {"priority": "first", "slots": "1000"},
)


async def _two(world: World) -> tuple[Agent, Agent]:
    honest, liar = await world.join("honest"), await world.join("liar")
    for agent in (honest, liar):
        await agent.connect(world, offer=an_offer("t.one", slots=1))
    return honest, liar


@pytest.mark.parametrize("facts", LIES)
async def test_t120_no_courtesy_draws_work_or_holds_another_device_back(world: World, facts: dict[str, str]) -> None:
    honest, liar = await _two(world)
    await liar.send(f.ConditionFrame(facts=facts))
    await settle()
    await world.submit(chain("t.one"))
    await settle()
    # By name and load alone the honest one is first, and a lie does not change that.
    assert world.engine.shard.fleet.used.get(honest.id, 0) == 1
    assert world.engine.shard.fleet.used.get(liar.id, 0) == 0
    kept = world.hub.fleet.devices[liar.id].condition
    assert set(kept) <= {"courtesy", "courtesy_until", "courtesy_why"}, "only facts that the hub knows are kept"
    assert "ann" not in courtesy_sentence(kept), "no text of a device is repeated"
    assert world.hub.fleet.devices[honest.id].condition == {}


async def test_t120_a_device_that_refuses_everything_delays_no_work_that_another_can_do(world: World) -> None:
    honest, liar = await _two(world)
    await liar.send(f.ConditionFrame(facts={"courtesy": "no", "courtesy_why": "in_use"}))
    await settle()
    made = await world.submit(chain("t.one", "t.one"))
    for _ in range(2):
        await honest.done(await honest.next(f.Dispatch))
    await settle()
    assert str(world.engine.shard.constellations[made["id"]].head.state) == "succeeded"


async def test_t120_a_flood_of_changes_ends_the_connection_and_fills_no_log(world: World) -> None:
    _honest, liar = await _two(world)
    before = world.engine.shard.fleet.seq
    for number in range(2 * CONDITIONS.burst):
        await liar.send(f.ConditionFrame(facts={"courtesy": ("no", "yes")[number % 2]}))
        await settle()
        if world.hub.fleet.devices[liar.id].link != "online":
            break
    assert world.hub.fleet.devices[liar.id].link == "offline"
    assert world.engine.shard.fleet.seq - before <= CONDITIONS.burst + 2


async def test_t120_a_long_condition_ends_the_connection(world: World) -> None:
    _honest, liar = await _two(world)
    await liar.send(f.ConditionFrame(facts={"courtesy_why": "x" * (CHARS_MOST + 1)}))
    await settle()
    assert world.hub.fleet.devices[liar.id].link == "offline"
    assert world.hub.fleet.devices[liar.id].condition == {}


async def test_t120_a_flood_of_questions_is_bounded_for_each_caller_alone(world: World) -> None:
    await _two(world)
    made = await world.submit(chain("t.one"))
    _, viewer = await world.new_token("viewer")
    path = f"/api/v1/constellations/{made['id']}/what-if"
    async with world.client(viewer) as http:
        asked = [await http.post(path, json={"without": ["liar"]}) for _ in range(RATES[WHAT_IF].burst + 5)]
    codes = [answer.status_code for answer in asked]
    assert codes.count(429) == 5
    assert await _state(world, made["id"]) == "active", "others go on"


async def _state(world: World, name: str) -> str:
    async with world.client() as http:
        found = (await http.get(f"/api/v1/constellations/{name}")).json()
    return str(found["state"])
