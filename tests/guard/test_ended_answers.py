"""An answer that is under way when the right to it is taken: no more of it comes out, by any route (T136)."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from starloom.edge.live import endpoint
from starloom.edge.routes.work.artifacts import CHUNK_BYTES
from starloom_protocol.wire.frames import Dispatch
from tests.edge.routes.requests.test_a2a import READS, device, message, open_world
from tests.edge.test_served import served
from tests.edge.world import World, an_offer, chain, settle
from tests.guard.test_waits import asked

__all__ = ["open_world"]
C = "/api/v1/constellations"
SECRET = '"the answer of the work"'


class Reader:
    """A client that takes one message of an answer after the other, when it likes."""

    def __init__(self, app: Any, scope: dict[str, Any], body: bytes = b"") -> None:
        self._request = [{"type": "http.request", "body": body, "more_body": False}]
        self._taken: asyncio.Queue[dict[str, Any]] = asyncio.Queue(1)
        self.call = asyncio.create_task(app(scope, self._receive, self._taken.put))

    async def _receive(self) -> dict[str, Any]:
        return self._request.pop() if self._request else await asyncio.Event().wait()  # type: ignore[return-value]

    async def next(self) -> dict[str, Any]:
        return await asyncio.wait_for(self._taken.get(), 10)

    async def rest(self) -> bytes:
        """Take all that still comes until the call ends."""
        found = b""
        async with asyncio.timeout(10):
            while not (self.call.done() and self._taken.empty()):
                if self._taken.empty():
                    await settle(1)
                else:
                    found += self._taken.get_nowait().get("body", b"")
        return found


async def test_t136_a_submission_that_waits_answers_nothing_after_its_end(world: World) -> None:
    agent = await world.online("one", offer=an_offer("t.one"))
    identity, text = await world.new_token("operator")
    async with world.client(text) as http, world.client() as owner:
        waiting = asyncio.create_task(http.post(C, params={"wait_s": 30}, json={"plan": chain("t.one")}))
        dispatch = await agent.next(Dispatch)
        assert (await owner.delete(f"/api/v1/tokens/{identity}")).status_code == 200
        await agent.done(dispatch, SECRET)
        answer = await asyncio.wait_for(waiting, 10)
    assert (answer.status_code, answer.json()["code"]) == (401, "bad_token")


@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
async def test_t136_an_agent_of_others_hears_nothing_after_its_end(open_world: World, method: str) -> None:
    agent = await device(open_world)
    identity, text = await open_world.new_token("operator", ["a2a"])
    scope = asked(open_world, "/a2a", "POST", f"Bearer {text}")
    scope["headers"].append((b"a2a-version", b"1.0"))
    call = {"jsonrpc": "2.0", "id": 7, "method": method, "params": message(READS)}
    reader = Reader(open_world.app, scope, json.dumps(call).encode())
    dispatch = await agent.next(Dispatch)
    if method == "SendStreamingMessage":
        assert (await reader.next())["status"] == 200
        assert b"WORKING" in (await reader.next())["body"]
    async with open_world.client() as owner:
        assert (await owner.delete(f"/api/v1/tokens/{identity}")).status_code == 200
    await agent.done(dispatch, SECRET)
    told = await reader.rest()
    assert b"COMPLETED" not in told
    assert SECRET.encode() not in told


async def _revoked(world: World, made: dict[str, Any]) -> None:
    async with world.client() as owner:
        assert (await owner.delete(f"/api/v1/tokens/{made['id']}")).status_code == 200


async def _expired(world: World, _made: dict[str, Any]) -> None:
    await world.clock.advance(61_000)


@pytest.mark.parametrize("end", [_revoked, _expired])
async def test_t136_a_download_stops_with_the_right_to_it(
    world: World, end: Callable[[World, dict[str, Any]], Awaitable[None]]
) -> None:
    whole = b"a bank statement" * CHUNK_BYTES
    async with world.client() as http:
        kept = (await http.post("/api/v1/artifacts", content=whole)).json()["artifact"]
        made = (await http.post("/api/v1/tokens", json={"role": "viewer", "ttl_s": 60})).json()
    scope = asked(world, f"/api/v1/artifacts/{kept}", "GET", f"Bearer {made['token']}")
    reader = Reader(world.app, scope)
    assert (await reader.next())["status"] == 200
    assert whole.startswith((await reader.next())["body"])
    await end(world, made)
    assert len(await reader.rest()) <= 2 * CHUNK_BYTES


async def test_t136_a_download_of_a_device_stops_when_it_is_revoked(world: World) -> None:
    whole = b"a bank statement" * (CHUNK_BYTES // 4)
    sha256 = hashlib.sha256(whole).hexdigest()
    path = f"/aip/v1/artifacts/{sha256}"
    agent = await world.online("one")
    assert agent.welcome is not None
    async with agent.http(world, agent.welcome) as http:
        place = {"Upload-Offset": "0", "Upload-Length": str(len(whole))}
        assert (await http.patch(path, content=whole, headers=place)).status_code == 204
        request = http.build_request("GET", path)
        assert isinstance(http.auth, httpx.Auth)
        next(http.auth.auth_flow(request))
    reader = Reader(world.app, asked(world, path, "GET", request.headers["authorization"]))
    assert (await reader.next())["status"] == 200
    await reader.next()
    async with world.client() as owner:
        assert (await owner.post(f"/api/v1/devices/{agent.id}/revoke", json={})).status_code == 200
    assert len(await reader.rest()) <= 2 * CHUNK_BYTES


async def test_t136_a_page_that_reads_slowly_gets_no_more_of_a_snapshot(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "SNAPSHOT_PART_BYTES", 1024)
    made = await world.submit(chain(*["t.one"] * 60))
    identity, text = await world.new_token("viewer")
    socket = await world.page(text)
    socket._from_app = asyncio.Queue(1)
    await socket.send_json({"t": "subscribe", "stream": made["id"], "parts": True})
    assert (await socket.receive_json())["parts"] > 5
    async with world.client() as owner:
        assert (await owner.delete(f"/api/v1/tokens/{identity}")).status_code == 200
    assert sum('"snapshot"' in said for said in await socket.until_closed()) <= 2


async def test_t136_a_download_that_is_stopped_is_no_error_of_the_hub(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(tmp_path) as world:
        whole = b"a bank statement" * 2**20
        async with world.client() as http:
            kept = (await http.post("/api/v1/artifacts", content=whole)).json()["artifact"]
        identity, text = await world.new_token("viewer")
        reader, writer = await asyncio.open_connection("127.0.0.1", world.hub.settings.port, limit=4096)
        head = f"GET /api/v1/artifacts/{kept} HTTP/1.1\r\nHost: 127.0.0.1:{world.hub.settings.port}\r\n"
        writer.write(f"{head}Authorization: Bearer {text}\r\n\r\n".encode())
        assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
        async with world.client() as owner:
            assert (await owner.delete(f"/api/v1/tokens/{identity}")).status_code == 200
        found = b""
        with suppress(ConnectionResetError):
            while piece := await asyncio.wait_for(reader.read(CHUNK_BYTES), 10):
                found += piece
        writer.close()
        assert len(found) < len(whole)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
