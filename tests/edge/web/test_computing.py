"""Large documents: few at a time, one for each caller; more than may wait are refused with the way out."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from starloom.edge.web.computing import AT_ONCE, OF_ONE_MOST
from starloom_protocol.api.previews import PlanPreview
from starloom_protocol.records.edits import LoweredPlan
from tests.edge.world import NoRecipes, World, a_world, settle
from tests.waiting import PATIENCE_S

PREVIEW = "/api/v1/constellations/preview"
LARGE = {
    "plan": {
        "starloom": 1,
        "name": "large",
        "tasks": [{"id": f"t{number}", "tool": "t.one"} for number in range(400)],
        "dependencies": [],
    }
}
SMALL = {"plan": {**LARGE["plan"], "tasks": [{"id": "t0", "tool": "t.one"}]}}


class Slow(NoRecipes):
    """A planner whose previews of large plans take until they may end."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.begun = 0

    def preview(
        self, plan: LoweredPlan, *, words: bool, by: str, approves: bool = True, micros: int = 0
    ) -> PlanPreview:
        if len(plan.specs) > 1:
            self.begun += 1
            assert self.may_end.wait(PATIENCE_S)
        return super().preview(plan, words=words, by=by, micros=micros)


@pytest_asyncio.fixture
async def slow(tmp_path: Path) -> AsyncIterator[tuple[World, Slow]]:
    planner = Slow()
    async with a_world(tmp_path, planner=planner) as world:
        try:
            yield world, planner
        finally:
            planner.may_end.set()


async def until(question: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not question():
            await settle(1)


def waiting(world: World) -> int:
    return sum(world.hub.computing._counts.values())


def asked(world: World, token: str, count: int) -> list[asyncio.Task[int]]:
    """Ask for large previews; return their statuses to be."""

    async def ask() -> int:
        async with world.client(token) as http:
            return (await http.post(PREVIEW, json=LARGE)).status_code

    return [asyncio.create_task(ask()) for _ in range(count)]


async def test_one_caller_has_one_preview_at_a_time(slow: tuple[World, Slow]) -> None:
    world, planner = slow
    mine = asked(world, world.token, 3)
    _, viewer = await world.new_token("viewer")
    others = asked(world, viewer, 1)
    await until(lambda: planner.begun == AT_ONCE)
    async with world.client() as http:
        assert (await http.post(PREVIEW, json=SMALL)).status_code == 200
    await settle()
    assert planner.begun == AT_ONCE
    planner.may_end.set()
    assert await asyncio.gather(*mine, *others) == [200] * 4
    assert planner.begun == 4


async def test_more_than_may_wait_are_refused_with_the_way_out(slow: tuple[World, Slow]) -> None:
    world, planner = slow
    mine = asked(world, world.token, OF_ONE_MOST)
    async with world.client() as http:
        await until(lambda: waiting(world) == OF_ONE_MOST)
        refused = await http.post(PREVIEW, json=LARGE)
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert "Wait for the answers" in refused.json()["hint"]
        assert refused.headers["retry-after"]
        assert (await http.post(PREVIEW, json=SMALL)).status_code == 200
        planner.may_end.set()
        assert set(await asyncio.gather(*mine)) == {200}
        assert (await http.post(PREVIEW, json=LARGE)).status_code == 200


async def test_all_callers_together_are_bounded(slow: tuple[World, Slow], monkeypatch: pytest.MonkeyPatch) -> None:
    world, planner = slow
    monkeypatch.setattr("starloom.edge.web.computing.IN_ALL_MOST", 2)
    mine = asked(world, world.token, 2)
    _, viewer = await world.new_token("viewer")
    await until(lambda: waiting(world) == 2)
    async with world.client(viewer) as http:
        refused = await http.post(PREVIEW, json=LARGE)
    assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
    planner.may_end.set()
    assert await asyncio.gather(*mine) == [200, 200]
