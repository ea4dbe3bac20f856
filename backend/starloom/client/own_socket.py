"""The connection of the command line to the hub of its own computer: a Unix socket, whose user the kernel names.

The owner's token is not sent to a TCP port for that: any program may listen on it while the hub is down.
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import httpcore
import httpx

from starloom_protocol.wire.peer import peer_uid


class _Stream(httpcore.NetworkStream):
    """An open Unix socket as httpcore reads and writes it."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            self._socket.settimeout(timeout)
            return self._socket.recv(max_bytes)
        except TimeoutError as error:
            raise httpcore.ReadTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.ReadError(str(error)) from error

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        try:
            self._socket.settimeout(timeout)
            self._socket.sendall(buffer)
        except TimeoutError as error:
            raise httpcore.WriteTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        self._socket.close()

    def get_extra_info(self, info: str) -> Any:
        """Say whether an idle connection has something to read, which is its end; nothing else is asked."""
        if info == "is_readable":
            return self._socket.fileno() < 0 or bool(select.select([self._socket], [], [], 0)[0])
        return None


class _OwnUserOnly(httpcore.NetworkBackend):
    """Connects to Unix sockets of one user."""

    def __init__(self, uid: int) -> None:
        self._uid = uid

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.NetworkStream:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(timeout)
            for option in socket_options or ():
                connection.setsockopt(*option)
            connection.connect(path)
        except TimeoutError as error:
            connection.close()
            raise httpcore.ConnectTimeout(str(error)) from error
        except OSError as error:
            connection.close()
            raise httpcore.ConnectError(f"{path}: {error.strerror or error}") from error
        uid = peer_uid(connection)
        if uid != self._uid:
            connection.close()
            raise httpcore.ConnectError(f"{path} is served by another user ({uid}) than the hub's ({self._uid})")
        return _Stream(connection)


class _Body(httpx.SyncByteStream):
    """The body of an answer, its faults in the words of httpx."""

    def __init__(self, stream: Iterable[bytes]) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        with _as_httpx():
            yield from self._stream

    def close(self) -> None:
        with _as_httpx():
            if isinstance(self._stream, _Closing):
                self._stream.close()


@runtime_checkable
class _Closing(Protocol):
    def close(self) -> None: ...


@contextmanager
def _as_httpx() -> Iterator[None]:
    """Raise faults of httpcore as those of httpx, which have the same names."""
    try:
        yield
    except Exception as error:
        kind = getattr(httpx, type(error).__name__, None) if type(error).__module__.startswith("httpcore") else None
        if kind is None:
            raise
        raise kind(str(error)) from error


class OwnSocket(httpx.BaseTransport):
    """HTTP over the socket at `path`; `beside` is the file that named it, which only the hub's user can write."""

    def __init__(self, path: Path, beside: Path) -> None:
        try:
            uid = beside.stat().st_uid
        except FileNotFoundError:  # the hub has just stopped
            uid = os.geteuid()
        self._connections = httpcore.ConnectionPool(
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=5.0,
            uds=str(path),
            network_backend=_OwnUserOnly(uid),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request over a connection whose other end runs as the hub's user.

        The socket speaks plain HTTP, also where the hub's address is one of https: nothing goes over a network.
        """
        url = httpcore.URL(
            scheme=b"http",
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        forwarded = httpcore.Request(
            request.method,
            url,
            headers=request.headers.raw,
            content=cast(httpx.SyncByteStream, request.stream),
            extensions=request.extensions,
        )
        with _as_httpx():
            answer = self._connections.handle_request(forwarded)
        return httpx.Response(
            answer.status,
            headers=answer.headers,
            stream=_Body(cast(Iterable[bytes], answer.stream)),
            extensions=answer.extensions,
        )

    def close(self) -> None:
        """Close every connection."""
        self._connections.close()
