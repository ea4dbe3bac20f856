"""The outermost layer of the hub: Host and Origin on every request and socket, request ids, security headers.

Raw ASGI, before routing and before anything is read. It decides only whether a request may be looked at: `Reach` has
the Host and Origin values that are the hub's own, the listeners' addresses and the public URL, and the peers that may
act for others (trusted proxies). Anything else is DNS rebinding or a foreign page. `CutShort`
answers requests that are still running when the time of a stopping hub is over: the server cancels them, and would log
each as a fault of the hub.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import secrets
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from starloom.edge.web.hub_seals import RELAY_HEADER, HubSeals, essence, target_of
from starloom.edge.web.problems import Problem
from starloom_protocol.vocabulary import Code

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: "
    "blob:; font-src 'self'; connect-src 'self'; worker-src 'self' blob:; frame-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_FIXED = {
    b"content-security-policy": CSP.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"x-frame-options": b"DENY",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), microphone=(), geolocation=(), clipboard-read=(self)",
    b"cache-control": b"no-store",
}
_ALL_FIXED = list(_FIXED.items())
RELAY = RELAY_HEADER.encode()
OWN_SOCKET = "own_socket"
"""The key in the state of a request by a Unix socket of this hub, where no port says which address was dialled."""
_HSTS = b"max-age=31536000"
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{8,64}")
_PROXY: Final = (
    "A proxy in front says by X-Forwarded-Proto how it was asked, and counts if STARLOOM_TRUSTED_PROXIES names its "
    "address: 127.0.0.1 where it runs on the hub's computer."
)
"""The way out where a name of https is asked by http."""


class Shield:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, reach: Reach, seals: HubSeals | None = None) -> None:
        self.app = app
        self._reach = reach
        self._seals = seals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        scope = self._seen_from_outside(scope, headers)
        ids = [value for name, value in headers if name == b"x-request-id"]
        request_id = ids[0].decode() if ids and _REQUEST_ID.fullmatch(ids[0]) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        sealed = [value for name, value in headers if name == RELAY]
        problem = self._judge_passed(scope, headers, sealed) if sealed else self._judge(scope, headers)
        problem = problem or _unreadable(scope)
        if scope["type"] == "websocket":
            if problem is None:
                await self.app(scope, receive, send)
            else:
                await refuse_socket(scope, send, problem)
            return
        secure = scope["scheme"] == "https"

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                _add_headers(message, request_id, secure=secure)
            await send(message)

        if problem is None:
            await self.app(scope, receive, send_with_headers)
        else:
            await problem.response(request_id)(scope, receive, send_with_headers)

    def _seen_from_outside(self, scope: Scope, headers: list[tuple[bytes, bytes]]) -> Scope:
        """Return the scope with the client and scheme that a trusted proxy reports."""
        client = scope.get("client")
        scope = dict(scope)
        scope["scheme"] = {"ws": "http", "wss": "https"}.get(scope["scheme"], scope["scheme"])
        if client and self._reach.trusts(client[0]):
            forwarded = b",".join(value for name, value in headers if name == b"x-forwarded-for").decode("latin-1")
            hops = [part for part in forwarded.split(",") if part.strip()]
            scope["client"] = (self._reach.client_of(client[0], hops), 0)
            proto = [value for name, value in headers if name == b"x-forwarded-proto"]
            if proto and proto[-1].decode("latin-1").strip() in ("http", "https"):
                scope["scheme"] = proto[-1].decode("latin-1").strip()
        return scope

    def _judge_passed(
        self, scope: MutableMapping[str, Any], headers: list[tuple[bytes, bytes]], sealed: list[bytes]
    ) -> Problem | None:
        """Take over the judgement of another hub of this shard; a seal that no hub made is refused."""
        method = scope.get("method", "GET")
        content = essence(method, target_of(scope["raw_path"], scope["query_string"]), headers)
        relayed = self._seals.unseal(sealed[0].decode("latin-1"), content) if self._seals and len(sealed) == 1 else None
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        if relayed is None or (scope["type"] == "http" and hosts != [relayed.host]):
            return Problem(Code.FORBIDDEN, "this was not passed on by a hub of this shard")
        scope["client"], scope["scheme"] = (relayed.client, 0), relayed.scheme
        scope["state"]["relayed"] = relayed
        return None

    def _judge(self, scope: MutableMapping[str, Any], headers: list[tuple[bytes, bytes]]) -> Problem | None:
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        if len(hosts) == 1 and _is_former_address(scope, hosts[0], headers):
            return None
        if len(hosts) != 1 or not self._reach.allows_host(hosts[0], scope["scheme"]):
            host = _printable(hosts[0]) if hosts else "no host"
            if len(hosts) == 1 and scope["scheme"] == "http" and self._reach.allows_host(hosts[0], "https"):
                return Problem(Code.BAD_HOST, f"{host} is an address by https, and this came by http", hint=_PROXY)
            return Problem(Code.BAD_HOST, f"{host} is not an address of this hub")
        origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
        if len(origins) > 1 or (origins and not self._reach.allows_origin(origins[0])):
            return Problem(Code.BAD_ORIGIN, f"a page of {_printable(origins[0])} may not use this hub")
        sites = [value for name, value in headers if name == b"sec-fetch-site"]
        top_level = any(name == b"sec-fetch-mode" and value == b"navigate" for name, value in headers)
        navigates = scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and top_level
        if sites and sites[0] not in (b"same-origin", b"none") and not navigates:
            return Problem(Code.BAD_ORIGIN, "another page asked for this")
        return None


def _unreadable(scope: Scope) -> Problem | None:
    """Refuse an address that is no path, or that has the character NUL.

    Behind the address of another hub, `*@host` would name another host. No name has NUL, and PostgreSQL answers a query
    with it by an error.
    """
    if not scope["raw_path"].startswith(b"/"):
        return Problem(Code.BAD_REQUEST, "an address begins with /", status=400)
    if "\0" not in scope["path"] and b"%00" not in scope["query_string"] and b"\0" not in scope["query_string"]:
        return None
    return Problem(Code.BAD_REQUEST, "the address has the character NUL, which no name has", status=400)


def _is_former_address(scope: MutableMapping[str, Any], host: str, headers: list[tuple[bytes, bytes]]) -> bool:
    """Tell whether a program came by a Unix socket of the hub under an address of this computer.

    The hub may have had another port when the program joined: the socket led it here, and a page cannot send this.
    """
    if not scope["state"].get(OWN_SOCKET):
        return False
    if any(name in (b"origin", b"cookie") or name.startswith(b"sec-fetch-") for name, _ in headers):
        return False
    return _host(host, scope["scheme"]).rpartition(":")[0] in _LOOPBACK_NAMES


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text[:100])


def _add_headers(message: Message, request_id: str, *, secure: bool) -> None:
    headers = list(message.get("headers", []))
    present = {name.lower() for name, _ in headers}
    headers += _ALL_FIXED if present.isdisjoint(_FIXED) else [item for item in _FIXED.items() if item[0] not in present]
    headers.append((b"x-request-id", request_id.encode()))
    if secure:
        headers.append((b"strict-transport-security", _HSTS))
    message["headers"] = headers


async def refuse_socket(scope: Scope, send: Send, problem: Problem) -> None:
    """Refuse a socket before it is accepted, with the problem as the HTTP answer where the server can."""
    if "websocket.http.response" in scope.get("extensions", {}):
        response = problem.response(str(scope.get("state", {}).get("request_id", "")))
        headers = [*response.raw_headers, (b"x-content-type-options", b"nosniff")]
        await send({"type": "websocket.http.response.start", "status": problem.status, "headers": headers})
        await send({"type": "websocket.http.response.body", "body": response.body})
    else:
        await send({"type": "websocket.close", "code": 1008, "reason": problem.reason[:120]})


RETRY_AFTER_S = 2.0
"""A hub that is restarted, or the one that takes over, accepts requests about this much later."""


class CutShort:
    """Wraps the application; `ending` says whether the hub is stopping."""

    def __init__(self, app: ASGIApp, ending: Callable[[], bool]) -> None:
        self.app = app
        self._ending = ending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        has_begun = False

        async def watched(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except asyncio.CancelledError:
            if not self._ending():
                raise
            # If an answer has begun, the end of the connection shows that it is incomplete.
            if not has_begun:
                problem = Problem(
                    Code.OVERLOADED,
                    "the hub stopped before this was done; it may have happened",
                    hint="Ask again with the same Idempotency-Key.",
                    retry_after_s=RETRY_AFTER_S,
                )
                await problem.response(scope.get("state", {}).get("request_id", ""))(scope, receive, send)


_DEFAULT_PORTS = {"http": 80, "https": 443}
_LOOPBACK_NAMES = ("127.0.0.1", "[::1]", "localhost")


@dataclass(slots=True)
class Reach:
    """Allowed values, normalised: hosts as `name:port`, origins as `scheme://name:port`.

    They change only with listeners that are opened and closed while the hub runs.
    """

    hosts: frozenset[str]
    origins: frozenset[str]
    proxies: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...] = field(default=())
    _opened: dict[str, Reach] = field(default_factory=dict)

    def admit(self, url: str) -> None:
        """Allow the address of a listener that is open now."""
        self._opened[url] = reach_of([url])

    def withdraw(self, url: str) -> None:
        """Remove an address of a listener that was closed; idempotent."""
        self._opened.pop(url, None)

    def allows_host(self, value: str, scheme: str) -> bool:
        """Tell whether a Host header that came over `http` or `https` is allowed."""
        host = _host(value, scheme)
        return host in self.hosts or any(host in part.hosts for part in self._opened.values())

    def allows_origin(self, value: str) -> bool:
        """Tell whether an Origin header is allowed; `null` is not."""
        origin = _origin(value)
        return origin in self.origins or any(origin in part.origins for part in self._opened.values())

    def trusts(self, peer: str) -> bool:
        """Tell whether the X-Forwarded-* headers of this peer are believed."""
        if not self.proxies:
            return False
        try:
            address = ipaddress.ip_address(peer)
        except ValueError:
            return False
        return any(address in network for network in self.proxies)

    def client_of(self, peer: str, forwarded_for: Iterable[str]) -> str:
        """Return the client's address: the last one that does not belong to a trusted proxy."""
        client = peer
        for address in reversed([part.strip() for part in forwarded_for]):
            if not self.trusts(client):
                break
            client = address
        return client


def reach_of(urls: Sequence[str], proxies: Sequence[str] = ()) -> Reach:
    """Return the reach of these base URLs; a loopback address also allows `localhost` on the same port."""
    hosts: set[str] = set()
    origins: set[str] = set()
    for url in urls:
        parts = urlsplit(url)
        names = {parts.hostname or ""}
        if names <= {"127.0.0.1", "::1", "localhost"}:
            names.add("localhost")
        port = parts.port or _DEFAULT_PORTS[parts.scheme]
        for name in names:
            host = f"[{name}]" if ":" in name else name
            hosts.add(f"{host}:{port}")
            origins.add(f"{parts.scheme}://{host}:{port}")
    networks = tuple(ipaddress.ip_network(item, strict=False) for item in proxies)
    return Reach(frozenset(hosts), frozenset(origins), networks)


@lru_cache(maxsize=64)
def _host(value: str, scheme: str) -> str:
    try:
        parts = urlsplit(f"//{value}")
        port = parts.port or _DEFAULT_PORTS.get(scheme, 0)
    except ValueError:
        return ""
    if not parts.hostname or parts.username is not None or parts.path or parts.query or parts.fragment:
        return ""
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{name}:{port}"


def _origin(value: str) -> str:
    scheme, separator, authority = value.partition("://")
    if not separator or scheme not in _DEFAULT_PORTS:
        return ""
    host = _host(authority, scheme)
    return f"{scheme}://{host}" if host else ""
