"""A goal that an assistant gives: the ordinary preview, the ordinary plan, and no more than an assistant may."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio
from mcp.client import Client

from tests.cli.mcp.programs import Shelf, a_program, device, said
from tests.edge.world import World, a_world


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, planner=Shelf(), llm_url="http://127.0.0.1:7/v1", llm_model="given") as opened:
        yield opened


async def goal(client: Client, **given: Any) -> Any:
    return await client.call_tool("goal", given)


async def test_a_goal_is_a_plan_with_its_envelope(world: World) -> None:
    await device(world)
    async with a_program(world) as client:
        made = await goal(
            client, goal="Find out\nwhy", devices=["one"], tools=["t.read"], gives={"cause": "text"}, steps=5
        )
        assert not made.is_error, made.content
        assert made.structured_content["needs_approval"] is False
        async with world.client() as http:
            found = (await http.get(f"/api/v1/constellations/{made.structured_content['constellation']}")).json()
    assert found["name"] == "Find out why"
    (task,) = found["tasks"]
    assert task["spec"]["device"] == {"name": "one"}
    assert task["spec"]["goal"] == {
        "aim": "Find out\nwhy",
        "gives": '{"cause":"text"}',
        "steps": 5,
        "tools": ["t.read"],
    }


async def test_a_preview_of_a_goal_starts_nothing(world: World) -> None:
    await device(world)
    async with a_program(world) as client:
        shown = await goal(client, goal="Look", devices=["one"], only_preview=True)
        assert "A model makes steps" in shown.structured_content["tasks"][0]["why"]
        assert not (await client.list_resources()).resources


async def test_a_goal_that_may_change_something_waits_for_a_person(world: World) -> None:
    await device(world)
    async with a_program(world) as client:
        made = await goal(client, goal="Mend it", devices=["one"], tools=["t.change"])
        assert made.structured_content["needs_approval"] is True
        assert made.structured_content["state"] == "awaiting_approval"


async def test_what_cannot_be_a_goal_is_told_with_its_place(world: World) -> None:
    await device(world)
    wrong: dict[str, dict[str, Any]] = {
        "a goal needs at least one device": {"devices": []},
        "no device is named `nobody`": {"devices": ["nobody"]},
        "`steps` is at most 50, not '99'": {"devices": ["one"], "steps": 99},
        "`devices` is missing": {},
    }
    async with a_program(world) as client:
        for words, given in wrong.items():
            refused = await goal(client, goal="Look", **given)
            assert refused.is_error
            assert words in said(refused)
