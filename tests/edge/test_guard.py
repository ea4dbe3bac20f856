"""Every route has a row and every row a route; what a row forbids is refused, whoever asks."""

from __future__ import annotations

import itertools
import re

import httpx
import pytest
from fastapi.routing import APIRoute
from starlette.routing import WebSocketRoute

from starloom.edge.access.callers import Caller, Means
from starloom.edge.access.guard import FRAMES, ROUTES, Door, Row
from starloom.edge.agents.aip import Connection
from starloom.edge.web.admission import Admission
from starloom.edge.web.own_command import TypedHere
from starloom.edge.web.problems import Problem
from starloom_protocol.vocabulary import Role
from starloom_protocol.wire.codec import AGENT_FRAMES
from starloom_protocol.wire.frames import Hello, Prove
from tests.edge.world import World

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def routes_of(world: World) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for route in world.app.router.routes:
        if isinstance(route, WebSocketRoute):
            found.add(("WS", route.path))
        else:
            assert isinstance(route, APIRoute), route
            found |= {(method, route.path) for method in route.methods or ()}
    return found


def concrete(path: str) -> str:
    filled = path.replace("{sha256}", "a" * 64).replace("{attempt}", "1").replace("{path:path}", "some/page")
    filled = re.sub(r"/devices/\{device\}/\{action\}", "/devices/d-none/drain", filled)
    filled = re.sub(r"/tasks/\{task\}/\{action\}", "/tasks/t/retry", filled)
    return re.sub(r"\{[a-z]+\}", "none", filled)


async def test_every_route_has_a_row_and_every_row_a_route(world: World) -> None:
    assert routes_of(world) == set(ROUTES)


async def test_every_route_is_of_the_guarded_class(world: World) -> None:
    classes = {type(route).__name__ for route in world.app.router.routes}
    assert classes == {"GuardedRoute", "WebSocketRoute"}


def test_every_frame_of_an_agent_has_a_row() -> None:
    assert set(FRAMES) == set(AGENT_FRAMES)


async def test_a_connection_takes_every_frame_but_those_of_the_handshake(world: World) -> None:
    agent = await world.join("one")
    taken: list[set[type]] = []
    original = Connection.serve

    async def serve(self: Connection, hello: Hello) -> None:
        taken.append(set(self.handlers))
        await original(self, hello)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "serve", serve)
        await agent.connect(world)
    assert taken == [set(AGENT_FRAMES) - {Hello, Prove}]
    assert agent.ws is not None
    await agent.ws.leave()


async def test_only_the_named_doors_are_open_to_anyone() -> None:
    anyone = {key for key, row in ROUTES.items() if row.door is Door.ANYONE}
    assert anyone == {
        ("GET", "/healthz"),
        # The protocol wants its card to be read without a token; it says nothing of devices and recipes.
        ("GET", "/.well-known/agent-card.json"),
        ("GET", "/tab"),
        ("HEAD", "/tab"),
        ("GET", "/tab/{path:path}"),
        ("HEAD", "/tab/{path:path}"),
        ("GET", "/agent/authority.crt"),
        ("GET", "/readyz"),
        ("GET", "/{path:path}"),
        ("HEAD", "/{path:path}"),
        ("POST", "/agent/join"),
        ("POST", "/agent/leave"),
        ("POST", "/agent/upgrade"),
        ("GET", "/agent/join/{enrollment}"),
        ("GET", "/agent/join.py"),
        ("GET", "/agent/requirements.txt"),
        ("GET", "/agent/wheels.json"),
        ("GET", "/agent/wheels/{file}"),
        ("POST", "/api/v1/sign-in"),
        ("POST", "/api/v1/sign-in/terms"),
    }


async def test_without_a_token_every_other_route_answers_401(world: World) -> None:
    async with world.client("") as http:
        for (method, path), row in ROUTES.items():
            if method == "WS" or row.door is Door.ANYONE:
                continue
            response = await http.request(method, concrete(path))
            assert response.status_code == 401, (method, path, response.text)


async def test_a_body_is_not_even_parsed_for_a_stranger(world: World) -> None:
    async with world.client("") as http:
        response = await http.post("/api/v1/constellations", content=b"{broken")
    assert response.json()["code"] == "not_signed_in"


async def test_a_devices_door_does_not_open_for_a_persons_token(world: World) -> None:
    async with world.client() as http:
        for (method, path), row in ROUTES.items():
            if row.door is Door.DEVICE:
                assert (await http.request(method, concrete(path))).status_code == 401


async def test_each_role_gets_exactly_what_its_row_says(world: World) -> None:
    tokens = {role: (await world.new_token(role))[1] for role in Role}
    for role, token in tokens.items():
        async with world.client(token) as http:
            for (method, path), row in ROUTES.items():
                if row.door is not Door.CALLER or path.endswith("/sign-out"):
                    continue
                response = await http.request(
                    method, concrete(path), content=b"{}" if method in ("POST", "PATCH") else None
                )
                refused = response.status_code == 403
                assert refused == (role not in row.roles), (role, method, path, response.text)


async def test_a_scoped_token_gets_only_its_scopes(world: World) -> None:
    _, token = await world.new_token("owner", ["read"])
    async with world.client(token) as http:
        assert (await http.get("/api/v1/devices")).status_code == 200
        refused = await http.post("/api/v1/enrollments", json={})
        assert refused.status_code == 403
        assert "scope fleet" in refused.json()["reason"]
        assert "role" not in refused.json()["title"]
        assert "or the scope that is named" in refused.json()["hint"]


async def test_a_route_without_a_row_is_nobodys(world: World) -> None:
    admission = Admission(
        world.hub.access,
        world.hub.limits,
        world.hub.links.of_token,
        world.hub.fleet.belongs,
        lambda _: "c",
        TypedHere("starloom"),
        rows={},
    )
    with pytest.raises(Problem) as caught:
        admission.row("GET", "/new")
    assert caught.value.status == 403


async def test_unknown_methods_and_paths_are_refused_in_the_same_shape(world: World) -> None:
    known: dict[str, set[str]] = {}
    for method, path in ROUTES:
        if method != "WS":
            known.setdefault(concrete(path), set()).add(method)
    async with world.client() as http:
        for (path, methods), method in itertools.product(known.items(), METHODS):
            if method in methods or method in ("GET", "HEAD"):
                continue
            response: httpx.Response = await http.request(method, path)
            assert response.status_code in (404, 405), (method, path, response.status_code)
            assert response.headers["content-type"] == "application/problem+json"


def test_rows_say_why_they_refuse() -> None:

    row = Row(Door.CALLER, frozenset({Role.OWNER, Role.OPERATOR}))

    viewer = Caller("p", "ann", Role.VIEWER, frozenset(), "t", Means.BEARER)
    assert row.refusal(viewer) == "your role is viewer; this needs owner or operator"
