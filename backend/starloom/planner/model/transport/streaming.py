"""Streamed calls: each piece of an answer is told as it comes, and the whole has the body of an unstreamed call.

Owns the way from a stream to a body, between the libraries of the wires and the endpoint. The libraries see one answer,
however it came: a plain one where the server streams nothing. Must not judge an answer or keep one.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx2

from starloom.planner.model.endpoints.endpoint import Endpoint, Wire
from starloom.planner.model.port import Hear
from starloom.planner.model.transport.completing import completed
from starloom.planner.model.transport.dialling import EVENTS, TooMuch, kind_of
from starloom.planner.model.transport.pieces import EventLines, ServerEvent, joining, streamed

_REFUSES: Final = frozenset({400, 404, 405, 406, 415, 422, 500, 501})
"""The statuses by which a server may say that it streams nothing, with a word about it."""
_WORD: Final = b"stream"
_ENDPOINTS_MOST: Final = 64
_without_streams: dict[tuple[str, str, Wire], None] = {}
"""The endpoints that this process found to refuse streams and to answer without, the oldest first."""
_HOPS: Final = ("content-length", "content-type", "transfer-encoding")


class Streamed(httpx2.AsyncBaseTransport):
    """Sends each call with the wish for a stream; a server that refuses one is asked again without it."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, endpoint: Endpoint, hear: Hear) -> None:
        self._inner = inner
        self._identity = (endpoint.url, endpoint.model, endpoint.wire)
        self._wire, self._model = endpoint.wire, endpoint.model
        self._bytes_most = endpoint.limits.bytes_most
        self._hear = hear

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        if self._identity in _without_streams:
            return await self._plain(await self._inner.handle_async_request(_copied(request, body)))
        wished = json.dumps(streamed(json.loads(body), self._wire)).encode()
        response = await self._inner.handle_async_request(_copied(request, wished))
        if response.status_code in _REFUSES and _WORD in (await response.aread()).lower():
            await response.aclose()
            response = await self._inner.handle_async_request(_copied(request, body))
            if response.status_code < 300:
                _remember(self._identity)
            return await self._plain(response)
        if response.status_code < 300 and kind_of(response) == EVENTS:
            return await self._joined(response)
        return await self._plain(response)

    async def _plain(self, response: httpx2.Response) -> httpx2.Response:
        """Return an answer that came in one body, completed; one that is no JSON is left to the library."""
        if response.status_code >= 300:
            return response
        raw = await response.aread()
        await response.aclose()
        try:
            answer = json.loads(raw)
        except ValueError:
            return _of_body(response, raw)
        return _of_body(response, json.dumps(completed(answer, self._wire, self._model)).encode())

    async def _joined(self, response: httpx2.Response) -> httpx2.Response:
        """Read a stream to its end and return it as one body."""
        answer = joining(self._wire)
        size = 0
        try:
            async for event in self._events(response):
                for piece in answer.take(event):
                    size += len(piece.text.encode("utf-8", "replace"))
                    if size > self._bytes_most:
                        raise TooMuch(f"the answer is longer than {self._bytes_most} bytes")
                    self._hear(piece)
                if answer.ended:
                    break
        finally:
            await response.aclose()
        return _of_body(response, json.dumps(completed(answer.body(), self._wire, self._model)).encode())

    async def _events(self, response: httpx2.Response) -> AsyncIterator[ServerEvent]:
        lines, buffer = EventLines(), bytearray()
        async for part in response.aiter_bytes():
            buffer += part
            while (end := buffer.find(b"\n")) >= 0:
                line = bytes(buffer[:end]).removesuffix(b"\r")
                del buffer[: end + 1]
                if (event := lines.take(line.decode())) is not None:
                    yield event
            if len(buffer) > self._bytes_most:
                raise TooMuch(f"one event of the answer is longer than {self._bytes_most} bytes")
        # Some servers leave out the empty line behind their last event.
        for rest in (bytes(buffer).decode(), ""):
            if (event := lines.take(rest)) is not None:
                yield event

    async def aclose(self) -> None:
        await self._inner.aclose()


def _remember(identity: tuple[str, str, Wire]) -> None:
    _without_streams[identity] = None
    while len(_without_streams) > _ENDPOINTS_MOST:
        del _without_streams[next(iter(_without_streams))]


def _copied(request: httpx2.Request, body: bytes) -> httpx2.Request:
    """Return a call with another body; the transport below changes the address of the one that it is given."""
    headers = [(name, value) for name, value in request.headers.multi_items() if name.lower() != "content-length"]
    extensions: dict[str, Any] = dict(request.extensions)
    return httpx2.Request(request.method, request.url, headers=headers, content=body, extensions=extensions)


def _of_body(response: httpx2.Response, body: bytes) -> httpx2.Response:
    headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _HOPS]
    return httpx2.Response(200, headers=[*headers, ("content-type", "application/json")], content=body)
