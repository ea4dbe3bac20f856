"""A device that lies about its figures changes its own lines at most: no event, no memory, no line of another."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from starloom_protocol.vocabulary import Vital
from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, settle
from tests.guard.lying_figures import BROKEN, FIELDS, FLOOD, IMPOSSIBLE, flood

FLOODS = 40
GROWTH_BYTES_MAX = 64 * 1024


async def _say(agent: Agent, frame: str) -> None:
    """Send one frame as text, numbered and sealed as its device would."""
    assert agent.ws is not None
    agent.session._sent += 1
    await agent.ws.send(agent.sealed(f'{{"n":{agent.session._sent},"f":[{frame}]}}'))
    await settle()


def _lines(world: World, agent: Agent) -> dict[Vital, list[int | None]]:
    return world.hub.vitals.of([agent.id]).items[0].lines


@pytest.mark.parametrize("field", FIELDS)
async def test_t52_figures_that_cannot_be_leave_no_point_and_are_counted(world: World, field: str) -> None:
    agent = await world.online("liar")
    for value in IMPOSSIBLE:
        if field == "load_percent" or value != "10001":
            await _say(agent, f'{{"t":"vitals","{field}":{value}}}')
    assert _lines(world, agent) == {}
    assert world.edge.aip.faults["vital_out_of_range"] >= len(IMPOSSIBLE) - 1
    assert world.hub.fleet.devices[agent.id].link == "online"


@pytest.mark.parametrize("value", BROKEN)
async def test_t52_what_is_no_figure_ends_the_connection(world: World, value: str) -> None:
    agent = await world.online("liar")
    await _say(agent, f'{{"t":"vitals","load_percent":{value}}}')
    assert agent.ws is not None
    last = agent.session.receive((await agent.ws.until_closed())[-1])[-1]
    assert isinstance(last, f.ErrorFrame)
    assert last.code == "protocol_error"
    assert _lines(world, agent) == {}


async def test_t52_a_flood_takes_no_memory_no_event_and_touches_no_other_device(world: World) -> None:
    honest, liar = await world.join("honest"), await world.join("liar")
    for agent in (honest, liar):
        await agent.connect(world)
    await honest.send(f.VitalsFrame(load_percent=7, memory_percent=8))
    await liar.send(*flood())
    await settle()
    before = (_lines(world, honest), world.hub.fanout.published, world.hub.fanout.pos)
    tracemalloc.start()
    try:
        held, _ = tracemalloc.get_traced_memory()
        for _ in range(FLOODS):
            await liar.send(*flood())
            await settle()
        grown = tracemalloc.get_traced_memory()[0] - held
    finally:
        tracemalloc.stop()
    assert grown < GROWTH_BYTES_MAX, f"{FLOODS * FLOOD} figures took {grown} bytes"
    assert _lines(world, liar)[Vital.LOAD_PERCENT] == [FLOOD - 1]
    assert (_lines(world, honest), world.hub.fanout.published, world.hub.fanout.pos) == before


async def test_t52_pongs_that_nobody_asked_for_are_no_latency(world: World) -> None:
    agent = await world.online("liar")
    chance = random.Random(0)
    for _ in range(50):
        await agent.send(f.Pong(at_ms=chance.randrange(2**53)))
    await settle()
    assert _lines(world, agent) == {}
