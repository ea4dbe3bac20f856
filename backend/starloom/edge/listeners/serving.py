"""The serving of the application: the same server and settings for every listener, with TLS where there is a key.

Owns the end of a server and, from its import on, how often uvicorn warns. Binds no address: each listener does.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, cast

import uvicorn
from starlette.types import ASGIApp

from starloom.edge.listeners.connections import BoundedHttp, Places
from starloom.edge.listeners.websocket_server import ServerWebsocket
from starloom_protocol.wire.codec import MESSAGE_BYTES_MAX

WARNED_AGAIN_AFTER_S: Final = 60.0


def server_config(
    app: ASGIApp,
    *,
    host: str,
    port: int,
    drain_s: float,
    certificate: Path | None,
    key: Path | None,
    http: type[BoundedHttp] = BoundedHttp,
    places: Places | None = None,
    uds: Path | None = None,
) -> uvicorn.Config:
    """Return the settings of one listener; `drain_s` is how long open requests get at its end.

    Listeners of one process share their `places`, or their connections are bounded one by one. With `uds` it listens
    on that Unix socket, and host and port do not count.
    """
    places = places or Places()
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        ws=cast(type[asyncio.Protocol], partial(ServerWebsocket, places=places)),
        ws_max_size=MESSAGE_BYTES_MAX + 64 * 1024,
        http=cast(type[asyncio.Protocol], partial(http, places=places)),
        uds=str(uds) if uds else None,
        lifespan="off",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        log_config=None,
        limit_concurrency=None,
        timeout_graceful_shutdown=max(1, round(drain_s)),
        ssl_certfile=str(certificate) if certificate else None,
        ssl_keyfile=str(key) if key else None,
    )


class Seldom(logging.Filter):
    """Lets through a warning of one kind at most once a minute: uvicorn writes one for each request it cannot parse."""

    def __init__(self) -> None:
        super().__init__()
        self._said_s: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno > logging.WARNING:
            return True
        said_s = self._said_s.get(str(record.msg))
        if said_s is not None and record.created - said_s < WARNED_AGAIN_AFTER_S:
            return False
        self._said_s[str(record.msg)] = record.created
        return True


logging.getLogger("uvicorn.error").addFilter(Seldom())


class Listener(uvicorn.Server):
    """A server that ends whole: no socket outlives it.

    uvicorn 0.54 leaves a TLS connection open whose peer does not answer the end of the encryption.
    """

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()


class SecondListener(Listener):
    """A server beside the first one, which takes the signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
