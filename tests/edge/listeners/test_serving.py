"""The server's own sockets: held beyond the application's call, in order, and gone when their peer is."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame, Opcode

from starloom.edge.listeners import connections
from starloom.edge.listeners.connections import Bounds, Places
from starloom.edge.listeners.serving import Listener, server_config
from starloom.edge.listeners.websocket_server import ServerWebsocket
from starloom.edge.web.sockets import HOLD
from starloom.host.ports import free_port
from starloom_protocol.wire.codec import MESSAGE_BYTES_MAX
from tests.waiting import PATIENCE_S


class Application:
    """Reads when it may, and then holds the socket: notes how each message came and how the peer went."""

    def __init__(self, reads: int = 0, *, fails: bool = False) -> None:
        self.told: list[str] = []
        self.may_read = asyncio.Event()
        self.over = asyncio.Event()
        self.send: Send
        self.full: asyncio.Future[None] | None = None
        self._reads = reads
        self._fails = fails

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        self.send = send
        await send({"type": "websocket.accept"})
        for _ in range(self._reads):
            await self.may_read.wait()
            message = await receive()
            self.told.append(f"read {message.get('text') or message['bytes']}")
        if self._fails:
            raise ValueError("a fault of the application")
        await self.may_read.wait()
        scope["extensions"][HOLD](self.take, self.ended)

    def take(self, message: str | bytes) -> asyncio.Future[None] | None:
        self.told.append(f"taken {message!s}")
        return self.full

    def ended(self, reason: str) -> None:
        self.told.append(f"ended {reason}")
        self.over.set()


@asynccontextmanager
async def served(app: Any, places: Places | None = None) -> AsyncIterator[tuple[Listener, str]]:
    port = free_port()
    config = server_config(app, host="127.0.0.1", port=port, drain_s=5, certificate=None, key=None, places=places)
    server = Listener(config)
    task = asyncio.create_task(server._serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0)
    try:
        yield server, f"ws://127.0.0.1:{port}/"
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def connected(app: Application) -> AsyncIterator[ClientConnection]:
    async with served(app) as (_, url), connect(url, proxy=None) as socket:
        yield socket


async def said(socket: ClientConnection, *messages: str | bytes | list[str]) -> None:
    """Send messages, one of a list in parts, and wait until all of them have arrived."""
    for message in messages:
        await socket.send(message)
    await (await socket.ping())


async def test_a_held_socket_gives_each_message_in_order() -> None:
    app = Application()
    app.may_read.set()
    async with connected(app) as socket:
        await said(socket)
        await said(socket, "one", ["t", "w", "o"], b"three", "four")
        await app.send({"type": "websocket.send", "text": "back"})
        assert await socket.recv() == "back"
    assert app.told == ["taken one", "taken two", "taken b'three'", "taken four", "ended "]


async def test_messages_before_the_hold_come_first() -> None:
    app = Application(reads=1)
    async with connected(app) as socket:
        # The server does not read on while a message waits for the application.
        for text in ("one", "two", "three"):
            await socket.send(text)
        app.may_read.set()
        await said(socket, "four")
    assert app.told == ["read one", "taken two", "taken three", "taken four", "ended "]


async def test_t300_a_peer_is_read_no_further_until_there_is_room() -> None:
    apps = [Application(), Application()]
    served_by = iter(apps)

    async def each(scope: Scope, receive: Receive, send: Send) -> None:
        await next(served_by)(scope, receive, send)

    for app in apps:
        app.may_read.set()
    async with served(each) as (server, url), connect(url, proxy=None) as flooding, connect(url, proxy=None) as other:
        await said(flooding)
        apps[0].full = full = asyncio.get_running_loop().create_future()
        await flooding.send("one")
        while not apps[0].told:
            await said(other)
        await flooding.send("two")
        answered = await flooding.ping()
        await said(other, "meanwhile")
        sockets = cast("set[ServerWebsocket]", server.server_state.connections)
        for each_socket in sockets:
            each_socket.ask(1.0)
        assert apps[0].told == ["taken one"]
        # It would be cut off for an answer that is not read.
        assert sorted(each_socket.asked_s for each_socket in sockets) == [0.0, 1.0]
        full.set_result(None)
        await answered
        assert apps[0].told == ["taken one", "taken two"]


async def test_a_peer_gone_before_the_hold_ends_it() -> None:
    app = Application()
    async with served(app) as (_, url):
        async with connect(url, proxy=None) as socket:
            await socket.close(1001, "elsewhere")
        app.may_read.set()
        await app.over.wait()
    assert app.told == ["ended elsewhere"]


async def test_text_that_is_no_utf_8_is_taken_as_bytes() -> None:
    app = Application()
    app.may_read.set()
    async with connected(app) as socket:
        await said(socket)
        socket.protocol.send_frame(Frame(Opcode.TEXT, b"\xff"))
        await said(socket)
    assert app.told == [r"taken b'\xff'", "ended "]


async def test_a_message_above_the_limit_ends_a_held_socket() -> None:
    app = Application()
    app.may_read.set()
    async with connected(app) as socket:
        await said(socket)
        with pytest.raises(ConnectionClosed) as closed:
            await said(socket, "x" * (MESSAGE_BYTES_MAX + 64 * 1024 + 1))
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
    assert [text.partition(" ")[0] for text in app.told] == ["ended"]


async def test_a_held_socket_that_the_application_closes_ends_once() -> None:
    app = Application()
    app.may_read.set()
    async with connected(app) as socket:
        await said(socket)
        await app.send({"type": "websocket.close", "code": 1008, "reason": "enough"})
        with pytest.raises(ConnectionClosed, match="enough"):
            await socket.recv()
        with pytest.raises(ConnectionResetError):
            await app.send({"type": "websocket.send", "text": "late"})
    assert app.told == []


async def test_a_stop_ends_held_sockets_and_those_that_close() -> None:
    upset: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: upset.append(context))
    apps: list[Application] = []

    async def each(scope: Scope, receive: Receive, send: Send) -> None:
        apps.append(Application())
        apps[-1].may_read.set()
        await apps[-1](scope, receive, send)

    async with served(each) as (server, url), connect(url, proxy=None) as held, connect(url, proxy=None) as closing:
        await said(held)
        await said(closing)
        closing.protocol.send_close(1000)  # its peer says goodbye and does not read the answer
        await apps[1].send({"type": "websocket.close"})
        await server.shutdown()
        with pytest.raises(ConnectionClosed) as closed:
            await held.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1012
    assert (apps[0].told, apps[1].told, upset) == (["ended "], [], [])


async def test_an_application_that_fails_ends_its_socket(caplog: pytest.LogCaptureFixture) -> None:
    app = Application(fails=True)
    async with connected(app) as socket:
        with pytest.raises(ConnectionClosed):
            await socket.recv()
    assert [record.exc_info is not None for record in caplog.records if record.levelname == "ERROR"] == [True]


async def test_an_application_that_answers_nothing_refuses(caplog: pytest.LogCaptureFixture) -> None:
    async def silent(_: Scope, receive: Receive, _send: Send) -> None:
        await receive()

    async with served(silent) as (_, url):
        with pytest.raises(InvalidStatus) as refused:
            await connect(url, proxy=None)
    assert refused.value.response.status_code == 500
    assert [record.levelname for record in caplog.records] == ["ERROR"]


class Silent:
    """A socket whose peer says nothing."""

    def __init__(self) -> None:
        self.heard_s = self.asked_s = 0.0
        self.gave_up = 0

    def ask(self, now_s: float) -> None:
        self.asked_s = now_s

    def give_up(self) -> None:
        self.gave_up += 1


async def test_a_silent_peer_is_asked_and_then_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    keepalive, silent, spoken = Places().network.keepalive, Silent(), Silent()
    now_s = spoken.heard_s = asyncio.get_running_loop().time()
    keepalive.watch(silent)
    keepalive.watch(spoken)
    keepalive.look()
    assert (silent.asked_s >= now_s, spoken.asked_s, silent.gave_up) == (True, 0, 0)
    asked_s = silent.asked_s
    keepalive.look()
    assert (silent.asked_s, silent.gave_up) == (asked_s, 0), "it has a while to answer"
    monkeypatch.setattr(connections, "PONG_WITHIN_S", 0.0)
    keepalive.look()
    assert (silent.gave_up, spoken.gave_up) == (1, 0)
    keepalive.leave(silent)
    keepalive.leave(spoken)


PINGS = 120_000
WAITING_BYTES_MOST = 2**20


async def test_t160_pings_of_a_peer_that_reads_nothing_are_not_kept() -> None:
    """Each answer waited in memory: a socket that nobody reads took four megabytes a second as long as it lasted."""
    app = Application()
    app.may_read.set()
    async with served(app) as (server, url), unread(url) as line:
        ping = Frame(Opcode.PING, b"x" * 125).serialize(mask=True)
        for _ in range(PINGS // 1000):
            await say(line, ping * 1000)
        await say(line, Frame(Opcode.TEXT, b"the last").serialize(mask=True))
        await until(lambda: app.told == ["taken the last"])
        (held,) = cast(set[Any], server.server_state.connections)
        assert held.transport.get_write_buffer_size() < WAITING_BYTES_MOST


async def test_t269_a_peer_that_speaks_and_does_not_read_is_let_go() -> None:
    app = Application()
    app.may_read.set()
    async with served(app, Places(Bounds(unread_s=0.0))) as (_, url), unread(url) as line:
        await say(line, Frame(Opcode.TEXT, b"here").serialize(mask=True))
        await until(lambda: app.told == ["taken here"])
        with pytest.raises(ConnectionResetError):
            await flood(app)
        assert app.over.is_set()


class Slow:
    """A transport whose peer takes little at a time, and then nothing."""

    def __init__(self) -> None:
        self.waiting = [90, 60, 60, 30, 30, 30]
        self.aborted = False

    def get_write_buffer_size(self) -> int:
        return self.waiting.pop(0)

    def abort(self) -> None:
        self.aborted = True


async def test_a_peer_that_takes_little_keeps_its_place() -> None:
    config = server_config(None, host="", port=0, drain_s=1, certificate=None, key=None)  # type: ignore[arg-type]
    places = Places(Bounds(unread_s=0.0))
    socket = ServerWebsocket(config=config, server_state=ServerState(), places=places)
    socket.transport = slow = cast(Any, Slow())
    socket.pause_writing()
    await until(lambda: slow.aborted)
    assert slow.waiting == []


async def flood(app: Application) -> None:
    for _ in range(1000):
        await app.send({"type": "websocket.send", "bytes": b"x" * 2**16})


@asynccontextmanager
async def unread(url: str) -> AsyncIterator[socket.socket]:
    """Open a websocket as a peer that reads nothing after the handshake."""
    place = urlsplit(url)
    line = socket.create_connection((str(place.hostname), int(place.port or 0)))
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.setblocking(False)
    try:
        head = f"GET / HTTP/1.1\r\nHost: {place.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        await say(line, (head + key).encode())
        assert b"101" in await asyncio.get_running_loop().sock_recv(line, 4096)
        yield line
    finally:
        line.close()


async def say(line: socket.socket, raw: bytes) -> None:
    await asyncio.get_running_loop().sock_sendall(line, raw)


async def until(question: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not question():  # noqa: ASYNC110 - the listener has no event for what it has taken
            await asyncio.sleep(0)


async def test_a_peer_that_answers_is_kept() -> None:
    app = Application()
    app.may_read.set()
    async with served(app) as (server, url), connect(url, proxy=None) as socket:
        await said(socket)
        (held,) = cast(set[Any], server.server_state.connections)
        held.ask(held.heard_s)
        asked_s = held.asked_s
        await said(socket)
        assert held.heard_s > asked_s
        held.give_up()
        with pytest.raises(ConnectionClosed) as closed:
            await socket.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1011
    assert app.told == ["ended keepalive ping timeout"]
