"""What names artifacts: everything that runs, what ended lately, and the fleet."""

from __future__ import annotations

from starloom.edge.live.artifact_references import Retained
from starloom_protocol.stream.feed import ACCESS, FLEET
from starloom_protocol.wire import frames as f
from tests.edge.world import World, an_offer, settle

SHA, VALUE = "ab" * 32, "cd" * 32


def retained(world: World, keep_s: float) -> Retained:
    return Retained(world.hub.reads, lambda: (), world.hub.now_ms, keep_s)


async def test_what_runs_is_kept_and_tells_what_it_names_and_since_when_it_runs(world: World) -> None:
    agent = await world.join("one")
    await agent.connect(world, offer=an_offer("lab.echo"))
    task = {"id": "t", "tool": "lab.echo", "args": {"value": SHA}}
    made = await world.submit({"starloom": 1, "name": "n", "tasks": [task], "policy": {"approval": "never"}})
    dispatch = await agent.next(f.Dispatch)
    kept = retained(world, 0)
    assert await kept.streams() == {ACCESS, FLEET, made["id"]}
    assert await kept.running() == {made["id"]}
    told = await kept.read(made["id"])
    assert any(SHA.encode() in raw for raw in told.entities)
    assert told.running_since_s == world.hub.now_ms() / 1000
    await agent.done(dispatch, artifact=VALUE, bytes=20_000)
    await settle()
    assert list((await kept.read(made["id"])).values) == [VALUE]


async def test_what_has_ended_is_kept_for_a_while(world: World) -> None:
    agent = await world.join("one")
    await agent.connect(world, offer=an_offer("lab.echo"))
    task = {"id": "t", "tool": "lab.echo", "args": {"value": 1}}
    made = await world.submit({"starloom": 1, "name": "n", "tasks": [task], "policy": {"approval": "never"}})
    await agent.done(await agent.next(f.Dispatch), "1")
    await settle()
    assert await retained(world, 60).running() == set()
    assert made["id"] in await retained(world, 60).streams()
    await world.clock.advance(61_000)
    assert made["id"] not in await retained(world, 60).streams()
    held = Retained(world.hub.reads, lambda: (made["id"],), world.hub.now_ms, 60)
    assert made["id"] in await held.streams()
    assert (await held.read("c-unknown")).running_since_s is None
