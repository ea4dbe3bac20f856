"""Notices to MCP programs: lists that change and constellations of their own, in both forms of the protocol."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
import pytest_asyncio
from mcp import types
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from starloom.cli.mcp import following
from starloom.client.problems import problem_of
from starloom.client.rest import Client as RestClient
from starloom_protocol.wire.frames import Dispatch
from tests.cli.mcp.programs import CHANGES, READS, Shelf, a_program, device, until_true
from tests.edge.world import World, a_world

# The official client warns of what the earlier protocol alone has; programs of that protocol are served, too.
pytestmark = pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")


@pytest_asyncio.fixture
async def shelf() -> Shelf:
    return Shelf()


@pytest_asyncio.fixture
async def world(tmp_path: Path, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setattr(following, "LOOK_S", 0.0)
    async with a_world(tmp_path, planner=shelf) as opened:
        yield opened


class Heard:
    """The notices that a client of the earlier protocol gets unasked."""

    def __init__(self) -> None:
        self.methods: list[str] = []
        self.uris: list[str] = []

    async def __call__(self, message: Any) -> None:
        self.methods.append(str(getattr(message, "method", "")))
        if isinstance(message, types.ResourceUpdatedNotification):
            self.uris.append(str(message.params.uri))


async def submitted(client: Client, plan: dict[str, Any]) -> str:
    made = await client.call_tool("submit", {"plan": plan})
    assert not made.is_error, made.content
    assert isinstance(made.structured_content, dict)
    return str(made.structured_content["constellation"])


def uri(constellation: str, rest: str = "") -> str:
    return f"starloom://constellations/{constellation}{rest}"


async def test_a_recipe_that_is_saved_meanwhile_is_told_and_can_be_called(world: World, shelf: Shelf) -> None:
    heard = Heard()
    async with a_program(world, mode="legacy", message_handler=heard) as client:
        assert client.server_capabilities.tools == types.ToolsCapability(list_changed=True)
        assert "recipe_mine" not in [one.name for one in (await client.list_tools()).tools]
        shelf.save({"name": "mine", "title": "Mine"})
        await until_true(lambda: "notifications/tools/list_changed" in heard.methods, "tools changed")
        await until_true(lambda: "notifications/prompts/list_changed" in heard.methods, "prompts changed")
        assert "recipe_mine" in [one.name for one in (await client.list_tools(cache_mode="refresh")).tools]


async def test_a_later_program_hears_on_a_stream_that_it_opens(world: World, shelf: Shelf) -> None:
    await device(world)
    async with a_program(world) as client:
        await client.list_tools()
        constellation = await submitted(client, CHANGES)
        async with client.listen(tools_list_changed=True, resource_subscriptions=[uri(constellation)]) as stream:
            shelf.save({"name": "mine", "title": "Mine"})
            await client.call_tool("recipes", {})
            async with world.client() as http:
                await http.post(f"/api/v1/constellations/{constellation}/cancel", json={})
            seen: set[str] = set()
            async for event in stream:
                seen.add(type(event).__name__)
                if seen == {"ToolsListChanged", "ResourceUpdated"}:
                    break


async def test_an_own_constellation_is_followed_to_its_answer(world: World) -> None:
    agent, heard = await device(world), Heard()
    async with a_program(world, mode="legacy", message_handler=heard) as client:
        constellation = await submitted(client, READS)
        # A change of the list is told to who has seen the list: without this, the first look may find the answer there.
        before = [str(one.uri) for one in (await client.list_resources()).resources]
        assert uri(constellation, "/answer") not in before
        await client.subscribe_resource(uri(constellation))
        await agent.done(await agent.next(Dispatch), '{"n":1}')
        await until_true(lambda: uri(constellation) in heard.uris, "the end is told")
        await until_true(lambda: "notifications/resources/list_changed" in heard.methods, "there is an answer")
        listed = {str(one.uri): one for one in (await client.list_resources(cache_mode="refresh")).resources}
        assert {uri(constellation), uri(constellation, "/answer")} <= set(listed)
        answer = (await client.read_resource(uri(constellation, "/answer"))).contents[0]
        assert isinstance(answer, types.TextResourceContents)
        assert json.loads(answer.text)["constellation_state"] == "succeeded"
        await client.unsubscribe_resource(uri(constellation))


async def test_a_constellation_whose_events_are_gone_is_let_go_and_the_others_are_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, heard = await device(world), Heard()
    async with a_program(world, mode="legacy", message_handler=heard) as client:
        gone, other = await submitted(client, CHANGES), await submitted(client, READS)
        await client.subscribe_resource(uri(gone))
        await client.subscribe_resource(uri(other))
        real = RestClient.events

        def events(hub: RestClient, constellation: str, *args: Any, **more: Any) -> Any:
            if constellation == gone:
                raise problem_of(410, {"code": "pruned", "title": "It is gone", "reason": "its history was pruned"})
            return real(hub, constellation, *args, **more)

        monkeypatch.setattr(RestClient, "events", events)
        await until_true(lambda: uri(gone) in heard.uris, "its end is told")
        await agent.done(await agent.next(Dispatch), '{"n":1}')
        await until_true(lambda: uri(other) in heard.uris, "the change of the other is told")
        assert heard.uris.count(uri(gone)) == 1


async def test_more_than_a_bound_is_not_followed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await device(world)
    monkeypatch.setattr(following, "FOLLOWED_MOST", 1)
    async with a_program(world, mode="legacy") as client:
        first, second = await submitted(client, CHANGES), await submitted(client, CHANGES)
        async with anyio.create_task_group() as both:
            both.start_soon(client.subscribe_resource, uri(first))
            both.start_soon(client.subscribe_resource, uri(first))
        with pytest.raises(MCPError, match="at most 1 resources"):
            await client.subscribe_resource(uri(second))
        await client.unsubscribe_resource(uri(first))
        await client.subscribe_resource(uri(second))
