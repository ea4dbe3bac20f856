"""The yardstick: the hub's own socket stack (FastAPI, uvicorn, uvloop, websockets-sansio) giving back what it gets.

`python -m tests.bench.echo PORT` is the server. The load comes over plain asyncio protocols that send one prepared
frame and count bytes, so that server and not client is what limits it.
"""

from __future__ import annotations

import asyncio
import base64
import os
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import uvicorn
import uvloop
from fastapi import FastAPI, WebSocket, WebSocketDisconnect
from websockets.asyncio.client import connect

from starloom_agent.wire.line import Line
from tests.bench import machine
from tests.bench.hub_client import BenchFailed

MESSAGE_BYTES = 500
CONNECTIONS = 64
LOAD_S = 2.0
ROUND_TRIPS = 3_000
PAUSE_S = 0.001
START_S = 60.0


@dataclass(frozen=True, slots=True)
class EchoFigures:
    """What one echo run gave: messages per second and CPU with 64 connections, round trip with one.

    `rtt_p50_us` is the yardstick as it was first defined: one outstanding message, and the kernel places both ends,
    mostly on one CPU. `rtt_paced_p50_us` is the same where a millisecond lies between a reply and the next message:
    both processes have been asleep and their caches are cold, as everybody's are in a chain of tasks.
    `rtt_agent_p50_us` has the agent's own line at the other end instead of a bare protocol. Where both ends are kept
    on a CPU each, as a hub and a device have them, it is `rtt_two_cpus_p50_us`; where both share one, so that a message
    wakes no CPU, `rtt_one_cpu_p50_us`.
    """

    messages_s: float
    cpu_us: float
    rtt_p50_us: float
    rtt_two_cpus_p50_us: float
    rtt_one_cpu_p50_us: float
    rtt_paced_p50_us: float
    rtt_agent_p50_us: float


def serve(port: int) -> None:
    """Run the echo server for ever."""
    app = FastAPI(openapi_url=None)

    @app.websocket("/echo")
    async def echo(socket: WebSocket) -> None:
        await socket.accept()
        try:
            while True:
                await socket.send_text(await socket.receive_text())
        except WebSocketDisconnect:
            return

    config = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=port,
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        access_log=False,
    )
    uvloop.run(uvicorn.Server(config).serve())


class _Pinger(asyncio.Protocol):
    """Sends the frame again each time a whole answer has come, at once or after a pause; notes round trips if asked."""

    def __init__(self, port: int, until: float, trips: list[float] | None, pause_s: float) -> None:
        text = b'{"t":"result","value":"' + b"x" * (MESSAGE_BYTES - 25) + b'"}'
        header = bytes([0x81, 0x80 | 126]) + len(text).to_bytes(2, "big") + b"\0\0\0\0"
        self._frame = header + text
        self._answer_bytes = len(text) + 4
        self._port = port
        self._until = until
        self._trips = trips
        self._pause_s = pause_s
        self._have = 0
        self._open = False
        self._head = b""
        self._sent_at = 0.0
        self.count = 0
        self.done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        key = base64.b64encode(os.urandom(16)).decode()
        transport.write(
            f"GET /echo HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        if not self._open:
            self._head += data
            if b"\r\n\r\n" not in self._head:
                return
            if not self._head.startswith(b"HTTP/1.1 101"):
                self._end(BenchFailed(f"the echo server refused: {self._head[:200]!r}"))
                return
            self._open = True
            self._send()
            return
        self._have += len(data)
        if self._have < self._answer_bytes:
            return
        self._have = 0
        self.count += 1
        now = time.perf_counter()
        if self._trips is not None:
            self._trips.append(now - self._sent_at)
        if now < self._until and self._pause_s:
            asyncio.get_running_loop().call_later(self._pause_s, self._send)
        elif now < self._until:
            self._send()
        else:
            self._end(None)

    def _send(self) -> None:
        assert self._transport is not None
        self._sent_at = time.perf_counter()
        self._transport.write(self._frame)

    def _end(self, error: BenchFailed | None) -> None:
        if self._transport is not None:
            self._transport.close()
        if not self.done.done():
            if error is None:
                self.done.set_result(self.count)
            else:
                self.done.set_exception(error)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(BenchFailed(f"the echo server cut the connection: {exc}"))


async def _load(
    port: int, connections: int, for_s: float, trips: list[float] | None = None, *, pause_s: float = 0.0
) -> int:
    loop = asyncio.get_running_loop()
    until = time.perf_counter() + for_s
    pingers = [
        (await loop.create_connection(lambda: _Pinger(port, until, trips, pause_s), "127.0.0.1", port))[1]
        for _ in range(connections)
    ]
    return sum(await asyncio.gather(*(pinger.done for pinger in pingers)))


async def _trips(port: int, *, pause_s: float = 0.0) -> list[float]:
    """Return round trips of one message at a time, for a second."""
    trips: list[float] = []
    await _load(port, 1, 1.0, trips, pause_s=pause_s)
    return trips[:ROUND_TRIPS]


async def _agent_trips(port: int) -> list[float]:
    """Return round trips of one message at a time over the line that agents have, as they open it."""
    text, trips = b'{"t":"result","value":"' + b"x" * (MESSAGE_BYTES - 25) + b'"}', []
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    url = f"ws://127.0.0.1:{port}/echo"
    async with connect(url, compression=None, ping_interval=None, proxy=None, create_connection=Line) as line:
        assert isinstance(line, Line)
        ready, began = line, 0.0

        def send() -> None:
            nonlocal began
            began = time.perf_counter()
            if not ready.write_now(text):
                done.set_exception(BenchFailed("the echo server takes nothing"))

        def take(_message: bytes) -> None:
            trips.append(time.perf_counter() - began)
            if len(trips) < ROUND_TRIPS:
                send()
            else:
                done.set_result(None)

        ready.take = take
        send()
        async with asyncio.timeout(START_S):
            await done
    return trips


async def _until_open(port: int, server: machine.Program) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            if not server.alive():
                break
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return
    raise BenchFailed(f"the echo server does not listen:\n{server.tail()}")


async def measure(port: int, folder: Path) -> EchoFigures:
    """Start an echo server, load it, end it."""
    server = machine.start("echo", ["-m", "tests.bench.echo", str(port)], folder / "echo.log")
    try:
        await _until_open(port, server)
        await _load(port, CONNECTIONS, 0.3)
        cpu, began = machine.cpu_s(server.pid), time.perf_counter()
        count = await _load(port, CONNECTIONS, LOAD_S)
        took, used = time.perf_counter() - began, machine.cpu_s(server.pid) - cpu
        trips = await _trips(port)
        paced = await _trips(port, pause_s=PAUSE_S)
        agents = await _agent_trips(port)
        with machine.on_cpus(server.pid, apart=True):
            two_cpus = await _trips(port)
        with machine.on_cpus(server.pid, apart=False):
            one_cpu = await _trips(port)
    finally:
        machine.stop([server])
    return EchoFigures(
        messages_s=count / took,
        cpu_us=used / count * 1e6,
        rtt_p50_us=statistics.median(trips) * 1e6,
        rtt_two_cpus_p50_us=statistics.median(two_cpus) * 1e6,
        rtt_one_cpu_p50_us=statistics.median(one_cpu) * 1e6,
        rtt_paced_p50_us=statistics.median(paced) * 1e6,
        rtt_agent_p50_us=statistics.median(agents) * 1e6,
    )


if __name__ == "__main__":
    serve(int(sys.argv[1]))
