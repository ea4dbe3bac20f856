"""Requests that wait for events: a token has so many at a time, by any way of waiting; others are not disturbed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from starloom.edge.live import fanout
from tests.edge.world import World, chain, settle

FEW = 3


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fanout, "WATCHES_PER_TOKEN_MAX", FEW)


async def test_t146_a_token_that_waits_too_often_is_refused_and_others_are_not(world: World) -> None:
    made = await world.submit(chain("t.one"))
    path = f"/api/v1/constellations/{made['id']}/events"
    _, text = await world.new_token("viewer")
    async with world.client(text) as http, world.client() as owner:
        last = (await http.get(path)).json()["next"]
        wait = {"after": last, "wait_s": 30}
        waiting = [asyncio.create_task(http.get(path, params=wait)) for _ in range(FEW)]
        await settle()
        stream = {"accept": "text/event-stream"}
        refused = [await http.get(path, params=wait), await http.get(path, headers=stream)]
        assert [(one.status_code, one.json()["code"]) for one in refused] == [(429, "rate_limited")] * 2
        assert (await http.get(path)).status_code == 200
        ours = asyncio.create_task(owner.get(path, params=wait))
        await settle()
        assert (await owner.post(f"/api/v1/constellations/{made['id']}/pause", json={})).status_code < 300
        answers = await asyncio.wait_for(asyncio.gather(*waiting, ours), 10)
        assert [one.status_code for one in answers] == [200] * (FEW + 1)
        # Every place is free again.
        assert (await http.get(path, params={"after": last, "wait_s": 30})).status_code == 200
    assert not world.hub.fanout._watches


async def test_t146_a_refused_submission_has_submitted_nothing(world: World) -> None:
    made = await world.submit(chain("t.one"))
    path = f"/api/v1/constellations/{made['id']}/events"
    async with world.client() as http:
        last = (await http.get(path)).json()["next"]
        waiting = [asyncio.create_task(http.get(path, params={"after": last, "wait_s": 30})) for _ in range(FEW)]
        await settle()
        plan = {"plan": {"starloom": 1, "name": "x", "tasks": [{"id": "a", "person": "Go on?"}]}}
        refused = await http.post("/api/v1/constellations", params={"wait_s": 5}, json=plan)
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert len((await http.get("/api/v1/constellations")).json()["items"]) == 1
        world.hub.fanout.end_waits()
        await asyncio.wait_for(asyncio.gather(*waiting), 10)


async def test_t146_a_stream_gives_its_place_back_when_its_reader_leaves(world: World) -> None:
    made = await world.submit(chain("t.one"))
    served = world.hub.fanout

    async def receive() -> dict[str, str]:
        return {"type": "http.disconnect"}

    async def send(message: object) -> None:
        pass

    async def events(changed: asyncio.Event):  # type: ignore[no-untyped-def]
        assert served._watches == {"a token": 1}
        yield b": here\n\n"
        await changed.wait()

    scope = {"type": "http", "asgi": {"spec_version": "2.3"}}
    await fanout.WatchedStream(served, made["id"], "a token", events)(scope, receive, send)
    assert not served._watches


def asked(world: World, path: str, method: str, credential: str = "") -> Any:
    """Return the scope of a request as a server gives it to the application; the owner's by default."""
    path, _, query = path.partition("?")
    host = f"127.0.0.1:{world.hub.settings.port}".encode()
    headers = [
        (b"host", host),
        (b"authorization", (credential or f"Bearer {world.token}").encode()),
        (b"content-type", b"application/json"),
    ]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 40000),
        "server": ("127.0.0.1", world.hub.settings.port),
    }


@pytest.mark.parametrize("way", ["poll", "submission"])
async def test_t146_a_request_gives_its_place_back_when_its_connection_ends(world: World, way: str) -> None:
    made = await world.submit(chain("t.one"))
    async with world.client() as http:
        last = (await http.get(f"/api/v1/constellations/{made['id']}/events")).json()["next"]
    plan = b'{"plan": {"starloom": 1, "name": "x", "tasks": [{"id": "a", "person": "Go on?"}]}}'
    path, method, body = {
        "poll": (f"/api/v1/constellations/{made['id']}/events?after={last}&wait_s=60", "GET", b""),
        "submission": ("/api/v1/constellations?wait_s=60", "POST", plan),
    }[way]
    scope = asked(world, path, method)
    ends, told = asyncio.Event(), [False]

    async def receive() -> dict[str, object]:
        if not told[0]:
            told[0] = True
            return {"type": "http.request", "body": body, "more_body": False}
        await ends.wait()
        return {"type": "http.disconnect"}

    async def send(message: object) -> None:
        pass

    call = asyncio.create_task(world.app(scope, receive, send))
    async with asyncio.timeout(10):
        while not world.hub.fanout._watches:
            await settle(1)
    ends.set()
    await asyncio.wait_for(call, 10)
    assert not world.hub.fanout._watches
