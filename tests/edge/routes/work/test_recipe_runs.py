"""The last runs of a recipe over REST: ended ones alone, the newest first, bounded, and of this recipe."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest
from msgspec.structs import replace

from starloom.edge.live.views import Headline
from starloom.edge.routes.work import report as route
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.service import Planning
from starloom_protocol.records.run_report import RecipeTrend
from starloom_protocol.wire import frames as f
from tests.edge.routes.work.test_forks import get
from tests.edge.world import World, an_offer, chain, settle

NAME = "fleet-health"


@pytest.fixture
def made(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the ids of constellations that count as runs of the recipe; no worker plans here."""
    runs: list[str] = []
    object.__setattr__(world.hub, "planner", Planning(load_catalogue(), FleetSnapshot, list))
    read = world.hub.headlines.of_all

    async def of_all(streams: Sequence[str]) -> dict[str, Headline]:
        return {
            stream: Headline(replace(one.head, recipe=NAME), one.answer) if stream in runs else one
            for stream, one in (await read(streams)).items()
        }

    monkeypatch.setattr(world.hub.headlines, "of_all", of_all)
    return runs


async def read(world: World, **more: object) -> RecipeTrend:
    return msgspec.convert(await get(world, f"/api/v1/recipes/{NAME}/runs", **more), RecipeTrend)


async def test_the_ended_runs_of_a_recipe_stand_beside_each_other(
    world: World, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await world.online("one", offer=an_offer("t.one"))
    assert (await read(world)).sentence == "It has not run yet."
    for _ in range(3):
        made.append((await world.submit(chain("t.one")))["id"])
        dispatch = await agent.next(f.Dispatch)
        await world.clock.advance(1_000)
        await agent.done(dispatch)
        await settle()
    other = (await world.submit(chain("t.one")))["id"]
    await agent.done(await agent.next(f.Dispatch))
    made.append((await world.submit(chain("t.one")))["id"])
    await settle()
    found = await read(world)
    assert [run.constellation for run in found.runs] == made[2::-1]
    assert other not in [run.constellation for run in found.runs]
    assert {(run.state, run.tasks, run.attempts) for run in found.runs} == {("succeeded", 1, 1)}
    assert all(run.makespan_ms >= run.work_ms >= 1_000 and run.created_at for run in found.runs)
    assert found.sentence.startswith("3 runs so far, which is too few to compare.")
    assert not found.more
    few = await read(world, limit=2)
    assert ([run.constellation for run in few.runs], few.more) == (made[2:0:-1], True)

    async def no_log(*_: object) -> list[bytes]:
        raise AssertionError("the lines of ended runs are kept")

    monkeypatch.setattr(world.hub.reads, "events", no_log)
    assert (await read(world)).runs == found.runs


async def test_only_so_many_constellations_are_looked_at(
    world: World, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(route, "LOOKED_AT_MOST", 2)
    monkeypatch.setattr(route, "_LIST_PAGE", 1)
    for _ in range(3):
        await world.submit({"starloom": 1, "name": "x", "tasks": [{"id": "a", "person": "Go on?"}]})
    found = await read(world)
    assert (found.runs, found.more, made) == ([], True, [])


async def test_a_recipe_that_is_not_there_has_no_runs(world: World, made: list[str]) -> None:
    async with world.client() as http:
        answer = await http.get("/api/v1/recipes/nowhere/runs")
    assert (answer.status_code, answer.json()["code"], made) == (404, "unknown_recipe", [])


async def ended_runs(world: World, made: list[str], count: int) -> None:
    agent = await world.online("one", offer=an_offer("t.one"))
    for _ in range(count):
        made.append((await world.submit(chain("t.one")))["id"])
        await agent.done(await agent.next(f.Dispatch))
        await settle()


async def test_requests_at_once_read_each_run_once(
    world: World, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await ended_runs(world, made, 6)
    monkeypatch.setattr(route, "KEPT_MOST", 1)
    events, asked = world.hub.reads.events, []

    async def counted(stream: str, after: int, limit: int) -> list[bytes]:
        asked.append(stream)
        return await events(stream, after, limit)

    monkeypatch.setattr(world.hub.reads, "events", counted)
    found = await asyncio.gather(*(read(world) for _ in range(8)))
    assert {len(trend.runs) for trend in found} == {6}
    assert sorted(asked) == sorted(made)


async def test_a_run_that_is_pruned_meanwhile_is_left_out(
    world: World, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await ended_runs(world, made, 2)
    of_all, times = world.hub.headlines.of_all, [0]

    async def pruned(streams: Sequence[str]) -> dict[str, Headline]:
        times[0] += made[0] in streams
        return await of_all([stream for stream in streams if stream != made[0] or times[0] == 1])

    monkeypatch.setattr(world.hub.headlines, "of_all", pruned)
    assert [run.constellation for run in (await read(world)).runs] == made[1:]
