from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from starloom.lab.proxy.fault_proxy import FaultProxy
from tests.waiting import PATIENCE_S


class Target:
    """An HTTP-like server that keeps what it got and answers every piece with `ok`."""

    def __init__(self) -> None:
        self.got = bytearray()
        self.changed = asyncio.Event()
        self.writers: list[asyncio.StreamWriter] = []
        self.server: asyncio.Server | None = None

    async def start(self) -> int:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return int(self.server.sockets[0].getsockname()[1])

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        try:
            while data := await reader.read(65536):
                self.got += data
                self.changed.set()
                writer.write(b"ok")
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.transport.abort()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.got) < count:
                self.changed.clear()
                await self.changed.wait()


@pytest.fixture
async def target() -> AsyncIterator[Target]:
    made = Target()
    yield made
    if made.server is not None:
        made.server.close()
        for writer in made.writers:
            writer.transport.abort()
        await made.server.wait_closed()


@pytest.fixture
async def proxy(target: Target) -> AsyncIterator[FaultProxy]:
    made = FaultProxy("127.0.0.1", await target.start())
    await made.start()
    yield made
    await made.stop()


Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Dial = Callable[[FaultProxy], Awaitable[Line]]


@pytest.fixture
async def dial() -> AsyncIterator[Dial]:
    """Connections through the proxy, all of them ended with the test."""
    lines: list[Line] = []

    async def connect(proxy: FaultProxy) -> Line:
        line = await asyncio.open_connection("127.0.0.1", proxy.port)
        lines.append(line)
        return line

    yield connect
    for _, writer in lines:
        writer.transport.abort()
    await asyncio.gather(*(writer.wait_closed() for _, writer in lines), return_exceptions=True)


async def read(reader: asyncio.StreamReader, count: int) -> bytes:
    async with asyncio.timeout(PATIENCE_S):
        return await reader.readexactly(count)


def head(path: str, length: int) -> bytes:
    return f"PATCH {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode()


async def test_it_carries_both_ways(proxy: FaultProxy, target: Target, dial: Dial) -> None:
    reader, writer = await dial(proxy)
    writer.write(b"raw bytes\r\n\r\n")
    assert await read(reader, 2) == b"ok"
    assert bytes(target.got) == b"raw bytes\r\n\r\n"
    assert proxy.traffic.up == len(target.got)


async def test_it_refuses_all_connections_until_it_heals(proxy: FaultProxy, target: Target, dial: Dial) -> None:
    reader, writer = await dial(proxy)
    writer.write(b"no http\r\n\r\n")
    assert await read(reader, 2) == b"ok"
    proxy.reset()
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await read(reader, 100)
    again, writer_again = await dial(proxy)
    writer_again.write(b"hello\r\n\r\n")
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await read(again, 2)
    proxy.heal()
    healed, writer_healed = await dial(proxy)
    writer_healed.write(b"no http\r\n\r\n")
    assert await read(healed, 2) == b"ok"


async def test_a_black_hole_passes_nothing_until_it_heals(proxy: FaultProxy, target: Target, dial: Dial) -> None:
    reader, writer = await dial(proxy)
    writer.write(b"first\r\n\r\n")
    assert await read(reader, 2) == b"ok"
    before = len(target.got)
    proxy.black_hole()
    writer.write(b"second")
    await writer.drain()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await reader.read(1)
    assert len(target.got) == before
    proxy.heal()
    assert await read(reader, 2) == b"ok"
    assert bytes(target.got[before:]) == b"second"


async def test_uploads_are_held_at_a_count_of_their_own_bytes(proxy: FaultProxy, target: Target, dial: Dial) -> None:
    proxy.hold_uploads(frozenset({"/a", "/b"}), 15)
    _, first = await dial(proxy)
    first.write(head("/a", 10) + b"a" * 10)
    await target.until(len(head("/a", 10)) + 10)
    _, other = await dial(proxy)
    other.write(head("/other", 30) + b"o" * 30)
    _, second = await dial(proxy)
    second.write(head("/b", 10) + b"b" * 10)
    async with asyncio.timeout(PATIENCE_S):
        await proxy.held.wait()
    assert proxy.uploaded["/b"] == 5
    await target.until(len(target.got))
    async with asyncio.timeout(PATIENCE_S):
        while target.got.count(b"b") < 5 or target.got.count(b"o" * 30) < 1:
            target.changed.clear()
            await target.changed.wait()
    assert target.got.count(b"bbbbbb") == 0
    proxy.heal()
    async with asyncio.timeout(PATIENCE_S):
        while proxy.uploaded["/b"] < 10:
            target.changed.clear()
            await target.changed.wait()


async def test_orders_on_a_socket_wait_while_uploads_are_held(proxy: FaultProxy, target: Target, dial: Dial) -> None:
    reader, socket = await dial(proxy)
    socket.write(b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n")
    assert await read(reader, 2) == b"ok"
    proxy.hold_uploads(frozenset({"/a"}), 0)
    _, upload = await dial(proxy)
    upload.write(head("/a", 3) + b"abc")
    async with asyncio.timeout(PATIENCE_S):
        await proxy.held.wait()
    before = len(target.got)
    socket.write(b"report")
    await target.until(before + 6)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await reader.read(1)
    proxy.heal()
    assert await read(reader, 2) == b"ok"


async def test_latency_delays_but_keeps_the_order(proxy: FaultProxy, target: Target, dial: Dial) -> None:
    proxy.delay(0.01, 0.01)
    reader, writer = await dial(proxy)
    began = asyncio.get_running_loop().time()
    writer.write(b"one\r\n\r\n")
    assert await read(reader, 2) == b"ok"
    assert asyncio.get_running_loop().time() - began >= 0.02
    assert bytes(target.got) == b"one\r\n\r\n"


async def test_a_target_that_is_away_drops_the_client(dial: Dial) -> None:
    spare = FaultProxy("127.0.0.1", 1)
    await spare.start()
    try:
        reader, writer = await dial(spare)
        writer.write(b"hello")
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await read(reader, 1)
    finally:
        await spare.stop()


async def test_a_reset_while_both_sides_talk_leaves_nothing_behind(
    proxy: FaultProxy, target: Target, dial: Dial
) -> None:
    faults: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
    lines = [await dial(proxy) for _ in range(8)]
    for _, writer in lines:
        writer.write(b"x" * 500_000)
        writer.write_eof()
    await target.until(100_000)
    proxy.reset()
    async with asyncio.timeout(PATIENCE_S):
        for reader, _ in lines:
            while not reader.at_eof() and reader.exception() is None:
                try:
                    await reader.read(65536)
                except ConnectionError:
                    break
    await proxy.stop()
    assert proxy.connections == 0
    assert faults == []
