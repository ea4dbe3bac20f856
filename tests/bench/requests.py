"""HTTP/1.1 as the measuring client needs it: kept alive, one connection for each request in flight, whole answers only.

A request by httpx takes 1.0 to 1.3 ms of CPU here, twice what the hub takes to answer it, on the two CPUs that the hub,
its agents and Redis need as well. Speaks to a hub on loopback that was just started, and to nothing else.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

IDLE_MOST_S: Final = 2.0
"""Below the 5 s after which the server ends a connection that is kept alive."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()


@dataclass(slots=True)
class _Kept:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    since: float


class Requests:
    """The connections to one hub, signed in by a token."""

    def __init__(self, url: str, token: str) -> None:
        where = urlsplit(url)
        self._host, self._port = where.hostname or "", where.port or 80
        self._fields = f"host: {where.netloc}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n"
        self._kept: list[_Kept] = []

    async def send(self, method: str, path: str, body: bytes = b"") -> Answer:
        """Send one request and return its answer.

        Raises:
            OSError, asyncio.IncompleteReadError: the connection failed; whether the hub took the request is unknown.
            ValueError: an answer without a length.
        """
        head = f"{method} {path} HTTP/1.1\r\n{self._fields}content-length: {len(body)}\r\n\r\n"
        connection = await self._connection()
        try:
            connection.writer.write(head.encode() + body)
            answer = await _answer(connection.reader)
        except BaseException:
            connection.writer.close()
            raise
        connection.since = time.monotonic()
        self._kept.append(connection)
        return answer

    async def _connection(self) -> _Kept:
        while self._kept:
            kept = self._kept.pop()
            if time.monotonic() - kept.since < IDLE_MOST_S:
                return kept
            kept.writer.close()
        reader, writer = await asyncio.open_connection(self._host, self._port)
        return _Kept(reader, writer, time.monotonic())

    async def close(self) -> None:
        """Close what is kept alive."""
        while self._kept:
            writer = self._kept.pop().writer
            writer.close()
            await writer.wait_closed()


async def _answer(reader: asyncio.StreamReader) -> Answer:
    first, *fields = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
    length = next((int(field[15:]) for field in fields if field.startswith(b"content-length:")), None)
    if length is None:
        raise ValueError(f"an answer without a length: {first!r}")
    return Answer(status=int(first.split()[1]), content=await reader.readexactly(length))
