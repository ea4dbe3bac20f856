"""The measuring client's HTTP against a server that counts its connections."""

from __future__ import annotations

import asyncio

import pytest

from tests.bench.requests import Requests


class Answering:
    """Answers each request with its own body; `length` says whether with its length."""

    def __init__(self) -> None:
        self.connections = 0
        self.length = True
        self.seen: list[str] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                size = int(head.partition("content-length: ")[2].partition("\r")[0])
                body = await reader.readexactly(size)
                self.seen.append(head.partition("\r")[0])
                field = f"Content-Length: {size}\r\n" if self.length else ""
                writer.write(f"HTTP/1.1 409 Conflict\r\n{field}\r\n".encode() + body)
        except asyncio.IncompleteReadError:
            writer.close()


async def test_requests_share_what_is_kept_alive_and_those_at_once_do_not() -> None:
    answering = Answering()
    server = await asyncio.start_server(answering, "127.0.0.1", 0)
    async with server:
        requests = Requests(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "token")
        for body in (b"one", b"", b"x" * 100_000):
            answer = await requests.send("POST", "/a", body)
            assert (answer.status, answer.content) == (409, body)
        assert answering.connections == 1
        await asyncio.gather(*(requests.send("GET", "/b") for _ in range(3)))
        assert answering.connections == 3
        assert answering.seen == ["post /a http/1.1"] * 3 + ["get /b http/1.1"] * 3
        answering.length = False
        with pytest.raises(ValueError, match="without a length"):
            await requests.send("GET", "/c")
        await requests.close()
