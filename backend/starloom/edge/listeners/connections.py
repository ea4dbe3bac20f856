"""The connections of a hub: how many there may be, and how long each may make the hub wait for its peer.

uvicorn and llhttp bound neither: anybody who reaches the port, with or without a token, could fill the hub's memory
with one header, or its descriptors with requests that never end. The size of a body is bounded where it is known whose
it is (`admission`). Sockets of websockets have their places here, and are read by `websocket_server`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from starloom.edge.web.problems import Problem
from starloom.edge.web.sockets import BREAK
from starloom.process.descriptors import REQUEST_DESCRIPTORS, requests_most
from starloom_protocol.vocabulary import Code

HEAD_BYTES_MAX: Final = 64 * 1024
"""A longer head is refused as soon as it is read; the last piece read may complete a head above this bound."""
LOCAL_MAX: Final = 64
"""Programs of this computer have their own places, so that a flood from the network leaves the owner a way in."""
PING_AFTER_S: Final = 20.0
"""Below the 60 s of silence after which proxies usually drop a connection."""
PONG_WITHIN_S: Final = 20.0
"""How long a peer that was asked may say nothing."""
LOOK_EVERY_S: Final = 2.0
"""One timer for all sockets; a silent one is noticed this much later than it could be."""
PINGS_S: Final = 30
"""The most sockets that are pinged a second; the devices of a large fleet send something before they are pinged."""
FULL_AGAIN_AFTER_S: Final = 60.0
"""A flood of connections writes one warning a minute, not one for each."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of one kind of listener. `waiting_max` is for connections of one address whose peer has to act next.

    `connections_max` counts requests, each with a file open beside its connection; a socket counts half of one.
    """

    connections_max: int = 4_096
    waiting_max: int = 4_096
    head_s: float = 30.0
    """How long a new connection may be silent, and how long a head may take that has begun."""
    body_s: float = 30.0
    """How long a body may stay behind `body_bytes_per_s`."""
    body_bytes_per_s: int = 1024
    unread_s: float = 60.0
    """How long an answer may wait for a peer that does not read."""
    linger_s: float = 5.0
    """How long a connection may stay open after the hub has closed it."""


def bounds_for(descriptors: int) -> Bounds:
    """Return the bounds of a process that may open so many files; a request may hold one file beside its connection."""
    connections_max = requests_most(descriptors)
    return Bounds(connections_max=connections_max, waiting_max=min(4_096, max(8, connections_max // 2)))


class PlacedConnection(Protocol):
    """A connection, as `Connections` holds it."""

    address: str
    descriptors: int
    """The most files that are open for it, its own socket among them."""

    def give_way(self) -> None:
        """End at once: a newer connection needs the place."""


class Watched(Protocol):
    """A socket whose peer is asked, when it has been silent, whether it is there."""

    heard_s: float
    """When the peer said something last; kept by the socket."""
    asked_s: float
    """When it was asked last; 0 if never."""

    def ask(self, now_s: float) -> None:
        """Have the peer answer, and note when it was asked."""

    def give_up(self) -> None:
        """End the connection: the peer has not answered."""


class Keepalive:
    """Finds peers that are gone without a word. One timer for all sockets: each needs a look every few minutes."""

    def __init__(self, after_s: Callable[[], float]) -> None:
        self._after_s = after_s
        self._sockets: set[Watched] = set()
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, socket: Watched) -> None:
        self._sockets.add(socket)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LOOK_EVERY_S, self.look)

    def leave(self, socket: Watched) -> None:
        self._sockets.discard(socket)
        if not self._sockets and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def look(self) -> None:
        """Ask those that have been silent, and give up those that have not answered."""
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        silent_since_s, unanswered_since_s = now_s - self._after_s(), now_s - PONG_WITHIN_S
        for watched in [watched for watched in self._sockets if watched.heard_s <= silent_since_s]:
            if watched.asked_s <= watched.heard_s:
                watched.ask(now_s)
            elif watched.asked_s <= unanswered_since_s:
                watched.give_up()
        self._timer = loop.call_later(LOOK_EVERY_S, self.look)


class Connections:
    """The open connections of all listeners of one kind.

    No connection waits for a place. When all are taken, one that waits for its peer gives way: of the address that has
    most of them, the one that has been silent for longest. So a newcomer gets in however many have stalled.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.gave_way = 0
        self.refused = 0
        self._open: dict[PlacedConnection, None] = {}
        self._descriptors = 0
        self._waiting: dict[str, dict[PlacedConnection, None]] = {}
        self._warned_s = float("-inf")
        self.keepalive = Keepalive(lambda: self.ping_after_s)

    @property
    def ping_after_s(self) -> float:
        """How long the peer of a socket may be silent before it is asked whether it is there."""
        return max(PING_AFTER_S, len(self._open) / PINGS_S)

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, connection: PlacedConnection) -> bool:
        """Take a place; False if all are taken by connections that the hub itself keeps waiting or that work."""
        most = self.bounds.connections_max * REQUEST_DESCRIPTORS
        if self._descriptors + connection.descriptors > most and not self._make_room():
            self.refused += 1
            self._warn_full()
            return False
        self._open[connection] = None
        self._descriptors += connection.descriptors
        return True

    def leave(self, connection: PlacedConnection) -> None:
        if connection in self._open:
            del self._open[connection]
            self._descriptors -= connection.descriptors
        self.works(connection)

    def waits(self, connection: PlacedConnection) -> None:
        """Note that the peer has to say or read something next, or has just done a part of it."""
        if connection not in self._open:
            return
        crowd = self._waiting.setdefault(connection.address, {})
        crowd.pop(connection, None)
        crowd[connection] = None
        if len(crowd) > self.bounds.waiting_max:
            self._end(next(iter(crowd)))

    def works(self, connection: PlacedConnection) -> None:
        """Note that the hub has to do something next."""
        crowd = self._waiting.get(connection.address)
        if crowd is not None and connection in crowd:
            del crowd[connection]
            if not crowd:
                del self._waiting[connection.address]

    def _make_room(self) -> bool:
        crowd = max(self._waiting.values(), key=len, default=None)
        if crowd is None:
            return False
        self._end(next(iter(crowd)))
        return True

    def _end(self, connection: PlacedConnection) -> None:
        self.gave_way += 1
        self.leave(connection)
        connection.give_way()

    def _warn_full(self) -> None:
        now_s = asyncio.get_running_loop().time()
        if now_s - self._warned_s >= FULL_AGAIN_AFTER_S:
            self._warned_s = now_s
            _log.warning(
                "event=connections_full most=%d fix=raise_the_limit_of_open_files", self.bounds.connections_max
            )


class Places:
    """The places for connections of the network, and a few for the owner's Unix socket that no network can take."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self.network = Connections(bounds or Bounds())
        self.local = Connections(Bounds(connections_max=LOCAL_MAX, waiting_max=LOCAL_MAX))

    def of(self, transport: asyncio.BaseTransport) -> Connections:
        """Return the places among which a connection counts."""
        end = transport.get_extra_info("socket")
        unix = getattr(socket, "AF_UNIX", None)
        return self.local if end is not None and unix is not None and end.family == unix else self.network


class BoundedHttp(HttpToolsProtocol):
    """A connection whose peer has bounded time, and a head of bounded size, for each request.

    At any moment either the hub has to do something, or one of two timers runs: for the peer's next step, and for an
    answer that the peer does not read.
    """

    descriptors = REQUEST_DESCRIPTORS

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        places: Places,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.address = ""
        self._places = places
        self._place = places.network
        self._in_head = False
        self._in_body = False
        self._body_timed = False
        self._head_bytes = 0
        self._body_bytes = 0
        self._peer_timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self._place = self._places.of(transport)
        if self._place.enter(self):
            self._await_peer(self._place.bounds.head_s)
        else:
            reason = f"{self._place.bounds.connections_max} connections are open"
            self._refuse(Problem(Code.OVERLOADED, reason, retry_after_s=1))

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        super().connection_lost(exc)

    def give_way(self) -> None:
        self._stop_peer_timer()
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._peer_timer is not None:
            self._place.waits(self)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_MAX:
                reason = f"the head of a request has at most {HEAD_BYTES_MAX} bytes"
                self._refuse(Problem(Code.TOO_LARGE, reason, hint="Send fewer or shorter headers.", status=431))
        elif self._in_body and not self._body_timed:
            self._stop_peer_timer()
            self._body_timed = True
            self._await_peer(self._place.bounds.body_s)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = cast(Any, {BREAK: self.transport.abort})
        self._in_head = True
        self._head_bytes = 0
        if self._peer_timer is None:
            self._await_peer(self._place.bounds.head_s)

    def on_headers_complete(self) -> None:
        # Most requests are whole at this moment: the clock of the head is left to `on_message_complete` to stop.
        self._in_head, self._in_body, self._body_timed = False, True, False
        self._body_bytes = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body = False
        self._stop_peer_timer()
        super().on_message_complete()
        if self.cycle is not None and self.cycle.response_complete:  # answered before it was whole
            self._await_peer(self._place.bounds.head_s)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._peer_timer is None and self.cycle.response_complete:
            self._await_peer(self._place.bounds.head_s)

    def handle_websocket_upgrade(self) -> None:
        self._in_head = self._in_body = False
        self._leave()
        super().handle_websocket_upgrade()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(self._place.bounds.unread_s, self.transport.abort)
        self._place.waits(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_unread_timer()
        if self._peer_timer is None:
            self._place.works(self)

    def _stop_unread_timer(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _leave(self) -> None:
        self._stop_peer_timer()
        self._stop_unread_timer()
        self._place.leave(self)

    def _await_peer(self, within_s: float) -> None:
        """Give the peer so long for its next step."""
        self._peer_timer = self.loop.call_later(within_s, self._give_up)
        self._place.waits(self)

    def _stop_peer_timer(self) -> None:
        if self._peer_timer is not None:
            self._peer_timer.cancel()
            self._peer_timer = None
        if self._unread is None:
            self._place.works(self)

    def _give_up(self) -> None:
        self._peer_timer = None
        bounds = self._place.bounds
        if self.transport.is_closing():  # it was to end, and its peer does not take the rest
            self.transport.abort()
        elif self._in_head:
            reason = f"the head of a request ends within {bounds.head_s:g} s"
            self._refuse(Problem(Code.BAD_REQUEST, reason, hint="Send it again, at once and whole.", status=408))
        elif not self._in_body:  # nothing was asked, so there is nothing to answer
            self._end()
        elif self.flow.read_paused or self._body_bytes >= bounds.body_s * bounds.body_bytes_per_s:
            self._body_bytes = 0
            self._await_peer(bounds.body_s)
        else:
            reason = f"the body of a request comes with {bounds.body_bytes_per_s} bytes a second at least"
            self._refuse(Problem(Code.BAD_REQUEST, reason, hint="Send it again, in smaller parts.", status=408))

    def _refuse(self, problem: Problem) -> None:
        """Answer as the application does, unless it has begun to, and end the connection."""
        self._in_head = False
        self._stop_peer_timer()
        if self.transport.is_closing():
            return
        answering = self.cycle is not None and self.cycle.response_started
        if not answering or (self.cycle.response_complete and not self._in_body):
            answer = problem.response()
            lines = [b"%s: %s\r\n" % header for header in (*answer.raw_headers, (b"connection", b"close"))]
            self.transport.write(STATUS_LINE[problem.status] + b"".join(lines) + b"\r\n" + bytes(answer.body))
        self._end()

    def _end(self) -> None:
        self.transport.close()
        self._await_peer(self._place.bounds.linger_s)
