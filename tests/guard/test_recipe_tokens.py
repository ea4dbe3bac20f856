"""T192: a token for a few recipes goes around its bound: by A2A, by a link, by other work of the same person."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from starloom.edge.routes.requests.a2a_tasks import ENDPOINT
from starloom_protocol.vocabulary import PrincipalKind
from tests.edge.world import World, a_world
from tests.guard.test_recipe_scopes import OTHERS, confined, planned, recipes
from tests.guard.test_rights import READ, V1, C, plan, refusals

pytestmark = [pytest.mark.short, pytest.mark.usefixtures("recipes")]
__all__ = ["planned", "recipes"]


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, a2a=True) as opened:
        yield opened


async def test_t192_it_stops_no_other_work_of_the_same_person(world: World) -> None:
    body = {"for": "jonas", "kind": "person", "role": "operator", "scopes": ["run", "read"]}
    async with world.client() as owner:
        whole = (await owner.post(f"{V1}/tokens", json=body)).json()["token"]
    async with world.client(whole) as jonas, confined(world) as http:
        made = (await jonas.post(C, json={"plan": plan(READ)})).json()["id"]
        other = (await jonas.post(C, json={"recipe": "evening-look"})).json()["id"]
        for name in (made, other):
            refused = await http.post(f"{C}/{name}/cancel")
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
            assert (await jonas.get(f"{C}/{name}")).json()["state"] != "cancelled"
        own = (await jonas.post(C, json={"recipe": "morning-look"})).json()["id"]
        assert (await http.post(f"{C}/{own}/cancel")).status_code == 202


def message(number: int, data: dict[str, Any]) -> dict[str, Any]:
    part = {"text": data["request"]} if "request" in data else {"data": data}
    parts = {"messageId": f"m-{number}", "role": "ROLE_USER", "parts": [part]}
    params = {"message": parts, "configuration": {"returnImmediately": True}}
    return {"jsonrpc": "2.0", "id": number, "method": "SendMessage", "params": params}


async def test_t192_the_door_of_other_agents_holds_it_too(world: World) -> None:
    async with confined(world, "a2a") as http:
        http.headers["a2a-version"] = "1.0"
        for number, what in enumerate(OTHERS):
            answered = (await http.post(ENDPOINT, json=message(number, OTHERS[what]))).json()
            assert "error" in answered, what
        taken = (await http.post(ENDPOINT, json=message(99, {"recipe": "morning-look"}))).json()
        assert "task" in taken["result"], taken
        card = {"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard", "params": {}}
        told = (await http.post(ENDPOINT, json=card)).json()["result"]
        assert "evening" not in str(told)
    async with world.client() as owner:
        assert len((await owner.get(C)).json()["items"]) == 1


async def test_t192_the_link_of_such_a_token_opens_no_wider_session(world: World) -> None:
    async with confined(world, "access") as http:
        link = (await http.post(f"{V1}/sign-in-links", json={})).json()
        other = await http.post(f"{V1}/sign-in-links", json={"for": "eve", "role": "operator", "scopes": ["run"]})
        assert other.status_code == 403
    await held_to_its_recipe(world, link)


async def held_to_its_recipe(world: World, link: dict[str, Any]) -> None:
    identity, _, secret = link["url"].rpartition("/")[2].partition(".")
    async with world.client("") as page:
        signed = await page.post(f"{V1}/sign-in", json={"id": identity, "secret": secret})
        assert signed.status_code == 200, (link, signed.text)
        page.headers["x-starloom-csrf"] = signed.json()["csrf"]
        assert (await page.post(C, json={"plan": plan(READ)})).status_code == 403
        assert (await page.post(C, json={"recipe": "evening-look"})).status_code == 403
        assert (await page.post(C, json={"recipe": "morning-look"})).status_code == 202


async def test_t192_a_removed_recipe_is_none_and_its_name_gives_no_more(world: World) -> None:
    async with confined(world) as http, world.client() as owner:
        assert (await owner.delete(f"{V1}/recipes/morning-look")).status_code == 204
        gone = await http.post(C, json={"recipe": "morning-look"})
        assert gone.status_code in (404, 422), gone.text
        assert (await http.post(C, json={"request": "have a look this morning"})).status_code == 403


async def test_t192_one_key_for_two_requests_gives_no_other_work(world: World) -> None:
    async with confined(world) as http:
        http.headers["idempotency-key"] = "k"
        assert (await http.post(C, json={"recipe": "morning-look"})).status_code == 202
        for asked in ({"recipe": "evening-look"}, {"plan": plan(READ)}):
            assert (await http.post(C, json=asked)).status_code == 403


async def test_t192_many_at_once_start_only_its_own(world: World) -> None:
    async def ask(http: httpx.AsyncClient, body: dict[str, Any]) -> int:
        return (await http.post(C, json=body)).status_code

    async with confined(world) as http:
        http.headers["x-starloom-acting"] = PrincipalKind.ASSISTANT
        codes = await asyncio.gather(*(ask(http, OTHERS[what]) for what in OTHERS for _ in range(3)))
    assert set(codes) <= {403, 422}
    assert await refusals(world)
    async with world.client() as owner:
        assert (await owner.get(C)).json()["items"] == []
