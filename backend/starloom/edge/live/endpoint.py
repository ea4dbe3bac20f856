"""The live socket of the page: a ticket, then subscriptions; snapshots, events in order, and messages beside the log.

An event is encoded once for all viewers and only joined into messages here: the first at once, then together those of
one screen frame. The queue of a client is bounded; above the bound the client gets a resync message, and a client that
does not take even that is cut.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace
from starlette.types import Receive, Scope, Send

from starloom.edge.access.callers import AccessView, Caller, Tickets
from starloom.edge.access.callers import Scope as TokenScope
from starloom.edge.live.fanout import Fanout
from starloom.edge.live.pruned import words_of
from starloom.edge.web.sockets import Gone, Socket, UnprovedSockets
from starloom.process.ending import end_tasks
from starloom.store.port import ReadPort, Unavailable
from starloom_protocol.stream import feed
from starloom_protocol.vocabulary import CODES, Code
from starloom_protocol.wire.version import PROTOCOL_VERSIONS

EVENTS_MAX = 2_048
"""A page that lags by more reads a snapshot, which is less work than to apply every event that it missed."""
BYTES_MAX = 1024 * 1024
"""One page that reads nothing holds this much of the memory of the hub; then it gets a snapshot instead."""
BESIDE_MAX = 256
"""Lines of output and progress that wait for a slow page. They are not in the log; more are dropped."""
CHANGES_EVERY_S = 0.25
"""A page reads a list again once a second at most; a message for each event would double what it hears of a run."""
EVENTS_A_MESSAGE = 256
CATCH_UP_MAX = 2_000
"""A page that was away for fewer events gets them; for more, a snapshot is smaller."""
SUBSCRIPTIONS_MAX = 64
"""A page follows the fleet and the constellations on its screen; each further stream costs memory for its queue."""
TICKET_WITHIN_S = 5.0
"""The ticket is the first message and is there when the socket opens; strangers must not hold sockets open."""
TICKETLESS_MAX = 512
"""Sockets without a ticket at one time; a flood of them leaves the memory of the hub to pages with one."""
REQUEST_BYTES_MAX = 4 * 1024
"""A message of a page names a ticket or one stream; none needs more."""
SOCKETS_PER_TOKEN_MAX = 256
"""Open pages of one sign-in, which a team may share on all its screens; a client that opens them in a loop ends here.
Each costs about 40 KiB while nothing happens, and at most `BYTES_MAX` while its page does not read."""
THREAD_ABOVE_ENTITIES = 2_000
SNAPSHOT_PART_BYTES = 256 * 1024
"""A page parses so much within a few milliseconds; a snapshot of 5,000 tasks has ten times as much."""
FRAME_S = 0.016
"""The shortest time between two pictures of a screen that draws 60 in a second."""
_log = logging.getLogger(__name__)
_requests = msgspec.json.Decoder(feed.LiveRequest)
_encode = msgspec.json.Encoder().encode


async def next_frame() -> None:
    """Wait until a page would draw again."""
    await asyncio.sleep(FRAME_S)


@dataclass(frozen=True, slots=True)
class LiveParts:
    """The parts that the endpoint works with; `drawn` returns when a page has drawn the last message."""

    access: AccessView
    drawn: Callable[[], Awaitable[None]]
    fanout: Fanout
    now_ms: Callable[[], int]
    reads: ReadPort
    tickets: Tickets
    history: str = ""


class Snapshots:
    """The snapshot of the fleet as it stands, made once for all pages that ask for it before it changes.

    A fleet of 10,000 devices takes several megabytes, and every page begins with it. Holds one stream only.
    """

    def __init__(self, reads: ReadPort, fanout: Fanout) -> None:
        self._reads = reads
        self._fanout = fanout
        self._messages: dict[bool, tuple[int, tuple[bytes, ...]]] = {}  # key: whether it is in parts
        self._fanout_begun = 0  # the `Fanout.begun` of what is kept: a log that was replaced makes it void
        self._changes = 0
        self._making = asyncio.Lock()
        fanout.fleet_listeners.append(self._hear)

    def _hear(self, _event: feed.Event) -> None:
        self._changes += 1
        self._messages = {}

    async def fleet(self, *, parts: bool) -> tuple[int, tuple[bytes, ...]]:
        """Return the number of the last event in it, and its messages.

        Raises:
            Unavailable: the store does not answer.
        """
        async with self._making:
            if self._fanout_begun != self._fanout.begun:
                self._messages = {}
            if parts in self._messages:
                return self._messages[parts]
            fanout_begun, changes = self._fanout.begun, self._changes
            seq, entities = await self._reads.entities(feed.FLEET) or (0, {})
            snapshot = (seq, await _snapshot_messages(feed.FLEET, seq, entities, parts=parts))
            if changes == self._changes:
                self._messages[parts], self._fanout_begun = snapshot, fanout_begun
            return snapshot


@dataclass(slots=True)
class _Stream:
    """One subscription: events wait in `early` until the snapshot or the catch-up is queued."""

    seq: int = -1
    loading: bool = True
    early: list[tuple[int, bytes]] = field(default_factory=list)


class LiveEndpoint:
    """The ASGI application behind `/api/v1/live`."""

    def __init__(self, parts: LiveParts) -> None:
        self._parts = parts
        self._unproved = UnprovedSockets()
        self._snapshots = Snapshots(parts.reads, parts.fanout)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        socket = Socket(receive, send)
        code, reason = 1000, ""
        try:
            caller = await self._admit(socket, scope["client"][0] if scope.get("client") else "")
            client = LiveClient(self._parts, socket, caller, self._snapshots)
            await client.serve()
        except Gone:
            pass
        except Refused as refusal:
            code, reason = 1008, refusal.reason
            frame = feed.LiveRefuse(code=refusal.code, fix=CODES[refusal.code].hint, reason=refusal.reason)
            with contextlib.suppress(Gone):
                await socket.write(_encode(frame).decode())
        await socket.close(code, reason)

    async def _admit(self, socket: Socket, address: str) -> Caller:
        try:
            async with self._unproved.place(address, TICKET_WITHIN_S, TICKETLESS_MAX):
                request = read_request(await socket.read())
        except TimeoutError as error:
            raise Refused(Code.NOT_SIGNED_IN, f"no ticket within {TICKET_WITHIN_S:g} s") from error
        if not isinstance(request, feed.Ticket):
            raise Refused(Code.NOT_SIGNED_IN, "the first frame must be a ticket")
        caller = self._parts.tickets.redeem(request.ticket)
        if caller is None or not self._parts.access.is_valid(caller.token):
            raise Refused(Code.NOT_SIGNED_IN, "the ticket is unknown, used or too old")
        if not caller.has_scope(TokenScope.READ):
            raise Refused(Code.FORBIDDEN, f"{caller.way_in} does not have the scope {TokenScope.READ}")
        open_sockets = sum(1 for viewer in self._parts.fanout.viewers() if viewer.token == caller.token)
        if open_sockets >= SOCKETS_PER_TOKEN_MAX:
            raise Refused(Code.RATE_LIMITED, f"{SOCKETS_PER_TOKEN_MAX} live sockets of {caller.way_in} are open")
        return caller


class Refused(Exception):
    """The client is refused or cut; it receives the reason."""

    def __init__(self, code: Code, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def read_request(data: str | bytes) -> feed.LiveRequest:
    """Return a client's frame.

    Raises:
        Refused: if it is none.
    """
    if len(data) > REQUEST_BYTES_MAX:
        raise Refused(Code.TOO_LARGE, f"a frame of the page has at most {REQUEST_BYTES_MAX} bytes")
    try:
        request: feed.LiveRequest = _requests.decode(data)
    except msgspec.MsgspecError as error:
        raise Refused(Code.PROTOCOL_ERROR, f"not a frame of the live stream: {error}") from error
    return request


class LiveClient:
    """One page: its subscriptions and what waits to be sent to it."""

    def __init__(self, parts: LiveParts, socket: Socket, caller: Caller, snapshots: Snapshots) -> None:
        self._parts = parts
        self._snapshots = snapshots
        self._socket = socket
        self._caller = caller
        self._streams: dict[str, _Stream] = {}
        # A message ready to go, or (stream, event) to be joined with its neighbours.
        self._queue: list[bytes | tuple[str, bytes]] = []
        self._bytes = 0
        self._events = 0
        self._answers = 0  # bytes in the queue that the page asked for itself
        self._room = asyncio.Event()
        self._room.set()
        self._loading = asyncio.Lock()
        self._overflowed = False
        self._progress: OrderedDict[tuple[str, str, int], bytes] = OrderedDict()
        self._lines: list[bytes] = []
        self._changed: dict[tuple[str, bytes], bytes] = {}  # by topic and by the part of it that is named
        self._changes_rest: asyncio.TimerHandle | None = None
        self._wake = asyncio.Event()
        self._cut: Refused | None = None
        self._loads: dict[str, asyncio.Task[None]] = {}

    @property
    def token(self) -> str:
        return self._caller.token

    async def serve(self) -> None:
        """Talk until either side ends.

        Raises:
            Gone, Refused: as the reason of the end.
        """
        parts = self._parts
        ready = feed.LiveReady(history=parts.history, now_ms=parts.now_ms(), protocol=PROTOCOL_VERSIONS[-1])
        await self._socket.write(_encode(ready).decode())
        self._parts.fanout.join(self)
        tasks = [asyncio.create_task(self._read_requests()), asyncio.create_task(self._write())]
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            self._parts.fanout.leave(self)
            if self._changes_rest is not None:
                self._changes_rest.cancel()
            tasks += self._loads.values()
            await end_tasks(tasks)

    async def _read_requests(self) -> None:
        while True:
            await self._room.wait()
            request = read_request(await self._socket.read())
            self._check_sign_in()
            match request:
                case feed.Subscribe():
                    self._subscribe(request)
                case feed.Unsubscribe():
                    self._unsubscribe(request.stream)
                case feed.LivePing():
                    self._queue_messages(_encode(feed.LivePong(at_ms=request.at_ms, now_ms=self._parts.now_ms())))
                case feed.Ticket():
                    raise Refused(Code.PROTOCOL_ERROR, "a ticket is the first frame only")

    def _check_sign_in(self) -> None:
        """A sign-in that is revoked cuts its sockets; one that expires does so here, before more is shown."""
        if self._cut is not None:
            raise self._cut
        if not self._parts.access.is_valid(self._caller.token):
            raise Refused(Code.BAD_TOKEN, "the sign-in has ended")

    def _subscribe(self, request: feed.Subscribe) -> None:
        name = request.stream
        if name == feed.ACCESS:
            raise Refused(Code.FORBIDDEN, "the stream access is never streamed")
        if name not in self._streams and len(self._streams) >= SUBSCRIPTIONS_MAX:
            raise Refused(Code.RATE_LIMITED, f"at most {SUBSCRIPTIONS_MAX} streams on one socket")
        self._unsubscribe(name)
        stream = self._streams[name] = _Stream()
        self._parts.fanout.subscribe(self, name)
        load = asyncio.create_task(self._load(stream, request), name=f"live-load-{name}")
        self._loads[name] = load
        load.add_done_callback(lambda loading: self._loaded(name, loading))

    def _unsubscribe(self, name: str) -> None:
        load = self._loads.pop(name, None)
        if load is not None:
            load.cancel()
        if self._streams.pop(name, None) is not None:
            self._parts.fanout.unsubscribe(self, name)
            self._queue = [item for item in self._queue if isinstance(item, bytes) or item[0] != name]
            self._recount()

    def _loaded(self, name: str, load: asyncio.Task[None]) -> None:
        if self._loads.get(name) is load:
            del self._loads[name]
        if not load.cancelled() and load.exception() is not None:
            _log.error("a live subscription to %s failed", name, exc_info=load.exception())
            self.cut(Code.INTERNAL, "the subscription failed; see the hub's log")

    async def _load(self, stream: _Stream, request: feed.Subscribe) -> None:
        """Answer a subscription when the page has taken what it asked for before; else each answer would be kept."""
        async with self._loading:
            await self._room.wait()
            await self._answer(stream, request)

    async def _answer(self, stream: _Stream, request: feed.Subscribe) -> None:
        """Queue the events that the client lacks, or a snapshot, or a resync message."""
        name, after_seq, parts = request.stream, request.after_seq, request.parts
        try:
            if after_seq >= 0:
                events = await self._parts.reads.events(name, after_seq, CATCH_UP_MAX + 1)
                last = feed.decode_event(events[-1]).seq if events else after_seq
                is_complete = last == after_seq + len(events) if events else await self._reaches(name, last)
                if len(events) > CATCH_UP_MAX or not is_complete:
                    self._resync(name, f"event {after_seq} is too far from the present of this stream")
                    return
                for start in range(0, len(events), EVENTS_A_MESSAGE):
                    self._queue_messages(_join(events[start : start + EVENTS_A_MESSAGE]))
                self._go_live(name, stream, last)
                return
            if name == feed.FLEET:
                seq, messages = await self._snapshots.fleet(parts=parts)
                self._queue_messages(*messages)
                self._go_live(name, stream, seq)
                return
            snapshot = await self._parts.reads.entities(name)
            tombstone = await self._parts.reads.tombstone(name) if snapshot is None else None
        except Unavailable as error:
            self._resync(name, f"the store does not answer: {error}")
            return
        if snapshot is None:
            if tombstone is None:
                self._resync(name, "there is no such stream", unknown=True)
            else:
                self._resync(name, words_of(name, tombstone))
            return
        seq, entities = snapshot
        self._queue_messages(*await _snapshot_messages(name, seq, entities, parts=parts))
        self._go_live(name, stream, seq)

    async def _reaches(self, name: str, last: int) -> bool:
        """Return whether the stream has come at least as far as the client says that it is."""
        if last == 0:
            return True
        return bool(await self._parts.reads.events(name, last - 1, 1))

    def _go_live(self, name: str, stream: _Stream, seq: int) -> None:
        stream.seq = seq
        stream.loading = False
        early, stream.early = stream.early, []
        for number, raw in early:
            self.take_event(name, number, raw)

    # From the hub; these only queue.

    def take_event(self, stream: str, seq: int, raw: bytes) -> None:
        subscription = self._streams.get(stream)
        if subscription is None:
            return
        if subscription.loading:
            subscription.early.append((seq, raw))
            if len(subscription.early) > CATCH_UP_MAX:
                self._resync(stream, "the stream moves faster than it could be read")
            return
        if seq <= subscription.seq:
            return
        if seq != subscription.seq + 1:
            self._resync(stream, f"event {subscription.seq + 1} is missing")
            return
        subscription.seq = seq
        self._queue.append((stream, raw))
        self._bytes += len(raw)
        self._events += 1
        if self._events > EVENTS_MAX or self._bytes > BYTES_MAX:
            self._overflow()
        self._wake.set()

    def take_beside(self, item: feed.Beside, raw: bytes) -> None:
        subscription = self._streams.get(item.stream)
        if subscription is not None and item.kind == feed.CHANGED:
            # Never left out, not even while the snapshot is read: nothing later would make up for it.
            key = (item.about, bytes(item.value))
            if len(self._changed) >= BESIDE_MAX and key not in self._changed:
                # Then no part of a list is named any more.
                key, raw = (item.about, b""), msgspec.json.encode(replace(item, value=msgspec.Raw(b"null")))
            self._changed[key] = raw
            self._wake.set()
            return
        if subscription is None or subscription.loading:
            return
        if item.kind == "log":
            if len(self._lines) < BESIDE_MAX:
                self._lines.append(raw)
        else:
            self._progress[item.stream, item.about, item.attempt] = raw
            if len(self._progress) > BESIDE_MAX:
                self._progress.popitem(last=False)
        self._wake.set()

    def cut(self, code: str, reason: str) -> None:
        if self._cut is None:
            self._cut = Refused(Code(code), reason)
        self._wake.set()

    def _queue_messages(self, *messages: bytes) -> None:
        self._queue.extend(messages)
        self._answers += sum(map(len, messages))
        if self._answers > BYTES_MAX:
            self._room.clear()
        self._wake.set()

    def _resync(self, name: str, reason: str, *, unknown: bool = False) -> None:
        self._unsubscribe(name)
        self._queue_messages(_encode(feed.Resync(reason=reason, stream=name, unknown=unknown)))

    def _recount(self) -> None:
        waiting = [item[1] for item in self._queue if isinstance(item, tuple)]
        self._events = len(waiting)
        self._bytes = sum(len(raw) for raw in waiting)

    def _overflow(self) -> None:
        if self._overflowed:
            self.cut(Code.OVERLOADED, "this page takes the stream too slowly; connect again for a snapshot")
            return
        self._overflowed = True
        self._lines.clear()
        self._progress.clear()
        for name in list(self._streams):
            self._resync(name, "this page takes the stream too slowly")

    async def _write(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            self._check_sign_in()
            queue, self._queue, self._events, self._bytes, self._answers = self._queue, [], 0, 0, 0
            for number, message in enumerate(_joined(queue)):
                if number:  # a page may take the message before so slowly as it likes
                    self._check_sign_in()
                await self._socket.write(message.decode())
            # Bounds count again from here: all that made them overflow is out.
            self._overflowed = False
            if self._answers <= BYTES_MAX:
                self._room.set()
            beside = [*self._lines, *self._progress.values(), *self._take_changes()]
            if beside:
                self._lines = []
                self._progress.clear()
                await self._socket.write((b'{"t":"beside","items":[' + b",".join(beside) + b"]}").decode())
            await self._parts.drawn()

    def _take_changes(self) -> list[bytes]:
        """Take what is to be said of lists: at once, then after a rest, for a run changes some with every event."""
        if not self._changed or self._changes_rest is not None:
            return []
        changes = list(self._changed.values())
        self._changed.clear()
        self._changes_rest = asyncio.get_running_loop().call_later(CHANGES_EVERY_S, self._rested)
        return changes

    def _rested(self) -> None:
        self._changes_rest = None
        if self._changed:
            self._wake.set()


def _joined(queue: list[bytes | tuple[str, bytes]]) -> list[bytes]:
    """Join neighbouring events into one message; order stays."""
    messages: list[bytes] = []
    run: list[bytes] = []
    for item in queue:
        if isinstance(item, tuple):
            run.append(item[1])
            continue
        if run:
            messages.append(_join(run))
            run = []
        messages.append(item)
    if run:
        messages.append(_join(run))
    return messages


def _join(events: list[bytes]) -> bytes:
    return b'{"t":"events","events":[' + b",".join(events) + b"]}"


async def _snapshot_messages(stream: str, seq: int, entities: dict[str, bytes], *, parts: bool) -> tuple[bytes, ...]:
    most = SNAPSHOT_PART_BYTES if parts else sys.maxsize
    if len(entities) > THREAD_ABOVE_ENTITIES:
        return await asyncio.to_thread(_snapshot, stream, seq, entities, most)
    return _snapshot(stream, seq, entities, most)


def _snapshot(stream: str, seq: int, entities: dict[str, bytes], most: int) -> tuple[bytes, ...]:
    parts: list[dict[str, msgspec.Raw]] = [{}]
    size = 0
    for key, raw in entities.items():
        if size + len(raw) > most and parts[-1]:
            parts.append({})
            size = 0
        parts[-1][key] = msgspec.Raw(raw)
        size += len(raw)
    frame = feed.Snapshot(entities={}, hash=feed.state_hash(entities), seq=seq, stream=stream, part=0, parts=len(parts))
    return tuple(_encode(replace(frame, entities=part, part=at)) for at, part in enumerate(parts))
