"""A TCP proxy that breaks a link on purpose: latency, a black hole, a reset, bad frames.

It knows enough of HTTP/1.1 to show the target its own name in `Host` (a hub refuses any other) and to count the body
bytes of uploads by path. It changes nothing else, and nothing at all of a link that is `raw`: a database speaks no
HTTP. Controlled in process; listens on 127.0.0.1 only.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starloom.lab.proxy.http_head import HeadReader
from starloom.lab.proxy.socket_frames import MANGLING, Frames, Mangler
from starloom_protocol.records.lab import FaultKind as Kind

CHUNK = 64 * 1024
DIAL_S = 5.0


@dataclass
class Traffic:
    """Bytes that have passed since the proxy started."""

    up: int = 0
    down: int = 0


@dataclass
class _Direction:
    """The frames of one side of an upgraded connection."""

    frames: Frames
    mangler: Mangler


class _Pipe:
    """One client connection and the connection to the target that belongs to it."""

    def __init__(self, client: asyncio.StreamWriter, target: asyncio.StreamWriter, draw: random.Random) -> None:
        self.client = client
        self.target = target
        self.upgraded = False
        self.framed = False
        self.up = _Direction(Frames(head=False), Mangler(draw))
        self.down = _Direction(Frames(head=True), Mangler(draw))

    def reset(self) -> None:
        """End both sides with RST, without an orderly close, like a pulled cable."""
        for writer in (self.client, self.target):
            raw = writer.transport.get_extra_info("socket")
            if raw is not None:
                with contextlib.suppress(OSError):
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()


class FaultProxy:
    """Carries connections from a port of its own to a target. Every fault stays until `heal`."""

    def __init__(self, host: str, port: int, *, seed: int = 0, raw: bool = False) -> None:
        self._target = (host, port)
        self._raw = raw
        self._random = random.Random(seed)  # noqa: S311 - jitter of a test link
        self._server: asyncio.Server | None = None
        self._pipes: set[_Pipe] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._latency_s = 0.0
        self._jitter_s = 0.0
        self._up_open = asyncio.Event()
        self._down_open = asyncio.Event()
        self._orders_open = asyncio.Event()
        self._refusing = False
        self._hold: tuple[frozenset[str], int] | None = None
        self._held_open = asyncio.Event()
        self._mangling: Kind | None = None
        self.held = asyncio.Event()
        self.traffic = Traffic()
        self.uploaded: dict[str, int] = {}
        self.mangled = 0
        self._free()

    @property
    def port(self) -> int:
        """Return the port that clients dial; `start` must have been awaited."""
        if self._server is None:
            raise RuntimeError("the proxy is not started")
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def connections(self) -> int:
        return len(self._pipes)

    async def start(self, port: int = 0) -> None:
        """Listen; port 0 takes any free one."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)

    async def stop(self) -> None:
        """End every connection and stop listening; idempotent."""
        if self._server is not None:
            self._server.close()
        self._refusing = True
        self._latency_s = self._jitter_s = 0.0
        self._free()
        self._drop_all()
        if self._tasks:  # each ends by itself, now that its connections are gone and nothing is held
            await asyncio.wait(self._tasks)
        if self._server is not None:
            await self._server.wait_closed()
            self._server = None

    def delay(self, seconds: float, jitter_s: float = 0.0) -> None:
        """Hold back every piece of data, in both directions, for so long, up to `jitter_s` more."""
        self._latency_s, self._jitter_s = seconds, jitter_s

    def black_hole(self, *, up: bool = True, down: bool = True) -> None:
        """Let connections stand and pass nothing on: in either direction, or in one of them only."""
        for swallows, way in ((up, self._up_open), (down, self._down_open)):
            if swallows:
                way.clear()

    def mangle(self, kind: Kind) -> None:
        """Drop, duplicate, reorder or corrupt a share of the frames of upgraded sockets, in both directions."""
        if kind not in MANGLING:
            raise ValueError(f"{kind} is nothing that happens to single frames")
        self._mangling = kind

    def hold_uploads(self, paths: frozenset[str], count: int) -> None:
        """Stop uploads to these paths when `count` of their body bytes have passed, and orders on upgraded sockets.

        Sets `held`. Everything else goes on, also the frames of upgraded sockets towards the target.
        """
        self._hold = (paths, count)
        self._held_open.clear()

    def reset(self) -> None:
        """Reset every connection and refuse new ones."""
        self._refusing = True
        self._drop_all()

    def heal(self) -> None:
        """End every fault; connections that were reset stay closed."""
        self._latency_s = self._jitter_s = 0.0
        self._refusing = False
        self._hold = None
        self._mangling = None
        self._free()
        self.held.clear()

    def _free(self) -> None:
        self._up_open.set()
        self._down_open.set()
        self._orders_open.set()
        self._held_open.set()

    def _drop_all(self) -> None:
        for pipe in list(self._pipes):
            pipe.reset()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if not self._accepts():
            writer.transport.abort()
            return
        try:
            async with asyncio.timeout(DIAL_S):
                target_reader, target_writer = await asyncio.open_connection(*self._target)
        except (OSError, TimeoutError):
            writer.transport.abort()
            return
        pipe = _Pipe(writer, target_writer, self._random)
        self._pipes.add(pipe)
        if not self._accepts():  # the fault came while the target was dialled
            pipe.reset()
        try:
            await self._carry(pipe, reader, target_reader)
        finally:
            self._pipes.discard(pipe)
            writer.transport.abort()
            target_writer.transport.abort()

    def _accepts(self) -> bool:
        return not self._refusing

    async def _carry(self, pipe: _Pipe, reader: asyncio.StreamReader, target_reader: asyncio.StreamReader) -> None:
        heads = HeadReader(host=f"{self._target[0]}:{self._target[1]}", raw=self._raw)
        up = asyncio.create_task(
            self._pump(reader, pipe.target, self._up_open, lambda data: self._pass_up(pipe, heads, data))
        )
        down = asyncio.create_task(
            self._pump(target_reader, pipe.client, self._down_open, lambda data: self._pass_down(pipe, data))
        )
        try:
            await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
            # A target that ends its side has answered; what it said must still reach the client.
            if up.done() and not down.done() and up.exception() is None:
                await down
        except OSError:
            pass  # either side may be gone at any moment; the other is ended with it
        finally:
            for task in (up, down):
                task.cancel()
            await asyncio.gather(up, down, return_exceptions=True)

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        way: asyncio.Event,
        judge: Callable[[bytes], Awaitable[bytes]],
    ) -> None:
        while data := await reader.read(CHUNK):
            if self._latency_s or self._jitter_s:
                await asyncio.sleep(self._latency_s + self._random.random() * self._jitter_s)
            await way.wait()
            passed = await judge(data)
            writer.write(passed)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()

    async def _pass_up(self, pipe: _Pipe, heads: HeadReader, data: bytes) -> bytes:
        out = bytearray()
        for piece in heads.feed(data):
            if pipe.framed:
                out += self._mangled(pipe.up, piece.data)
                continue
            pipe.upgraded = pipe.upgraded or piece.upgraded
            pipe.framed = piece.upgraded and b"sec-websocket-key" in piece.data.lower()
            if piece.path and piece.body and piece.method in ("PATCH", "PUT", "POST"):
                await self._count_upload(pipe, piece.path, piece.data, out)
            else:
                out += piece.data
        self.traffic.up += len(out)
        return bytes(out)

    async def _count_upload(self, pipe: _Pipe, path: str, data: bytes, out: bytearray) -> None:
        """Let a piece of a body pass; where a hold ends in its middle, send what is before it and wait."""
        if self._hold is not None and path in self._hold[0]:
            paths, most = self._hold
            room = max(0, most - sum(self.uploaded.get(item, 0) for item in paths))
            if len(data) >= room:
                before, data = data[:room], data[room:]
                self.uploaded[path] = self.uploaded.get(path, 0) + len(before)
                pipe.target.write(bytes(out) + before)
                await pipe.target.drain()
                out.clear()
                self._orders_open.clear()
                self.held.set()
                await self._held_open.wait()
        self.uploaded[path] = self.uploaded.get(path, 0) + len(data)
        out += data

    async def _pass_down(self, pipe: _Pipe, data: bytes) -> bytes:
        if pipe.upgraded:
            await self._orders_open.wait()
        if pipe.framed:
            data = self._mangled(pipe.down, data)
        self.traffic.down += len(data)
        return data

    def _mangled(self, direction: _Direction, data: bytes) -> bytes:
        """Return the bytes to pass on for those of an upgraded connection: whole frames, or their mangled form."""
        before = direction.mangler.hit
        passed = b"".join(direction.mangler.pass_on(frame, self._mangling) for frame in direction.frames.feed(data))
        self.mangled += direction.mangler.hit - before
        return passed


_ACT_S = 10.0


class ThreadedProxy:
    """One link on a loop and a thread of its own, beside code that waits for processes.

    `do` carries out a fault on that loop.
    """

    def __init__(self, port: int, *, seed: int = 0, raw: bool = False) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self.proxy = FaultProxy("127.0.0.1", port, seed=seed, raw=raw)
        asyncio.run_coroutine_threadsafe(self.proxy.start(), self._loop).result(_ACT_S)
        self.url = self.proxy.url

    def do(self, fault: Callable[[FaultProxy], None]) -> None:
        async def act() -> None:
            fault(self.proxy)

        asyncio.run_coroutine_threadsafe(act(), self._loop).result(_ACT_S)

    def close(self) -> None:
        """End every connection and the thread."""
        asyncio.run_coroutine_threadsafe(self.proxy.stop(), self._loop).result(_ACT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_ACT_S)
        self._loop.close()
