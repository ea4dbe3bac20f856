"""The server's end of a websocket: ASGI between uvicorn's upgrade and the application, over `websockets` without I/O.

An application may hold its socket beyond its own call (the extension `HOLD`). A held socket has no task, no queue, no
headers and no timer of its own, because a hub keeps thousands that say something every few minutes.
"""

from __future__ import annotations

import asyncio
import email.utils
import logging
import secrets
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import unquote

from starlette.types import Message, Scope
from uvicorn.config import Config
from uvicorn.server import ServerState
from websockets.datastructures import Headers
from websockets.exceptions import InvalidState
from websockets.frames import Close, CloseCode, Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import Protocol, Side, State
from websockets.server import ServerProtocol

from starloom.edge.listeners.connections import Connections, Places
from starloom.edge.web.sockets import HOLD, Ended, Taker

CLOSE_WITHIN_S: Final = 10.0
"""A peer that does not answer the closing frame is cut off; a slow link answers within seconds."""
_log = logging.getLogger("uvicorn.error")


class _PeerGone(ConnectionResetError):
    """The application sends to a peer that is no longer there."""


class _Call:
    """The application's call for one socket: its events, and the answer to the handshake until it is sent."""

    def __init__(self, scope: Scope, response: Response) -> None:
        self.scope = scope
        self.response: Response | None = response
        self.refusal: tuple[int, list[tuple[str, str]], bytes] | None = None
        self.events: list[Message] = [{"type": "websocket.connect"}]
        self._waiter: asyncio.Future[None] | None = None

    def put(self, event: Message) -> None:
        self.events.append(event)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def get(self) -> Message:
        """Return the next event; the last one, which says that the peer is gone, as often as it is asked for."""
        while not self.events:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        if self.events[0]["type"] == "websocket.disconnect":
            return self.events[0]
        return self.events.pop(0)


class ServerWebsocket(asyncio.Protocol):
    """One websocket from its upgrade to its end."""

    __slots__ = (
        "_asked_for",
        "_call",
        "_closing",
        "_config",
        "_end_timer",
        "_full",
        "_is_lost",
        "_line",
        "_on_ended",
        "_parts",
        "_place",
        "_places",
        "_read_paused",
        "_state",
        "_taker",
        "_unread",
        "asked_s",
        "heard_s",
        "transport",
    )
    address = ""
    descriptors = 1
    transport: asyncio.Transport

    def __init__(self, *, config: Config, server_state: ServerState, places: Places, **_: Any) -> None:
        self._config = config
        self._state = server_state
        self._places = places
        self._place: Connections = places.network
        self._line = Protocol(Side.SERVER, state=State.OPEN, max_size=config.ws_max_size, logger=_log)
        self._asked_for = False  # whether the request for the socket has come
        self._call: _Call | None = None
        self._taker: Taker | None = None
        self._on_ended: Ended | None = None
        self._full: asyncio.Event | None = None  # set when the transport takes more again
        self._parts: tuple[bool, bytearray] | None = None  # of a message in several frames, and whether it is text
        self._end_timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._closing = self._is_lost = self._read_paused = False
        self.heard_s = self.asked_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._connections.add(self)
        self.heard_s = asyncio.get_running_loop().time()
        self._place = self._places.of(transport)
        self._place.enter(self)  # in the place of the request that asked for it
        self._place.keepalive.watch(self)

    def connection_lost(self, _exc: Exception | None) -> None:
        self._place.keepalive.leave(self)
        self._place.leave(self)
        self._connections.discard(self)
        self._is_lost = True
        self._tell_end(None)
        self.resume_writing()
        if self._end_timer is not None:
            self._end_timer.cancel()
            self._end_timer = None

    def eof_received(self) -> None:
        """The transport closes itself."""

    def pause_writing(self) -> None:
        self._full = asyncio.Event()
        self._await_reader()

    def resume_writing(self) -> None:
        if self._full is not None:
            self._full.set()
            self._full = None
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _await_reader(self) -> None:
        """Cut a peer off that takes nothing for a while, however much it says; one that takes little keeps its place.

        It counts as heard, so that nobody asks whether it is there.
        """
        waiting = self.transport.get_write_buffer_size()

        def look() -> None:
            if self.transport.get_write_buffer_size() < waiting:
                self._await_reader()
            else:
                self.transport.abort()

        self._unread = asyncio.get_running_loop().call_later(self._place.bounds.unread_s, look)

    def data_received(self, data: bytes) -> None:
        self.heard_s = asyncio.get_running_loop().time()
        line = self._line
        if not self._asked_for:
            self._asked_for = True
            self._begin(data)
            return
        line.receive_data(data)
        if line.parser_exc is not None:
            self._break()
            return
        for frame in line.events_received():
            self._hear(cast(Frame, frame))

    @property
    def _connections(self) -> set[Any]:
        return self._state.connections

    def give_way(self) -> None:
        self.transport.abort()

    def shutdown(self) -> None:
        """Say that the server ends."""
        if not self._closing and self._asked_for and self._line.state is State.OPEN:
            if self._opening:
                self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR)
            else:
                self._line.send_close(CloseCode.SERVICE_RESTART)
                self._flush()
            self._tell_end(Close(CloseCode.SERVICE_RESTART, ""))
            self._closing = True
        self.transport.close()

    def ask(self, now_s: float) -> None:
        """Ask a peer that has been silent whether it is there."""
        listened = self._asked_for and not self._opening and not self._read_paused
        if listened and self._line.state is State.OPEN and not self._closing:
            self.asked_s = now_s
            self._line.send_ping(secrets.token_bytes(4))
            self._flush()

    def give_up(self) -> None:
        """End the connection of a peer that has answered nothing."""
        self._line.fail(CloseCode.INTERNAL_ERROR, "keepalive ping timeout")
        self._break()

    @property
    def _opening(self) -> bool:
        return self._call is not None and self._call.response is not None

    def _begin(self, head: bytes) -> None:
        """Read the request for the socket, which uvicorn gives whole, and call the application."""
        opening = ServerProtocol(logger=_log)
        opening.receive_data(head)
        request = next((event for event in opening.events_received() if isinstance(event, Request)), None)
        if request is not None:
            response = opening.accept(request)
            if response.status_code == HTTPStatus.SWITCHING_PROTOCOLS:
                self._call = _Call(self._scope(request), response)
                task = asyncio.get_running_loop().create_task(self._run(self._call))
                self._state.tasks.add(task)
                task.add_done_callback(self._state.tasks.discard)
                return
            opening.send_response(response)
        self._closing = True
        self.transport.write(b"".join(opening.data_to_send()))
        self.transport.close()

    def _scope(self, request: Request) -> Scope:
        raw_path, _, query = request.path.partition("?")
        root, info = self._config.root_path, self.transport.get_extra_info
        subprotocols = [
            name.strip() for value in request.headers.get_all("Sec-WebSocket-Protocol") for name in value.split(",")
        ]
        return {
            "type": "websocket",
            "asgi": {"version": self._config.asgi_version, "spec_version": "2.4"},
            "http_version": "1.1",
            "scheme": "wss" if info("sslcontext") else "ws",
            "server": _end(info("sockname")),
            "client": _end(info("peername")),
            "root_path": root,
            "path": root + unquote(raw_path),
            "raw_path": (root + raw_path).encode("ascii"),
            "query_string": query.encode("ascii"),
            "headers": [(name.encode("ascii"), value.encode("latin-1")) for name, value in request.headers.raw_items()],
            "subprotocols": subprotocols,
            "state": {},
            "extensions": {"websocket.http.response": {}, HOLD: self._hold},
        }

    async def _run(self, call: _Call) -> None:
        """Call the application; end the socket with its call, unless it holds the socket."""
        try:
            await self._config.loaded_app(call.scope, self._receive, self.send)
            if self._opening:
                _log.error("the application returned without an answer to a websocket's handshake")
        except _PeerGone:
            _log.debug("the peer of a websocket was gone before the application")
        except Exception:
            _log.exception("the application behind a websocket failed")
            self._tell_end(Close(CloseCode.INTERNAL_ERROR, "the application failed"))
        finally:
            if self._opening and not self.transport.is_closing():
                self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR)
            self._call = None
            if self._on_ended is None and self._end_timer is None:
                self.transport.close()

    def _refuse(self, status: int, body: bytes = b"", headers: list[tuple[str, str]] | None = None) -> None:
        """Answer the request for the socket by something else than a socket."""
        fields = Headers(headers or [])
        fields.setdefault("Date", email.utils.formatdate(usegmt=True))
        fields.setdefault("Connection", "close")
        fields.setdefault("Content-Length", str(len(body)))
        fields.setdefault("Content-Type", "text/plain; charset=utf-8")
        self._answer(Response(status, HTTPStatus(status).phrase, fields, body))
        self._closing = True
        self.transport.close()

    def _answer(self, response: Response) -> None:
        if self._call is not None:
            self._call.response = None
        self.transport.write(response.serialize())

    def _hear(self, frame: Frame) -> None:
        match frame.opcode:
            case Opcode.TEXT | Opcode.BINARY if frame.fin:
                self._take(bytes(frame.data), text=frame.opcode is Opcode.TEXT)
            case Opcode.TEXT | Opcode.BINARY:
                self._parts = (frame.opcode is Opcode.TEXT, bytearray(frame.data))
            case Opcode.CONT:
                text, parts = self._parts or (False, bytearray())  # there are some, or the protocol had refused it
                parts += frame.data
                if frame.fin:
                    self._parts = None
                    self._take(bytes(parts), text=text)
            case Opcode.PING if self._full is None:
                self._flush()  # the answer
            case Opcode.PING:
                self._line.data_to_send()  # a peer that does not read gets no more answers: they would fill the memory
            case Opcode.CLOSE:
                self._close_heard()

    def _take(self, data: bytes, *, text: bool) -> None:
        """Give a whole message on; text that is no UTF-8 as bytes, because the endpoint knows whose it is."""
        if self._closing:
            return
        try:
            message: str | bytes = data.decode() if text else data
        except UnicodeDecodeError:
            message = data
        if self._taker is not None:
            self._read_later(self._taker(message))
        elif self._call is not None:
            kind = "text" if isinstance(message, str) else "bytes"
            self._call.put({"type": "websocket.receive", kind: message})
            # The application takes one message after the other, and the peer waits for it.
            self._pause_reading()

    def _close_heard(self) -> None:
        if self._closing:
            self.transport.close()
        elif not self.transport.is_closing():
            self._tell_end(self._line.close_rcvd)
            self._flush()
            self.transport.close()

    def _break(self) -> None:
        """End the connection for a fault of the peer, which the protocol has put into words."""
        self._tell_end(self._line.close_sent)
        self._flush()
        self._closing = True
        self.transport.close()

    def _tell_end(self, close: Close | None) -> None:
        code, reason = (close.code, close.reason) if close is not None else (CloseCode.ABNORMAL_CLOSURE, "")
        if self._call is not None:
            self._call.put({"type": "websocket.disconnect", "code": code, "reason": reason})
        on_ended, self._on_ended, self._taker = self._on_ended, None, None
        if on_ended is not None and not self._closing:
            on_ended(reason)

    def _hold(self, taker: Taker, on_ended: Ended) -> None:
        """Give messages to `taker` in the turn in which they come, and the reason of the peer's end to `on_ended`.

        Neither may raise. The socket lasts until it is closed, also when the application's call returns. Messages that
        the application has not read come first.
        """
        self._taker, self._on_ended = taker, on_ended
        call, full = self._call, None
        while call is not None and call.events and self._taker is not None:
            event = call.events.pop(0)
            if event["type"] == "websocket.receive":
                full = taker(cast("str | bytes", event["text"] if "text" in event else event["bytes"])) or full
            elif event["type"] == "websocket.disconnect":
                call.events.insert(0, event)
                self._taker = self._on_ended = None
                on_ended(str(event.get("reason", "")))
        self._read_on()
        self._read_later(full)

    async def _receive(self) -> Message:
        call = self._call
        if call is None:
            return {"type": "websocket.disconnect", "code": CloseCode.ABNORMAL_CLOSURE, "reason": ""}
        event = await call.get()
        if not call.events:
            self._read_on()
        return event

    def _pause_reading(self) -> None:
        if not self._read_paused:
            self._read_paused = True
            self.transport.pause_reading()

    def _read_later(self, full: asyncio.Future[None] | None) -> None:
        """Read a peer no further until the application has room for what it says."""
        if full is not None:
            self._pause_reading()
            full.add_done_callback(lambda _: self._read_on())

    def _read_on(self) -> None:
        if self._read_paused:
            self._read_paused = False
            self.transport.resume_reading()

    async def send(self, message: Message) -> None:
        """Send what the application says, when the transport takes something."""
        while self._full is not None:
            await self._full.wait()
        if self._is_lost:
            raise _PeerGone("the connection ended")
        kind = message["type"]
        if self._call is not None and self._call.response is not None:
            self._send_opening(self._call, self._call.response, message)
        elif self._closing:
            raise RuntimeError(f"`{kind}` came after the end of the socket")
        elif kind == "websocket.send":
            self._send_message(message)
        elif kind == "websocket.close":
            self._send_close(message)
        else:
            raise RuntimeError(f"`{kind}` has no place in an open socket")

    def _send_message(self, message: Message) -> None:
        line, data = self._line, message.get("bytes")
        try:
            if data is not None:
                line.send_binary(data)
            else:
                line.send_text(message["text"].encode())
        except InvalidState as error:
            raise _PeerGone("the connection ends") from error
        self._flush()

    def _send_close(self, message: Message) -> None:
        if self.transport.is_closing():
            return
        code, reason = message.get("code", 1000), message.get("reason", "") or ""
        try:
            self._line.send_close(code, reason)
        except InvalidState as error:
            raise _PeerGone("the connection ends") from error
        self._flush()
        self._closing = True
        self._tell_end(Close(code, reason))
        self._read_on()
        self._end_timer = asyncio.get_running_loop().call_later(CLOSE_WITHIN_S, self.transport.close)

    def _send_opening(self, call: _Call, response: Response, message: Message) -> None:
        """Answer the request for the socket: accept it, refuse it, or refuse it by a whole answer."""
        kind = message["type"]
        if call.refusal is not None and kind == "websocket.http.response.body":
            status, headers, body = call.refusal
            call.refusal = (status, headers, body + message.get("body", b""))
            if not message.get("more_body", False):
                self._refuse(status, call.refusal[2], headers)
        elif call.refusal is not None:
            raise RuntimeError(f"`{kind}` came in the middle of a refusal")
        elif kind == "websocket.accept":
            del response.headers["Date"]
            for name, value in [*self._state.default_headers, *message.get("headers", [])]:
                response.headers[name.decode("latin-1")] = value.decode("latin-1")
            if message.get("subprotocol"):
                response.headers["Sec-WebSocket-Protocol"] = message["subprotocol"]
            if not self.transport.is_closing():
                self._answer(response)
                self._flush()
        elif kind == "websocket.close":
            self._refuse(HTTPStatus.FORBIDDEN)
        elif kind == "websocket.http.response.start":
            headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message.get("headers", [])]
            call.refusal = (message["status"], headers, b"")
        else:
            raise RuntimeError(f"`{kind}` is no answer to a handshake")

    def _flush(self) -> None:
        """Write what the protocol has to say, but nothing before the handshake is answered."""
        if self._opening or self._is_lost:
            return
        data = b"".join(self._line.data_to_send())
        if data:
            self.transport.write(data)


def _end(address: Any) -> tuple[str, int] | None:
    """Return host and port of one end; a Unix socket has neither."""
    return (str(address[0]), int(address[1])) if isinstance(address, tuple) else None
