"""The relay of a hub that does not own the shard: commands, agents' sockets and artifact bytes go to the owner.

Reads and live streams are served here from the log; the owner knows a little more than the log about devices and
pairings, so it is asked first, for at most `READ_WITHIN_S`. Nothing is decided or kept: a command is sent once, and if
the owner is lost meanwhile, the caller gets an error and repeats the command with the same key. Every passed
connection ends when another hub becomes the owner, so that a device connects to the new one at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from starloom.edge.access.guard import V1
from starloom.edge.peers.neighbours import Ownership
from starloom.edge.web.hub_seals import POSITION_HEADER, RELAY_HEADER, HubSeals, essence, target_of
from starloom.edge.web.problems import Problem
from starloom.edge.web.shield import refuse_socket
from starloom.edge.web.sockets import Gone, Socket
from starloom_protocol.vocabulary import Code
from starloom_protocol.wire.codec import MESSAGE_BYTES_MAX

if TYPE_CHECKING:
    import httpx  # imported at its use: most hubs never pass anything on, and the import is slow

REQUESTS_MOST = 2_000
"""Requests that are passed on at a time: each holds a connection to the owner; more would only wait for one."""
CONNECT_WITHIN_S = 2.0
"""The owner is in the same network; one that does not answer by then is gone or about to be replaced."""
CAUGHT_UP_WITHIN_S = 2.0
"""The log is followed within milliseconds; a caller waits no longer to read what it has just written."""
READ_WITHIN_S = 1.0
"""The longest wait for the owner when the log here can answer instead."""
SOCKETS_MOST = 20_000
"""The same for requests and sockets together, where a socket comes; a device stays as long as it is connected."""
_log = logging.getLogger(__name__)
_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        b"expect",
        RELAY_HEADER.encode(),
    }
)
_FORWARDED = frozenset({b"x-request-id", b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host", b"forwarded"})
_HANDSHAKE = frozenset(
    {
        b"host",
        b"origin",
        b"content-length",
        b"sec-websocket-key",
        b"sec-websocket-version",
        b"sec-websocket-extensions",
        b"sec-websocket-protocol",
    }
)
_OWN_HEADERS = frozenset({b"x-request-id", b"strict-transport-security", POSITION_HEADER.encode(), b"date", b"server"})
_ANSWERED_HERE = frozenset({("POST", V1 + "/live/tickets"), ("POST", V1 + "/lan/open"), ("POST", V1 + "/lan/close")})
_OWNER_KNOWS_MORE = (V1 + "/enrollments", V1 + "/devices", V1 + "/vitals")
"""The owner alone holds in memory the load of a device, its figures, and refused callers; the rest is in the log."""
_AT_OWNER = ("/aip/", V1 + "/lab/", *_OWNER_KNOWS_MORE)
_STALE = Problem(Code.STORE_UNAVAILABLE, "this hub has not heard from the log lately", retry_after_s=1)
_PLAIN = frozenset({"/healthz", "/readyz", "/metrics"})


def may_be_read_here(method: str, path: str) -> bool:
    """Return whether a read that belongs to the owner can be answered from the log here if the owner does not."""
    return method in ("GET", "HEAD") and path.startswith(_OWNER_KNOWS_MORE)


def belongs_here(method: str, path: str) -> bool:
    """Return whether a hub that does not own the shard answers a request itself."""
    if path.startswith(_AT_OWNER):
        return False
    return method in ("GET", "HEAD") or (method, path) in _ANSWERED_HERE


class Relay:
    """Wraps the application, inside the shield."""

    def __init__(self, app: ASGIApp, ownership: Ownership, seals: HubSeals, port: int) -> None:
        self.app = app
        self._ownership = ownership
        self._seals = seals
        self._port = port
        self._client: httpx.AsyncClient | None = None
        self._passing: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        if self._ownership.owns:
            relayed = scope["state"].get("relayed") is not None
            await self.app(scope, receive, self._with_position(send) if relayed else send)
            return
        socket = scope["type"] == "websocket"
        path: str = scope["path"]
        is_here = path == V1 + "/live" if socket else belongs_here(scope["method"], path)
        url = self._ownership.owner_url
        if not socket and not is_here and url is None and scope["method"] in ("GET", "HEAD") and path.startswith(V1):
            is_here = True  # without an owner an older state is better than no answer
        problem = self._obstacle(scope, is_here=is_here)
        if problem is not None:
            await _refuse(problem, scope, receive, send)
        elif is_here or url is None:
            await self.app(scope, receive, send)
        elif not socket and may_be_read_here(scope["method"], path):
            await self._answer_read(scope, receive, send, url)
        else:
            await self._pass_on((self._socket if socket else self._request)(scope, receive, send, url))

    def _obstacle(self, scope: Scope, *, is_here: bool) -> Problem | None:
        """Return why a request can be answered neither here nor by the owner now; None if it can."""
        path: str = scope["path"]
        if is_here:
            must_be_new = path.startswith(V1) and path not in _PLAIN
            return _STALE if must_be_new and self._ownership.stale else None
        if self._ownership.owner_url is None or scope["state"].get("relayed") is not None:
            return Problem(Code.OVERLOADED, "no hub owns the shard at this moment", retry_after_s=1)
        most = SOCKETS_MOST if scope["type"] == "websocket" else REQUESTS_MOST
        if len(self._passing) >= most:
            return Problem(Code.OVERLOADED, f"{len(self._passing)} requests are being passed on", retry_after_s=1)
        return None

    def cut(self) -> None:
        """End everything that is being passed on: another hub owns the shard now."""
        for task in list(self._passing):
            task.cancel("another hub owns the shard now")

    async def close(self) -> None:
        """End everything and close the connections to the owner."""
        self.cut()
        if self._client is not None:
            await self._client.aclose()

    async def _pass_on(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._passing.add(task)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise
        finally:
            self._passing.discard(task)
        if not task.cancelled():
            task.result()

    def _headers(self, scope: Scope, method: str, drop: frozenset[bytes] = frozenset()) -> list[tuple[bytes, bytes]]:
        connection_names = {
            name.strip().lower()
            for key, value in scope["headers"]
            if key == b"connection"
            for name in value.split(b",")
        }
        dropped = _HOP | _FORWARDED | connection_names | drop
        # Space around a value is no part of it, and a client may not send it: `Bearer ` of an empty variable.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"] if name not in dropped]
        content = essence(method, target_of(scope["raw_path"], scope["query_string"]), headers)
        client = scope["client"][0] if scope.get("client") else ""
        host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
        seal = self._seals.seal(content, client=client, host=host, port=self._port, scheme=scope["scheme"])
        return [
            *headers,
            (RELAY_HEADER.encode(), seal.encode()),
            (b"x-request-id", scope["state"]["request_id"].encode()),
        ]

    async def _answer_read(self, scope: Scope, receive: Receive, send: Send, url: str) -> None:
        """Give the owner's answer to a read if it comes at once, and what is known here otherwise."""
        answer: list[Message] = []

        async def keep(message: Message) -> None:
            answer.append(message)

        try:
            async with asyncio.timeout(READ_WITHIN_S):
                await self._pass_on(self._request(scope, receive, keep, url))
        except (TimeoutError, ConnectionResetError) as error:
            _log.debug("the owner did not answer a read: %r", error)
            answer.clear()
        if answer and int(answer[0]["status"]) < 500:
            for message in answer:
                await send(message)
        elif self._ownership.stale:
            await _refuse(_STALE, scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send, url: str) -> None:
        import httpx

        has_begun = False
        try:
            response = await self._ask(scope, receive, url)
            try:
                await self._catch_up(response.headers.get(POSITION_HEADER))
                headers = [pair for pair in response.headers.raw if _is_kept(pair[0])]
                has_begun = True
                await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
                async for part in response.aiter_raw():
                    await send({"type": "http.response.body", "body": part, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
            finally:
                await response.aclose()
        except (httpx.HTTPError, asyncio.CancelledError) as error:
            current = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and current is not None:
                current.uncancel()
            if has_begun:
                raise ConnectionResetError("the owner of the shard went away in the middle of its answer") from error
            await _refuse(_went_away(error, scope["method"]), scope, receive, send)

    async def _ask(self, scope: Scope, receive: Receive, url: str) -> httpx.Response:
        import httpx

        if self._client is None:
            # An answer may be waited for long (`wait_s`); an owner that is gone is noticed by the log, not by a clock.
            timeout = httpx.Timeout(None, connect=CONNECT_WITHIN_S, pool=CONNECT_WITHIN_S)
            limits = httpx.Limits(max_connections=REQUESTS_MOST, max_keepalive_connections=20)
            self._client = httpx.AsyncClient(timeout=timeout, limits=limits, trust_env=False, follow_redirects=False)
        headers = self._headers(scope, scope["method"])
        has_body = any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])
        target = target_of(scope["raw_path"], scope["query_string"])
        address = httpx.URL(url).copy_with(raw_path=target)
        request = httpx.Request(scope["method"], address, headers=headers, content=_body(receive) if has_body else None)
        return await self._client.send(request, stream=True)

    async def _catch_up(self, pos: str | None) -> None:
        """Wait until the owner's commit is visible here, because the caller may read it next."""
        if pos is None or not pos.isdecimal():
            return
        try:
            async with asyncio.timeout(CAUGHT_UP_WITHIN_S):
                await self._ownership.caught_up(int(pos))
        except TimeoutError:
            _log.warning("event=relay_behind pos=%s here=%d", pos, self._ownership.pos)

    def _with_position(self, send: Send) -> Send:
        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                position = (POSITION_HEADER.encode(), str(self._ownership.pos).encode())
                message["headers"] = [*message.get("headers", []), position]
            await send(message)

        return told

    async def _socket(self, scope: Scope, receive: Receive, send: Send, url: str) -> None:
        await receive()
        owner = urlsplit(url.replace("http", "ws", 1))
        path, query = scope["raw_path"].decode("ascii"), scope["query_string"].decode("ascii")
        ws = urlunsplit((owner.scheme, owner.netloc, path, query, ""))
        headers = self._headers(scope, "GET", _HANDSHAKE)
        pairs = [(name.decode(), value.decode("latin-1")) for name, value in headers]
        try:
            upstream = await connect(
                ws,
                additional_headers=pairs,
                compression=None,
                max_size=MESSAGE_BYTES_MAX + 64 * 1024,
                open_timeout=CONNECT_WITHIN_S,
                proxy=None,
                user_agent_header=None,
            )
        except InvalidStatus as error:
            await refuse_socket(scope, send, _refusal(error))
            return
        except (OSError, TimeoutError, WebSocketException, asyncio.CancelledError) as error:
            await refuse_socket(scope, send, _went_away(error, "GET"))
            return
        await send({"type": "websocket.accept"})
        await _pump(Socket(receive, send), upstream)


async def _pump(socket: Socket, upstream: ClientConnection) -> None:
    """Carry messages both ways until either side ends, then end the other the same way."""

    async def up() -> None:
        while True:
            await upstream.send(await socket.read())

    async def down() -> None:
        async for message in upstream:
            await socket.write(message if isinstance(message, str) else message.decode())

    code, reason = 1012, "another hub owns the shard now"
    tasks = [asyncio.create_task(up()), asyncio.create_task(down())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        _log.debug("a passed socket was cut")
    finally:
        for task in tasks:
            task.cancel()
        for error in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(error, BaseException) and not isinstance(
                error, (Gone, ConnectionClosed, asyncio.CancelledError)
            ):
                _log.error("a passed socket failed", exc_info=error)
        if upstream.close_code is not None and upstream.close_code not in (1005, 1006):
            code, reason = upstream.close_code, upstream.close_reason or ""
        upstream.transport.abort() if upstream.close_code is None else None
        await socket.close(code, reason)


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message: Any = await receive()
        if message["type"] != "http.request":
            import httpx

            raise httpx.ReadError("the asker went away")
        yield message.get("body", b"")
        more = message.get("more_body", False)


async def _refuse(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await refuse_socket(scope, send, problem)
    else:
        await problem.response(scope["state"]["request_id"])(scope, receive, send)


def _went_away(error: BaseException, method: str) -> Problem:
    detail = str(error) or type(error).__name__
    reason, hint = f"the hub that owns the shard does not answer ({detail[:200]})", "Ask again in a moment."
    if method not in ("GET", "HEAD"):
        reason += "; what was asked may or may not have been done"
        hint = "Ask again with the same Idempotency-Key."
    return Problem(Code.HUB_UNREACHABLE, reason, hint=hint, retry_after_s=1)


def _refusal(error: InvalidStatus) -> Problem:
    status = error.response.status_code
    return Problem(Code.OVERLOADED, f"the hub that owns the shard refuses this socket ({status})", retry_after_s=1)


def _is_kept(name: bytes) -> bool:
    return name.lower() not in _HOP and name.lower() not in _OWN_HEADERS
