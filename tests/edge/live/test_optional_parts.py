"""Optional parts of real runs: left out one by one while the chance to end in time is too small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from starloom.core.placement.pace import key_of, with_sample
from starloom.edge.live.optional_parts import STALE_MS, OptionalParts
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.forecast.runs import RunAsked
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.service import Planning
from starloom_protocol.api.previews import RunWhatIf
from starloom_protocol.records.fleet import Pace
from tests.edge.world import World, an_offer, settle

CALL_MS = 10_000
DEVICE = {"name": "one"}


def extra(number: int) -> dict[str, Any]:
    name = f"extra{number}"
    return {"id": name, "tool": "t.one", "device": DEVICE, "optional": True, "inputs": {"seen": {"from": "first"}}}


def plan(*, below: float | None = 0.5, extras: int = 3) -> dict[str, Any]:
    parts = [extra(number) for number in range(extras)]
    tasks = [{"id": "first", "tool": "t.one", "device": DEVICE}, *parts]
    policy = {} if below is None else {"drop_optional_below": below}
    return {"starloom": 1, "name": "In time", "tasks": tasks, "policy": policy}


@pytest.fixture
async def looked_at(world: World) -> tuple[World, OptionalParts]:
    """One device with one slot, whose calls take ten seconds."""
    await world.online("one", offer=an_offer("t.one", slots=1))
    fleet = world.hub.fleet
    for device in fleet.devices:
        row = Pace(device=device, last_ms=0, tool="t.one")
        for _ in range(20):
            row = with_sample(row, CALL_MS, 10, 0)
        fleet.paces[key_of("t.one", device, 0)] = row
    planner = Planning(load_catalogue(), lambda: FleetSnapshot.of(fleet.devices, fleet.offers, paces=fleet.paces))
    object.__setattr__(world.hub, "planner", planner)
    return world, looking(world)


def looking(world: World, *, owner: bool = True) -> OptionalParts:
    hub = world.hub
    return OptionalParts(
        lambda: world.engine.shard if owner else None,
        hub.reads,
        hub.inbox,
        forecast=lambda asked: hub.planner.run_forecast(asked),
        held=hub.held_by_others,
        now_ms=hub.now_ms,
    )


async def left_out(world: World, parts: OptionalParts, document: dict[str, Any], deadline_s: int) -> list[str]:
    """Run a plan and look until nothing more is left out; return the parts that were."""
    made = await world.submit(document, **({"deadline_s": deadline_s} if deadline_s else {}))
    await settle()
    constellation = world.engine.shard.constellations[made["id"]]
    for _ in range(6):
        await parts.look()
        await settle()
        world.clock.ms += 1
    return [name for name, task in constellation.tasks.items() if task.reason == "left_out"]


async def test_so_many_parts_go_as_the_deadline_needs(looked_at: tuple[World, OptionalParts]) -> None:
    world, parts = looked_at
    # Two calls end well before it and three well after it: at the length of three a drawn forecast decides either way.
    assert len(await left_out(world, parts, plan(), 5 * CALL_MS // 2000)) == 2


async def test_none_goes_where_there_is_time(looked_at: tuple[World, OptionalParts]) -> None:
    world, parts = looked_at
    assert await left_out(world, parts, plan(), 20 * CALL_MS // 1000) == []


@pytest.mark.parametrize(("below", "deadline_s"), [(None, 5), (0.5, 0)])
async def test_none_goes_without_the_word_of_the_plan_or_a_deadline(
    looked_at: tuple[World, OptionalParts], below: float | None, deadline_s: int
) -> None:
    world, parts = looked_at
    assert await left_out(world, parts, plan(below=below), deadline_s) == []


async def test_a_run_in_which_nothing_happens_is_looked_at_again_later(
    looked_at: tuple[World, OptionalParts], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, parts = looked_at
    made = await world.submit(plan(), deadline_s=20 * CALL_MS // 1000)
    await settle()
    asked: list[str] = []
    whole = world.hub.planner.run_forecast

    def counted(one: RunAsked) -> Callable[[], RunWhatIf]:
        asked.append(one.name)
        return whole(one)

    monkeypatch.setattr(world.hub.planner, "run_forecast", counted)
    for _ in range(3):
        await parts.look()
    assert asked == [made["id"]]
    world.clock.ms += STALE_MS
    await parts.look()
    assert len(asked) == 2


async def test_a_hub_without_the_shard_looks_at_nothing(looked_at: tuple[World, OptionalParts]) -> None:
    world, _parts = looked_at
    assert await left_out(world, looking(world, owner=False), plan(), 3 * CALL_MS // 1000) == []
