"""A plan of an assistant that no device of now can ever begin is refused, and no person is asked about it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.service import Planning
from tests.cli.mcp.programs import Shelf, a_program
from tests.edge.world import World, a_world
from tests.planner.fleets import device, fleet, offer


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, planner=Shelf()) as opened:
        yield opened


async def test_a_plan_that_can_never_begin_is_refused_with_the_way_out(world: World) -> None:
    view = fleet(device("nas"), device("pc"))
    object.__setattr__(world.hub, "planner", Planning(load_catalogue(), lambda: view))
    async with a_program(world) as client:
        plan = {"starloom": 1, "name": "x", "tasks": [{"id": "take", "tool": "camera.capture"}]}
        made = await client.call_tool("submit", {"plan": plan})
    assert made.is_error
    assert "camera.capture" in str(made.content)
    async with world.client() as http:
        assert (await http.get("/api/v1/constellations")).json()["items"] == []


async def test_a_preview_says_that_a_missing_grant_waits_for_a_person(world: World) -> None:
    view = fleet(device("nas"), offers={"nas": offer(grants=())})
    object.__setattr__(world.hub, "planner", Planning(load_catalogue(), lambda: view))
    async with a_program(world) as client:
        plan = {"starloom": 1, "name": "x", "tasks": [{"id": "look", "tool": "fs.find", "args": {"root": "."}}]}
        found = await client.call_tool("preview", {"plan": plan})
    assert found.structured_content is not None
    assert found.structured_content["runs_now"] is False
    assert found.structured_content["waits_for_a_person_because"] == ["nas has not granted files:read"]
