"""A token for a few recipes starts these and nothing else, and stops only its own work."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from starloom.edge.access.guard import ROUTES, Door
from starloom.planner.fleet import LatestSnapshot
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.service import Planning
from starloom_protocol.vocabulary import PrincipalKind, Role
from tests.edge.routes.requests.test_recipes import planned
from tests.edge.test_guard import concrete
from tests.edge.world import World
from tests.guard.test_matrix import WRITES
from tests.guard.test_rights import READ, V1, C, plan, recipe, refusals, worker

pytestmark = pytest.mark.short
__all__ = ["planned"]
OWN = "recipe:morning-look"


@pytest.fixture
async def recipes(planned: World) -> None:
    async with planned.client() as http:
        for name, phrase in (("morning-look", "have a look this morning"), ("evening-look", "have a look tonight")):
            text = {**recipe(name, READ), "phrases": [phrase]}
            assert (await http.post(f"{V1}/recipes", json={"recipe": text})).status_code in (200, 201), name


@asynccontextmanager
async def confined(world: World, *scopes: str, role: Role = Role.OPERATOR) -> AsyncIterator[httpx.AsyncClient]:
    body = {"for": "jonas", "kind": "person", "role": role, "scopes": [OWN, *scopes]}
    async with world.client() as owner:
        token = (await owner.post(f"{V1}/tokens", json=body)).json()["token"]
    async with world.client(token) as http:
        yield http


@pytest.mark.usefixtures("recipes")
async def test_t180_it_starts_its_recipe_by_name_and_by_sentence(world: World) -> None:
    async with confined(world, "read") as http:
        for asked in ({"recipe": "morning-look"}, {"request": "have a look this morning"}):
            made = await http.post(C, json=asked)
            assert made.status_code == 202, made.text
            assert (await http.get(f"{C}/{made.json()['id']}")).status_code == 200
            assert (await http.post(f"{C}/{made.json()['id']}/cancel")).status_code == 202


@pytest.mark.usefixtures("recipes")
async def test_a_preview_says_that_it_may_not_be_started(world: World) -> None:
    async with confined(world, "read") as http:
        for asked, told in (
            ({"recipe": "evening-look"}, True),
            ({"request": "have a look tonight"}, True),
            ({"plan": plan(READ)}, True),
            ({"recipe": "morning-look"}, False),
            ({"request": "have a look this morning"}, False),
        ):
            shown = (await http.post(f"{C}/preview", json=asked)).json()
            warned = [one for one in shown["warnings"] if "may start only this recipe: morning-look" in one]
            assert (bool(warned), bool(shown["plan_hash"])) == (told, True), (asked, shown)
            assert warned == ([shown["may_not"]] if told else []), asked


async def test_the_preview_of_a_sentence_says_what_its_start_does(world: World) -> None:
    """Words of whoever may start a few recipes are the name of one, which waits for nobody to write."""
    await worker(world)
    fleet = world.hub.fleet
    looks = Planning(load_catalogue(), LatestSnapshot(fleet, world.hub.access.secrets), lambda: fleet.recipes.values())
    object.__setattr__(world.hub, "planner", looks)
    async with world.client() as http:
        text = {**recipe("morning-look", {"id": "a", "tool": "t.write"}), "phrases": ["have a look this morning"]}
        assert (await http.post(f"{V1}/recipes", json={"recipe": text})).status_code in (200, 201)
    asked = {"request": "have a look this morning"}
    async with confined(world, "read") as http:
        for body in (asked, {"recipe": "morning-look"}):
            shown = (await http.post(f"{C}/preview", json=body)).json()
            assert (shown["effects"], shown["asks_approval"]) == (["read", "write"], False), body
        made = await http.post(C, json=asked)
        assert made.status_code == 202, made.text


OTHERS: dict[str, dict[str, Any]] = {
    "another recipe": {"recipe": "evening-look"},
    "the sentence of another": {"request": "have a look tonight"},
    "words that mean nothing": {"request": "make everything well"},
    "a plan": {"plan": plan(READ)},
    "its recipe and a plan": {"recipe": "morning-look", "plan": plan(READ)},
    "its recipe and another sentence": {"recipe": "morning-look", "request": "have a look tonight"},
    "no recipe of that name": {"recipe": "morning-look "},
    "its scope as a name": {"recipe": OWN},
}


@pytest.mark.parametrize("what", OTHERS)
@pytest.mark.usefixtures("recipes")
async def test_t180_it_starts_nothing_else(world: World, what: str) -> None:
    async with confined(world) as http:
        refused = await http.post(C, json=OTHERS[what])
    assert refused.status_code in (403, 422), refused.text
    async with world.client() as owner:
        assert (await owner.get(C)).json()["items"] == []
    if refused.status_code == 403:
        said = refused.json()
        assert said["reason"] == "your token may start only this recipe: morning-look"
        assert said["hint"] == "Ask for it by its name or its sentence."


@pytest.mark.usefixtures("recipes")
async def test_t180_it_stops_nothing_of_others(world: World) -> None:
    async with world.client() as owner:
        made = (await owner.post(C, json={"plan": plan(READ)})).json()["id"]
        async with confined(world) as http:
            for name in (made, "c-nowhere"):
                refused = await http.post(f"{C}/{name}/cancel")
                assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), name
        assert (await owner.get(f"{C}/{made}")).json()["state"] == "active"


@pytest.mark.usefixtures("recipes")
async def test_t217_a_key_of_somebody_else_shows_nothing_of_their_work(world: World) -> None:
    headers = {"Idempotency-Key": "nightly"}
    body = {"recipe": "morning-look"}
    async with world.client() as owner:
        made = (await owner.post(C, json=body, headers=headers)).json()["id"]
    async with confined(world) as http:
        own = await http.post(C, json=body, headers=headers, params={"wait_s": 0.01})
        again = await http.post(C, json=body, headers=headers)
        other = await http.post(C, json={"recipe": "evening-look"}, headers=headers)
    assert own.status_code == 202
    assert own.json()["id"] != made
    assert again.json()["id"] == own.json()["id"]
    assert other.status_code == 403


@pytest.mark.usefixtures("recipes")
async def test_t180_its_scope_opens_these_two_routes_alone(world: World) -> None:
    opened = set()
    async with confined(world) as http:
        for (method, path), row in ROUTES.items():
            if row.door is not Door.CALLER or row.scope is None:
                continue
            response = await http.request(method, concrete(path), content=b"{}" if method in WRITES else None)
            if response.status_code != 403 or "may stop only what you started" in response.text:
                opened.add(path.removeprefix(C))
    assert opened == {"", "/{constellation}/cancel"}


@pytest.mark.usefixtures("recipes")
async def test_t180_it_makes_no_more_of_itself(world: World) -> None:
    async with confined(world, "access") as http:
        for scopes in (["run"], ["recipe:evening-look"], [OWN, "read"], []):
            body = {"role": "operator", "scopes": scopes, "ttl_s": 60}
            assert (await http.post(f"{V1}/tokens", json=body)).status_code == 403, scopes
        for wrong in ("recipe:", "recipe:nothing", "recipe", "recipe: morning-look"):
            body = {"role": "operator", "scopes": [wrong], "ttl_s": 60}
            assert (await http.post(f"{V1}/tokens", json=body)).status_code == 422, wrong
        same = await http.post(f"{V1}/tokens", json={"role": "operator", "scopes": [OWN], "ttl_s": 60})
        assert same.status_code == 201


@pytest.mark.usefixtures("recipes")
async def test_t180_a_part_of_run_is_given_by_whoever_may_run(world: World) -> None:
    _, token = await world.new_token(Role.OPERATOR, ["run", "access"])
    async with world.client(token) as http:
        made = await http.post(f"{V1}/tokens", json={"role": "operator", "scopes": [OWN], "ttl_s": 60})
    assert made.status_code == 201, made.text


@pytest.mark.usefixtures("recipes")
async def test_t180_a_role_that_starts_nothing_starts_no_recipe(world: World) -> None:
    async with confined(world, role=Role.VIEWER) as http:
        assert (await http.post(C, json={"recipe": "morning-look"})).status_code == 403
    assert any("your role is viewer" in str(one) for one in await refusals(world))


@pytest.mark.usefixtures("recipes")
async def test_t180_an_assistant_has_it_as_a_person_has(world: World) -> None:
    _, token = await world.new_token(Role.OPERATOR, [OWN])
    async with world.client(token) as http:
        http.headers["x-starloom-acting"] = PrincipalKind.ASSISTANT
        assert (await http.post(C, json={"recipe": "morning-look"})).status_code == 202
        assert (await http.post(C, json={"recipe": "evening-look"})).status_code == 403
