"""The server's own sockets: messages are taken in the turn in which they came, and never out of their order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.types import Receive, Scope, Send
from websockets.asyncio.client import ClientConnection, connect

from starloom.edge.handshake import TAKE
from starloom.edge.serving import Listener, server_config
from starloom.lab.ports import free_port


class Application:
    """Notes how each text came; reads only while it may."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.may_read = asyncio.Event()
        self.offer: Any = None
        self.server: Listener

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        self.offer = scope["extensions"][TAKE]
        await send({"type": "websocket.accept"})
        self.offer(lambda text: self.told.append(f"taken {text}"))
        while True:
            await self.may_read.wait()
            message = await receive()
            if message["type"] == "websocket.disconnect":
                return
            self.told.append(f"read {message.get('text') or message['bytes']}")


@asynccontextmanager
async def served() -> AsyncIterator[tuple[Application, ClientConnection]]:
    app, port = Application(), free_port()
    server = Listener(server_config(app, host="127.0.0.1", port=port, drain_s=5, certificate=None, key=None))
    app.server = server
    task = asyncio.create_task(server._serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0)
    try:
        async with connect(f"ws://127.0.0.1:{port}/", proxy=None) as socket:
            yield app, socket
    finally:
        app.may_read.set()
        server.should_exit = True
        await task


async def said(socket: ClientConnection, *messages: str | bytes | list[str]) -> None:
    """Send messages, one of a list in parts, and wait until all of them have arrived."""
    for message in messages:
        await socket.send(message)
    await (await socket.ping())


async def test_whole_texts_are_taken_and_all_others_read() -> None:
    async with served() as (app, socket):
        app.may_read.set()
        await said(socket, "one", "two")
        await said(socket, ["th", "ree"])
        await said(socket, b"four")
        await said(socket, "five")
        assert app.told == ["taken one", "taken two", "read three", "read b'four'", "taken five"]


async def test_nothing_overtakes_what_has_not_been_read() -> None:
    async with served() as (app, socket):
        await said(socket, "one", ["tw", "o"])
        assert app.told == ["taken one"]
        # The server does not read on before the application has taken what waits, so nobody answers a ping here.
        await socket.send("three")
        app.may_read.set()
        await said(socket, "four")
        assert [text.partition(" ")[2] for text in app.told] == ["one", "two", "three", "four"]


async def test_who_no_longer_takes_reads_again() -> None:
    async with served() as (app, socket):
        app.may_read.set()
        await said(socket, "one")
        app.offer(None)
        await said(socket, "two")
        assert app.told == ["taken one", "read two"]


async def test_a_socket_that_is_closing_does_not_upset_a_stop() -> None:
    upset: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: upset.append(context))
    async with served() as (app, socket):
        await said(socket, "one")
        app.offer.__self__.conn.send_close(1000)
        app.may_read.set()
        await app.server.shutdown()
        await socket.wait_closed()
    assert upset == []
