"""The serving of the application: the same server and settings for every listener, with TLS where there is a key."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.http11 import Request
from websockets.protocol import State

from starloom.edge.connections import PING_AFTER_S, BoundedHttp, Places
from starloom.edge.handshake import TAKE, Taker
from starloom_protocol.codec import MESSAGE_BYTES_MAX

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
        ws=cast(type[asyncio.Protocol], partial(Talk, places=places)),
        ws_max_size=MESSAGE_BYTES_MAX + 64 * 1024,
        ws_per_message_deflate=False,
        ws_ping_interval=PING_AFTER_S,
        ws_ping_timeout=20.0,
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


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


class Seldom(logging.Filter):
    """Lets through a warning of one kind at most once a minute: uvicorn writes one for each request that is none."""

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


class Talk(WebSocketsSansIOProtocol):
    """A socket whose messages may be taken at once, and that may be refused by a whole answer.

    uvicorn puts each message into a queue and stops reading until the application, a turn later, has asked for it. And
    uvicorn 0.54 forgets that a whole answer ends the handshake, and tells each refusal as an error of the application.
    """

    descriptors = 1
    _taker: Taker | None = None

    def __init__(self, *args: Any, places: Places, **named: Any) -> None:
        super().__init__(*args, **named)
        self.address = ""
        self._place = places.network
        self._places = places
        self._heard_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._heard_s = self.loop.time()
        self._place = self._places.of(transport)
        self._place.enter(self)  # in the place of the request that asked for it

    def connection_lost(self, exc: Exception | None) -> None:
        self._place.leave(self)
        super().connection_lost(exc)

    def give_way(self) -> None:
        self.transport.abort()

    def shutdown(self) -> None:
        """Say goodbye, but not to a peer that is closing: uvicorn 0.54 does, which the websocket protocol refuses."""
        if self.conn.state is State.CLOSING:
            self.transport.close()
        else:
            super().shutdown()

    def data_received(self, data: bytes) -> None:
        self._heard_s = self.loop.time()
        super().data_received(data)

    def send_keepalive_ping(self) -> None:
        """Ask a peer whether it is there, but not one that has just said something."""
        silent_s = self.loop.time() - self._heard_s
        if (wait_s := self._place.ping_after_s - silent_s) > 0:
            self.ping_timer = self.loop.call_later(wait_s, self.send_keepalive_ping)
        else:
            super().send_keepalive_ping()

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if self.response.status_code == 101:
            cast(dict[str, Any], self.scope["extensions"])[TAKE] = self._offer

    def _offer(self, taker: Taker | None) -> None:
        """Give whole text messages to `taker`, which must not raise, and all others to `receive`; None: no longer."""
        self._taker = taker

    def handle_text(self, event: Frame) -> None:
        # Behind what the application has not asked for yet nothing is taken out of its order.
        if self._taker is None or not event.fin or self.close_sent or not self.queue.empty():
            super().handle_text(event)
            return
        try:
            text = bytes(event.data).decode()
        except UnicodeDecodeError:
            super().handle_text(event)
            return
        self._taker(text)

    def send_receive_event_to_app(self) -> None:
        """Give a whole message to the application, one that is no text as bytes: its endpoint knows who sent it.

        uvicorn 0.54 writes a traceback for text that is no UTF-8, without a word about the peer.
        """
        if self.curr_msg_data_type == "text" and not _is_text(b"".join(self.frames)):
            self.curr_msg_data_type = "bytes"
        super().send_receive_event_to_app()

    async def send(self, message: Any) -> None:
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True


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
