"""Requests that never end keep nobody out: a crowd of them over real sockets, and honest callers beside it."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from starloom.edge.listeners.connections import Bounds, Places
from tests.edge.test_served import served
from tests.edge.world import World
from tests.guard.test_lockout import over_tcp
from tests.waiting import PATIENCE_S

CONNECTIONS = 100
CROWD = 60
STALLED = 240
HOST = b"HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
STALLS = {
    "a silent connection": b"",
    "half a head": b"POST /api/v1/sign-in " + HOST + b"X-Half",
    "half a body": b"POST /api/v1/sign-in " + HOST + b"Content-Length: 60000\r\n\r\n{",
    "half a body, refused before": b"POST /api/v1/tokens " + HOST + b"Content-Length: 60000\r\n\r\n{",
    "an endless pause after a request": b"GET /healthz " + HOST + b"\r\n\r\n",
    "half a chunk": b"POST /api/v1/sign-in " + HOST + b"Transfer-Encoding: chunked\r\n\r\nff\r\n{",
}


async def stall(world: World, words: bytes, stack: AsyncExitStack) -> asyncio.StreamReader:
    port = world.hub.settings.port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    stack.callback(writer.close)
    writer.write(words % port if b"%d" in words else words)
    return reader


async def ended(reader: asyncio.StreamReader) -> None:
    """Wait until the hub has ended a connection."""
    try:
        await reader.read()
    except ConnectionResetError:
        return


async def answers(anyone: httpx.AsyncClient, owner: httpx.AsyncClient) -> None:
    """A fresh connection of anybody's, and one of the owner's."""
    async with httpx.AsyncClient(base_url=anyone.base_url, trust_env=False) as fresh:
        assert (await fresh.get("/healthz")).status_code == 200
    assert (await owner.get("/api/v1/devices")).status_code == 200


@pytest.mark.parametrize("kind", STALLS)
async def test_stalled_requests_keep_nobody_out(tmp_path: Path, kind: str) -> None:
    places = Places(Bounds(connections_max=CONNECTIONS, waiting_max=CROWD, head_s=PATIENCE_S, body_s=PATIENCE_S))
    async with (
        served(tmp_path, places) as world,
        over_tcp(world) as anyone,
        over_tcp(world, world.token) as owner,
        AsyncExitStack() as stack,
    ):
        for number in range(STALLED):
            await stall(world, STALLS[kind], stack)
            if number % 20 == 19:
                await answers(anyone, owner)
            assert len(places.network) <= CONNECTIONS
        assert places.network.gave_way >= STALLED - CROWD - 20
        assert places.network.refused == 0


@pytest.mark.parametrize("kind", STALLS)
async def test_a_stalled_request_ends_at_its_deadline(tmp_path: Path, kind: str) -> None:
    places = Places(Bounds(head_s=0.2, body_s=0.2))
    async with served(tmp_path, places) as world, AsyncExitStack() as stack:
        readers = [await stall(world, STALLS[kind], stack) for _ in range(CROWD)]
        await asyncio.wait_for(asyncio.gather(*map(ended, readers)), PATIENCE_S)
        assert places.network.gave_way == 0
        assert len(places.network) == 0


async def test_an_upload_that_goes_on_survives_a_crowd(tmp_path: Path) -> None:
    places = Places(Bounds(connections_max=CONNECTIONS, waiting_max=CROWD))
    size = STALLED * 10
    async with served(tmp_path, places) as world, over_tcp(world, world.token) as owner, AsyncExitStack() as stack:

        async def slowly() -> object:
            for _ in range(STALLED):
                await stall(world, STALLS["half a body"], stack)
                yield b"x" * 10

        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
        stored = await owner.post("/api/v1/artifacts", content=slowly(), headers=headers)  # type: ignore[arg-type]
        assert stored.status_code == 201, stored.text
        assert hashlib.sha256(b"x" * size).hexdigest() in stored.text
