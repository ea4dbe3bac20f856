"""Dials an endpoint by one answer of the resolver: no redirect, no other host or type, and no answer without an end.

Owns the transport that every call of a model goes through. Must not read what an answer says.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import cache
from itertools import chain, zip_longest
from typing import Final

import httpx2

from starloom.planner.model.endpoints.endpoint import Endpoint

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a host, best first; they are all that a call may dial."""
EVENTS: Final = "text/event-stream"
_ADDRESSES_MOST: Final = 4
"""Two of each family: each may take the whole time for connecting, and the call has one time for all of them."""
STREAM_TIMES: Final = 16
"""How much longer than its text a streamed answer may be: a token of 4 bytes comes in an event of 200 to 300, and an
endpoint may send signs of life between. The text itself has the limit of an unstreamed answer."""


class TooMuch(Exception):
    """The endpoint sends more than an answer may have, or another type."""


@cache
def _trusted() -> ssl.SSLContext:
    """Return the certificates of this machine; reading them costs more than all else that a call does here."""
    return httpx2.create_ssl_context()


class Guarded(httpx2.AsyncBaseTransport):
    """Sends to addresses that are resolved here; refuses redirects, other hosts, other types and long bodies."""

    def __init__(self, endpoint: Endpoint, resolve: Resolve) -> None:
        self._inner = httpx2.AsyncHTTPTransport(verify=_trusted(), retries=0)
        self._base = httpx2.URL(endpoint.url)
        self._bytes_most = endpoint.limits.bytes_most
        self._resolve = resolve

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        base, url = self._base, request.url
        if (url.scheme, url.host, url.port) != (base.scheme, base.host, base.port):
            raise TooMuch("the call was for another address than the one that is set")
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            addresses = await self._resolve(url.host, port)
        except OSError as error:
            raise httpx2.ConnectError(f"{url.host} cannot be resolved") from error
        request.extensions = {**request.extensions, "sni_hostname": url.host}
        response = await self._dial(request, addresses)
        if response.is_redirect or 300 <= response.status_code < 400:
            await response.aclose()
            raise TooMuch("the endpoint redirects elsewhere; set the address that it really has")
        kind = kind_of(response)
        if response.status_code < 300 and kind not in ("application/json", EVENTS):
            await response.aclose()
            raise TooMuch(f"the endpoint sent {kind[:64] or 'no type'} and not application/json")
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise TooMuch("the endpoint sent a compressed body, which was not asked for")
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)  # noqa: S101 - an async transport has no other
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_Capped(stream, self._bytes_most * (STREAM_TIMES if kind == EVENTS else 1)),
            extensions=response.extensions,
        )

    async def _dial(self, request: httpx2.Request, addresses: Sequence[str]) -> httpx2.Response:
        """Send to the first address that takes the connection; nothing was sent to the ones before."""
        refused: httpx2.TransportError = httpx2.ConnectError(f"{request.url.host} has no address")
        for address in addresses:
            request.url = request.url.copy_with(host=address)
            try:
                return await self._inner.handle_async_request(request)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                refused = error
        raise refused

    async def aclose(self) -> None:
        await self._inner.aclose()


def kind_of(response: httpx2.Response) -> str:
    """Return the media type of an answer without its parameters."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


class _Capped(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        total = 0
        async for part in self._stream:
            total += len(part)
            if total > self._most:
                raise TooMuch(f"the answer is longer than {self._most} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


async def resolve_once(host: str, port: int) -> list[str]:
    """Return the addresses of a host, the families in turn: one of them may lead nowhere.

    `localhost` is `::1` first on many machines, and servers of models listen on 127.0.0.1 alone.

    Raises:
        OSError: it has none.
    """
    lines = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    by_family: dict[int, list[str]] = {}
    for family, _, _, _, place in lines:
        by_family.setdefault(family, []).append(str(place[0]))
    in_turn = chain.from_iterable(zip_longest(*by_family.values()))
    return list(dict.fromkeys(address for address in in_turn if address is not None))[:_ADDRESSES_MOST]
