"""A program at `starloom mcp`: the official client, the real server, and a whole hub in this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any

import httpx
from mcp import Client, types

from starloom.cli.mcp import server
from starloom.cli.mcp.command import describe
from starloom.cli.mcp.tools import Tools
from starloom.client import rest
from starloom.client.discovery import HubAddress
from starloom.planner.recipes.catalogue import listed, load_catalogue
from starloom_protocol.api.recipes import RecipeRow
from starloom_protocol.plan import read_recipe
from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.vocabulary import Effect, Repeatability
from tests.edge.world import Agent, NoRecipes, World

READS = {"starloom": 1, "name": "Look", "tasks": [{"id": "look", "tool": "t.read"}]}
CHANGES = {"starloom": 1, "name": "Kill", "tasks": [{"id": "kill", "tool": "t.change"}]}


class Shelf(NoRecipes):
    """A planner whose recipes a test puts there."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Any] = [listed(recipe, built_in=True) for recipe in load_catalogue().all()]

    def recipes(self) -> list[RecipeRow]:
        return self.rows

    def save(self, document: Mapping[str, Any]) -> None:
        """Put a recipe of a person beside the built-in ones."""
        head = {"starloom_recipe": 1, "version": 1, "plan": {**READS}, **document}
        found = read_recipe(json.dumps(head))
        assert found.recipe is not None, found.faults
        self.rows.append(listed(found.recipe, built_in=False))


class _IntoTheLoop(httpx.BaseTransport):
    """Carries the requests of a thread to the hub in the test's own loop."""

    def __init__(self, world: World, loop: asyncio.AbstractEventLoop) -> None:
        self._inner = httpx.ASGITransport(app=world.app, client=("127.0.0.1", 40000))
        self._loop = loop
        self._asking: set[asyncio.Task[None]] = set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer: Future[httpx.Response] = Future()
        # The loop makes the coroutine: one of a thread that outlives the loop would never be awaited.
        self._loop.call_soon_threadsafe(self._begin, request, answer)
        return answer.result(60)

    def _begin(self, request: httpx.Request, answer: Future[httpx.Response]) -> None:
        asking = self._loop.create_task(self._ask(request, answer))
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)

    async def _ask(self, request: httpx.Request, answer: Future[httpx.Response]) -> None:
        try:
            got = await self._inner.handle_async_request(
                httpx.Request(request.method, request.url, headers=request.headers, content=request.read())
            )
            answer.set_result(httpx.Response(got.status_code, headers=got.headers, content=await got.aread()))
        except asyncio.CancelledError as error:
            answer.set_exception(error)
            raise
        except Exception as error:
            answer.set_exception(error)


def tools_of(world: World, token: str | None = None) -> Tools:
    """Return the tools of a program with this token; the owner's by default."""
    address = HubAddress(world.hub.settings.url, world.token if token is None else token, "a test")
    transport = _IntoTheLoop(world, asyncio.get_running_loop())
    return Tools(
        lambda: address, describe, connect=lambda one: rest.Client(one, acting="assistant", transport=transport)
    )


@asynccontextmanager
async def a_program(world: World, token: str | None = None, **more: Any) -> AsyncIterator[Client]:
    """Open the server for a token and connect a client of the official kit to it; `mode` chooses the protocol."""
    async with Client(server.build(tools_of(world, token)), **more) as client:
        yield client


def said(answer: types.CallToolResult | types.GetPromptResult) -> str:
    """Return the texts of an answer."""
    parts = answer.content if isinstance(answer, types.CallToolResult) else [one.content for one in answer.messages]
    return "\n".join(part.text for part in parts if isinstance(part, types.TextContent))


async def device(world: World, name: str = "one") -> Agent:
    """Let a device join with a tool that reads and one that changes."""
    agent = await world.join(name)
    kinds = (("t.read", Effect.READ, Repeatability.PURE), ("t.change", Effect.CHANGE, Repeatability.NEVER))
    tools = [ToolOffer(name=tool, effects=[effect], repeatability=again, title=tool) for tool, effect, again in kinds]
    await agent.connect(world, offer=Offer(digest="d", slots=2, tools=tools))
    return agent


async def until_true(found: Any, what: str) -> None:
    """Let the loop turn until something is so."""
    for _ in range(2000):
        if found():
            return
        await asyncio.sleep(0)
        await asyncio.to_thread(lambda: None)
    raise AssertionError(f"never: {what}")
