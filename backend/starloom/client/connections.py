"""The connections of the command line to a hub: HTTP over TCP, over TLS, or over the Unix socket of its own computer.

The owner's token is not sent to a TCP port of this computer: any program may listen on it while the hub is down, while
the kernel names the user of a socket. Knows nothing of the content, and follows no redirect and no proxy.

It stands on the standard library, because each command imports it: httpx, which loads its own command line as well,
is a fifth of what a command computes.
"""

from __future__ import annotations

import http.client
import os
import select
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import quote, urlencode, urlsplit

from starloom.client.discovery import HubAddress
from starloom_protocol.wire.peer import peer_uid

CONNECT_S: Final = 5.0
IDLE_S: Final = 5.0
"""A hub closes a connection that was idle for so long."""
CHUNK_BYTES: Final = 65_536
_PATH_SIGNS: Final = "/%:@!$&'()*+,;=~"
"""The signs that a path keeps: those that may stand there, and what is written out already."""


class NoAnswer(Exception):
    """The hub gave no answer, or not all of one."""


class Cut(NoAnswer):
    """The connection ended before the whole answer came."""


@dataclass(frozen=True)
class Request:
    """A request with the seconds for which each part of its answer is awaited."""

    method: str
    path: str
    query: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    wait_s: float = 60.0

    @property
    def target(self) -> str:
        """The path and the query as they are sent."""
        given = {name: str(value).lower() if isinstance(value, bool) else value for name, value in self.query.items()}
        return quote(self.path, _PATH_SIGNS) + (f"?{urlencode(given)}" if given else "")


@dataclass(frozen=True)
class Answer:
    """The status of an answer, and its body as it comes, for one reader."""

    status: int
    chunks: Iterator[bytes]

    @cached_property
    def content(self) -> bytes:
        """The whole body.

        Raises:
            NoAnswer: not all of it came.
        """
        return b"".join(self.chunks)


class Transport(Protocol):
    """A way on which requests reach a hub."""

    def send(self, request: Request) -> Answer:
        """Send a request and return its answer once the status is there.

        Raises:
            NoAnswer: none came; as `Cut` where the connection ended after it was open.
        """

    def close(self) -> None:
        """Close what is open."""


class Connections:
    """The connections to one hub. Each carries one request at a time; an idle one is used again."""

    def __init__(self, address: HubAddress, *, verified: bool = True) -> None:
        self._address = address
        self._verified = verified
        self._idle: list[tuple[_Connection, float]] = []
        self._prefix = urlsplit(address.url).path.rstrip("/")

    def send(self, request: Request) -> Answer:
        connection = self._unused() or self._opened()
        connection.expect(request.wait_s)
        try:
            target = quote(self._prefix, _PATH_SIGNS) + request.target
            # The hub may refuse a body before it has read all of it; its answer is there then.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request(request.method, target, request.content, dict(request.headers))
            response = connection.getresponse()
        except BaseException as error:
            connection.close()
            if isinstance(error, (OSError, http.client.HTTPException, ValueError)):
                raise _fault(error) from error
            raise
        return Answer(response.status, self._body(connection, response))

    def close(self) -> None:
        while self._idle:
            self._idle.pop()[0].close()

    def _body(self, connection: _Connection, response: http.client.HTTPResponse) -> Iterator[bytes]:
        """Yield the body as it comes; the connection is idle after all of it, else closed."""
        whole = False
        try:
            while chunk := response.read1(CHUNK_BYTES):
                yield chunk
            if response.length:
                raise Cut(f"the connection ended {response.length} bytes before the end of the answer")
            whole = not response.will_close
        except (OSError, http.client.HTTPException) as error:
            raise _fault(error) from error
        finally:
            response.close()
            if whole:
                self._idle.append((connection, time.monotonic()))
            else:
                connection.close()

    def _unused(self) -> _Connection | None:
        """Return an idle connection that its hub has not closed; None where there is none."""
        while self._idle:
            connection, since_s = self._idle.pop()
            if time.monotonic() - since_s < IDLE_S and not connection.has_ended():
                return connection
            connection.close()
        return None

    def _opened(self) -> _Connection:
        try:
            connection = _Connection(self._address, verified=self._verified)
            connection.connect()
        except (OSError, ValueError) as error:
            # The socket's name says more than the name of a host, which the address has.
            own = self._address.own
            said = f"{own.socket}: {getattr(error, 'strerror', None) or error}" if own is not None else _words(error)
            raise NoAnswer(said) from error
        return connection


class _Connection(http.client.HTTPConnection):
    """One connection; the Host that the hub sees is that of its address, whatever is dialled."""

    def __init__(self, address: HubAddress, *, verified: bool) -> None:
        url = urlsplit(address.url)
        super().__init__(url.hostname or "", url.port, timeout=CONNECT_S)
        self.default_port = 443 if url.scheme == "https" else 80
        self.port = url.port or self.default_port
        self._address = address
        self._verified = verified

    def connect(self) -> None:
        own = self._address.own
        if own is not None:
            self.sock = _own_users(own.socket, own.file)
            return
        self.sock = socket.create_connection((self.host, self.port), CONNECT_S)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.default_port == 443:
            try:
                self.sock = self._tls().wrap_socket(self.sock, server_hostname=self.host)
            except BaseException:
                self.close()
                raise

    def expect(self, wait_s: float) -> None:
        """Let each part of the next answer take so long."""
        self.sock.settimeout(wait_s)

    def has_ended(self) -> bool:
        """Return whether an idle connection has something to read, which is its end."""
        look = select.poll()
        look.register(self.sock, select.POLLIN)
        return bool(look.poll(0))

    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self._address.ca)
        if not self._verified:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def _own_users(path: Path, beside: Path) -> socket.socket:
    """Open a Unix socket; `beside` is the file that named it, which only the hub's user can write.

    Raises:
        OSError: nobody listens there, or another user does.
    """
    try:
        uid = beside.stat().st_uid
    except FileNotFoundError:  # the hub has just stopped
        uid = os.geteuid()
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        opened.settimeout(CONNECT_S)
        opened.connect(str(path))
        found = peer_uid(opened)
    except BaseException:
        opened.close()
        raise
    if found != uid:
        opened.close()
        raise PermissionError(f"it is served by another user ({found}) than the hub's ({uid})")
    return opened


def _fault(error: Exception) -> NoAnswer:
    """Return the fault of a connection that was open."""
    return (NoAnswer if isinstance(error, (TimeoutError, ValueError)) else Cut)(_words(error))


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
