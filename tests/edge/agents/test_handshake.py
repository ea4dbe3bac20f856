"""A socket as a stream of messages, on the server that the hub is served by."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI, WebSocket
from websockets.asyncio.client import ClientConnection, connect

from starloom.edge.listeners.serving import server_config
from starloom.edge.web.sockets import Gone, Socket
from starloom.host.ports import free_port

TEXT = "x" * 10_000


@asynccontextmanager
async def at_both_ends() -> AsyncIterator[tuple[Socket, ClientConnection]]:
    """Give the hub's socket and that of a peer, over loopback."""
    app, accepted = FastAPI(openapi_url=None), asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    @app.websocket("/")
    async def serve(socket: WebSocket) -> None:
        await socket.accept()
        accepted.set_result(Socket(socket.receive, socket.send))
        await over.wait()

    port = free_port()
    server = uvicorn.Server(server_config(app, host="127.0.0.1", port=port, drain_s=1, certificate=None, key=None))
    serving = asyncio.create_task(server._serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0)
    try:
        async with connect(f"ws://127.0.0.1:{port}/", compression=None, proxy=None, max_queue=1) as peer:
            yield await accepted, peer
            over.set()
    finally:
        server.should_exit = True
        await serving


async def test_what_is_written_now_is_written_once_and_in_order_also_on_a_line_that_fills() -> None:
    async with at_both_ends() as (socket, peer):
        count = 0
        while socket.write_now(f"{count} {TEXT}"):
            count += 1
            assert count < 100_000
        assert not socket.write_now(f"{count} {TEXT}")
        waiting = asyncio.create_task(socket.write(f"{count} {TEXT}"))
        found = [int(str(await peer.recv()).split()[0]) for _ in range(count + 1)]
        await waiting
        assert found == list(range(count + 1))
        assert socket.write_now("last")
        assert await peer.recv() == "last"


async def test_a_peer_that_is_gone_takes_nothing_now() -> None:
    async def receive() -> Any:
        raise AssertionError("nothing is read here")

    async def send(_: Any) -> None:
        raise OSError("reset by peer")

    socket = Socket(receive, send)
    assert not socket.write_now("one")
    assert not socket.write_now("two")
    with pytest.raises(Gone, match="reset by peer"):
        await socket.write("one")
