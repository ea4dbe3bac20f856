"""How the application is served: the same server and settings for every listener, with TLS where there is a key."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.http11 import Request
from websockets.protocol import Protocol, State

from starloom.edge.handshake import TAKE, Taker
from starloom.edge.heads import BoundedHttp
from starloom_protocol.codec import MESSAGE_BYTES_MAX

if TYPE_CHECKING:
    from uvicorn._types import ASGISendEvent


def server_config(
    app: ASGIApp,
    *,
    host: str,
    port: int,
    drain_s: float,
    certificate: Path | None,
    key: Path | None,
    http: type[BoundedHttp] = BoundedHttp,
    uds: Path | None = None,
) -> uvicorn.Config:
    """Return the settings of one listener; `drain_s` is how long open requests get at its end.

    With `uds` it listens on that Unix socket, and host and port do not count.
    """
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        ws=Talk,
        ws_max_size=MESSAGE_BYTES_MAX + 64 * 1024,
        ws_per_message_deflate=False,
        ws_ping_interval=20.0,
        ws_ping_timeout=20.0,
        http=http,
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


class Talk(WebSocketsSansIOProtocol):
    """A socket whose messages may be taken at once, and that may be refused by a whole answer.

    uvicorn puts each message into a queue and stops reading until the application, a turn later, has asked for it. And
    uvicorn 0.54 forgets that a whole answer ends the handshake, and tells each refusal as an error of the application.
    """

    _taker: Taker | None = None

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

    async def send(self, message: ASGISendEvent) -> None:
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True


class Listener(uvicorn.Server):
    """A server that ends whole: no socket upsets its end, and none outlives it.

    uvicorn 0.54 says goodbye also to a socket that its peer is just closing, which the websocket protocol refuses; and
    it leaves a TLS connection open whose peer does not answer the end of the encryption.
    """

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for connection in list(self.server_state.connections):
            talk = getattr(connection, "conn", None)
            if isinstance(talk, Protocol) and talk.state is State.CLOSING:
                self.server_state.connections.discard(connection)
                connection.transport.close()
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()


class SecondListener(Listener):
    """A server beside the first one, which takes the signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
