"""Resources and answers through the official client: the caller's own, bounded, and what a recipe's tool gives back."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from starloom.cli.mcp import resources
from starloom_protocol.wire.frames import Dispatch
from tests.cli.mcp.programs import CHANGES, READS, Shelf, a_program, device, said
from tests.cli.mcp.test_following import submitted, uri
from tests.edge.world import World, a_world, settle


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, planner=Shelf()) as opened:
        yield opened


async def ended(world: World, client: Client, plan: dict[str, Any], value: str) -> str:
    agent = await device(world)
    constellation = await submitted(client, plan)
    await agent.done(await agent.next(Dispatch), value)
    await settle()
    return constellation


async def texts(client: Client, at: str) -> str:
    found = (await client.read_resource(at)).contents[0]
    return str(getattr(found, "text", ""))


async def test_only_own_constellations_are_listed_and_read(world: World) -> None:
    await device(world)
    others = (await world.submit(CHANGES))["id"]
    async with a_program(world) as client:
        mine = await submitted(client, CHANGES)
        listed = [str(one.uri) for one in (await client.list_resources()).resources]
        assert listed == [uri(mine)]
        assert json.loads(await texts(client, uri(mine)))["id"] == mine
        for wrong in (uri(others), uri(others, "/answer"), uri("c-nothing"), "file:///etc/passwd", uri(mine, "/x")):
            with pytest.raises(MCPError, match=r"you have no resource|does not exist|there is no"):
                await client.read_resource(wrong)


async def test_the_list_is_bounded_and_the_newest_come_first(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await device(world)
    monkeypatch.setattr(resources, "LISTED_MOST", 2)
    async with a_program(world) as client:
        made = []
        for _ in range(3):
            made.append(await submitted(client, CHANGES))
            await world.clock.advance(1000)
        assert [str(one.uri) for one in (await client.list_resources()).resources] == [uri(made[2]), uri(made[1])]


async def test_a_file_of_an_answer_is_read_whole_and_a_large_one_is_not(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = b"a,b\n1,2\n"
    digest = hashlib.sha256(body).hexdigest()
    async with world.client() as http:
        assert (await http.post("/api/v1/artifacts", content=body)).status_code == 201
    plan = {**READS, "result": [{"title": "As a file", "from": "look", "show": "file"}]}
    value = json.dumps({"artifact": digest, "bytes": len(body), "media": "text/csv", "name": "t.csv"})
    async with a_program(world) as client:
        made = await ended(world, client, plan, value)
        found = {str(one.uri): one for one in (await client.list_resources()).resources}
        file = uri(made, f"/files/{digest}")
        assert (found[file].name, found[file].mime_type, found[file].size) == ("As a file", "text/csv", len(body))
        assert await texts(client, file) == body.decode()
        with pytest.raises(MCPError, match="you have no resource"):
            await client.read_resource(uri(made, f"/files/{'0' * 64}"))
        monkeypatch.setattr(resources, "FILE_BYTES_MOST", 4)
        with pytest.raises(MCPError, match="too large for a conversation"):
            await client.read_resource(file, cache_mode="refresh")


async def test_a_large_state_is_read_without_its_tasks(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await device(world)
    monkeypatch.setattr(resources, "TEXT_BYTES_MOST", 1500)
    async with a_program(world) as client:
        made = await submitted(client, CHANGES)
        found = json.loads(await texts(client, uri(made)))
        assert "tasks" not in found
        assert f"/constellations/{made}" in found["left_out"]


async def test_a_call_that_waits_tells_how_far_it_is_and_gives_the_answer(world: World) -> None:
    agent = await device(world)
    told: list[tuple[float, str | None]] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        told.append((progress, message))

    async with a_program(world) as client:
        made = await submitted(client, READS)
        watching = asyncio.create_task(
            client.call_tool("watch", {"constellation": made, "wait_s": 30}, progress_callback=progress)
        )
        await agent.done(await agent.next(Dispatch), '{"n":1}')
        seen = (await watching).structured_content
    assert seen is not None
    assert seen["final"]
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert any("look" in (message or "") for _, message in told)


async def test_a_wrong_call_is_refused_in_plain_words(world: World) -> None:
    async with a_program(world) as client:
        refused = await client.call_tool("watch", {"constelation": "c-1"})
        assert refused.is_error
        assert said(refused).startswith("watch was not called: there is no argument 'constelation'; did you mean")
        unknown = await client.call_tool("recipe_find-fil", {})
        assert "Did you mean `recipe_find-file`?" in said(unknown)
        missing = await client.call_tool("recipe_find-file", {})
        assert "`what` is missing" in said(missing)


async def test_a_caller_that_may_only_look_is_offered_no_recipe(world: World) -> None:
    _, viewer = await world.new_token("viewer")
    async with a_program(world, viewer) as client:
        assert not [one for one in (await client.list_tools()).tools if one.name.startswith("recipe_")]
        assert [one.name for one in (await client.list_prompts()).prompts] == ["plan"]
        assert (await client.call_tool("recipe_find-file", {"what": "x"})).is_error


async def test_a_prompt_of_a_recipe_takes_its_values_and_no_others(world: World) -> None:
    async with a_program(world) as client:
        assert "recipe_find-file" in [one.name for one in (await client.list_prompts()).prompts]
        prompt = await client.get_prompt("recipe_find-file", {"what": "invoice"})
        assert "- what: 'invoice'" in said(prompt)
        for name, given in (("recipe_find-file", {"wath": "x"}), ("recipe_no", {}), ("plan", {})):
            with pytest.raises(MCPError, match=r"no value 'wath'|no prompt|takes `request`"):
                await client.get_prompt(name, given)
