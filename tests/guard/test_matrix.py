"""The rest of the matrices, made from the guard table: scopes, sessions, ended tokens, and frames by state."""

from __future__ import annotations

import json

import pytest

from starloom.edge.access.callers import Scope
from starloom.edge.access.guard import ROUTES, Door
from starloom_protocol.vocabulary import PrincipalKind, Role
from starloom_protocol.wire.codec import AGENT_FRAMES, HUB_FRAMES, tag_of
from starloom_protocol.wire.session import TABLE, ProtocolFault, Side, State
from tests.edge.routes.people.test_sessions import link_of
from tests.edge.test_guard import concrete
from tests.edge.world import World
from tests.guard.frames import FAMILY, session_at

pytestmark = pytest.mark.short

CALLERS = {key: row for key, row in ROUTES.items() if row.door is Door.CALLER}
WRITES = ("POST", "PUT", "PATCH", "DELETE")
REACHED = {
    Side.HUB: (State.AWAIT_HELLO, State.AWAIT_PROVE, State.OPEN),
    Side.AGENT: (State.AWAIT_CHALLENGE, State.OPEN),
}


@pytest.mark.parametrize("role", list(Role))
async def test_each_role_and_scope_opens_exactly_its_routes(world: World, role: Role) -> None:
    for scope in Scope:
        _, token = await world.new_token(role, [str(scope)])
        for acting in (False, True):
            await _tries_all(world, token, role, scope, acting=acting)


async def _tries_all(world: World, token: str, role: Role, scope: Scope, *, acting: bool) -> None:
    closed = (Scope.ACCESS, Scope.APPROVE, Scope.FLEET, Scope.LAB) if acting else ()
    async with world.client(token) as http:
        http.headers.update({"x-starloom-acting": "assistant"} if acting else {})
        for (method, path), row in CALLERS.items():
            if path.endswith(("/sign-out", "/lan/open", "/lan/close", "/model/test")):
                continue
            response = await http.request(method, concrete(path), content=b"{}" if method in WRITES else None)
            refused = response.status_code == 403
            may = role in row.roles and row.scope in (None, scope) and row.scope not in closed
            may = may and (not acting or PrincipalKind.ASSISTANT in row.kinds)
            assert refused != may, (role, scope, acting, method, path, response.text)


async def test_a_session_without_its_csrf_token_changes_nothing_anywhere(world: World) -> None:
    async with world.client("") as http:
        signed_in = await http.post("/api/v1/sign-in", json=await link_of(world))
        assert signed_in.status_code == 200
        for method, path in CALLERS:
            if method not in WRITES:
                continue
            for headers in ({}, {"x-starloom-csrf": "wrong"}):
                response = await http.request(method, concrete(path), headers=headers, content=b"{}")
                assert (response.status_code, response.json()["code"]) == (403, "csrf"), (method, path)


@pytest.mark.parametrize("how", ["revoked", "expired"])
async def test_a_token_that_has_ended_opens_nothing(world: World, how: str) -> None:
    async with world.client() as http:
        made = (await http.post("/api/v1/tokens", json={"role": "owner", "scopes": [], "ttl_s": 60})).json()
        if how == "revoked":
            assert (await http.delete(f"/api/v1/tokens/{made['id']}")).status_code == 200
        else:
            await world.clock.advance(61_000)
    async with world.client(made["token"]) as http:
        for method, path in CALLERS:
            response = await http.request(method, concrete(path))
            assert response.status_code in (401, 429), (method, path, response.text)
            if response.status_code == 429:
                await world.clock.advance(600_000)


@pytest.mark.parametrize("side", list(Side))
def test_every_frame_in_every_state_is_taken_as_the_table_says(side: Side) -> None:
    peer = side.other
    kinds = {tag_of(kind): kind for kind in (AGENT_FRAMES if peer is Side.AGENT else HUB_FRAMES)}
    seen = set()
    for frame in FAMILY[peer]:
        for state in REACHED[side]:
            mine = session_at(side, state)
            message = json.dumps({"n": mine._received + 1, "f": [frame]})
            expected = TABLE[peer, kinds[frame["t"]], state]
            try:
                mine.receive(message)
                assert expected is not None, (frame["t"], state)
                assert mine.state is expected
            except ProtocolFault:
                assert expected is None or frame["t"] in ("hello", "challenge"), (frame["t"], state)
                assert mine.state is State.CLOSED
            seen.add((frame["t"], state))
    assert len(seen) == len(kinds) * len(REACHED[side])


async def test_no_frame_but_a_hello_is_heard_before_authentication(world: World) -> None:
    for frame in FAMILY[Side.AGENT]:
        if frame["t"] == "hello":
            continue
        socket = world.socket("/aip/v1")
        socket._scope["client"] = (f"10.9.{len(frame['t'])}.{FAMILY[Side.AGENT].index(frame)}", 40000)
        await socket.open()
        await socket.send_json({"n": 1, "f": [frame]})
        await socket.until_closed()
        assert socket.close_code in (1000, 1008), frame["t"]
    assert len(world.hub.links) == 0


async def test_the_live_socket_says_nothing_without_a_ticket(world: World) -> None:
    for first in ("", "{", "null", '{"ticket":"x"}', '{"t":"open","ticket":"slt_a_b"}', '{"t":"subscribe"}'):
        socket = await world.socket("/api/v1/live").open()
        await socket.send(first)
        said = "".join(await socket.until_closed())
        assert socket.close_code not in (None, 1000), first
        assert world.token not in said
        assert "d-" not in said
