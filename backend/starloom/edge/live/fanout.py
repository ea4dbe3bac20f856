"""The fan-out of committed events to read models, waiting requests and live sockets. Each event is encoded once.

It is the engine's `LiveSink`: never blocks, never raises, keeps nothing but its lists of listeners. Each viewer bounds
its own queue.

`Changes` listens to the same events and tells pages which list of the REST API has changed, so that they poll nothing.
The message has no content: a page that hears it reads the list with its own rights.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

import msgspec
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from starloom.edge.access.refusals import DeviceRefusal, Refusals
from starloom.edge.web.problems import Problem
from starloom_protocol.stream.feed import ACCESS, CHANGED, FLEET, Beside, Event
from starloom_protocol.vocabulary import Code, Topic

WATCHES_PER_TOKEN_MAX: Final = 256
"""Requests of one token that may wait for events at a time; as many as it may have live sockets."""

_log = logging.getLogger(__name__)
_encoder = msgspec.json.Encoder(order="deterministic")


class Viewer(Protocol):
    """A live socket as the fan-out sees it; its methods only queue."""

    def take_event(self, stream: str, seq: int, raw: bytes) -> None: ...

    def take_beside(self, item: Beside, raw: bytes) -> None: ...

    def cut(self, code: str, reason: str) -> None: ...

    @property
    def token(self) -> str: ...


class Watch(asyncio.Event):
    """The flag of a request that waits for events; `left`: its connection has ended, so nobody reads an answer."""

    left = False


async def _notice_end(receive: Receive, watch: Watch) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    watch.left = True
    watch.set()


class Fanout:
    """All listeners of this hub process."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[Event], None]] = []
        self.fleet_listeners: list[Callable[[Event], None]] = []
        """Called after the others, with the events of the fleet alone: most events are of constellations."""
        self._viewers: dict[str, dict[Viewer, None]] = {}
        self._all: dict[Viewer, None] = {}
        self._changed: dict[str, dict[asyncio.Event, None]] = {}
        self._watches: Counter[str] = Counter()
        self.ending = False
        """Whether the hub is about to end, so that no request waits for an event any more."""
        self.published = 0
        self.begun = 0  # how often the log was replaced by another one
        self.pos = 0
        self.carry: Callable[[bytes], None] | None = None  # sends a message beside the log to the other hubs

    def publish(self, pos: int, events: Sequence[tuple[Event, bytes]]) -> None:
        """Pass on one commit's events, in order."""
        self.pos = pos
        self.published += len(events)
        listeners, of_streams, watched = self.listeners, self._viewers, self._changed
        for event, raw in events:
            stream = event.stream
            for hear in listeners if stream != FLEET else (*listeners, *self.fleet_listeners):
                try:
                    hear(event)
                except Exception:
                    _log.exception("a read model failed on %s %s #%d", event.stream, event.kind, event.seq)
            viewers = of_streams.get(stream)
            if viewers:
                for viewer in list(viewers):
                    viewer.take_event(stream, event.seq, raw)
            changed = watched.get(stream) if watched else None
            if changed:
                for flag in changed:
                    flag.set()

    def begin_anew(self, reason: str) -> None:
        """Cut every viewer, because the log has been replaced by another one."""
        self.begun += 1
        for viewer in self.viewers():
            viewer.cut("overloaded", reason)

    def close_token(self, token: str) -> None:
        """Cut every viewer that was let in by this token."""
        for viewer in [viewer for viewer in self._all if viewer.token == token]:
            viewer.cut("bad_token", "the token was revoked")

    def beside(self, item: Beside) -> None:
        """Pass on a message beside the log, such as progress or log lines, here and to the other hubs."""
        viewers = self._viewers.get(item.stream)
        if not viewers and self.carry is None:
            return
        raw = _encoder.encode(item)
        for viewer in list(viewers or ()):
            viewer.take_beside(item, raw)
        if self.carry is not None:
            self.carry(raw)

    def has_viewers(self, stream: str) -> bool:
        """Tell whether anybody looks at a stream through this hub."""
        return stream in self._viewers

    def beside_here(self, item: Beside) -> None:
        """Pass on a message beside the log to the viewers of this hub only, as every hub makes or hears it."""
        raw = _encoder.encode(item)
        for viewer in list(self._viewers.get(item.stream, ())):
            viewer.take_beside(item, raw)

    @property
    def viewer_count(self) -> int:
        return len(self._all)

    def viewers(self) -> list[Viewer]:
        return list(self._all)

    def join(self, viewer: Viewer) -> None:
        self._all[viewer] = None

    def leave(self, viewer: Viewer) -> None:
        self._all.pop(viewer, None)
        for stream in [stream for stream, viewers in self._viewers.items() if viewer in viewers]:
            self.unsubscribe(viewer, stream)

    def subscribe(self, viewer: Viewer, stream: str) -> None:
        """Begin to pass a stream's events on; `access` is never streamed."""
        if stream == ACCESS:
            raise ValueError("the stream access is never streamed live")
        self._viewers.setdefault(stream, {})[viewer] = None

    def unsubscribe(self, viewer: Viewer, stream: str) -> None:
        viewers = self._viewers.get(stream)
        if viewers is not None:
            viewers.pop(viewer, None)
            if not viewers:
                del self._viewers[stream]

    def end_waits(self) -> None:
        """Let every request that waits for events answer with what there is: the hub is about to end."""
        self.ending = True
        for flags in self._changed.values():
            for flag in flags:
                flag.set()

    def require_room(self, token: str) -> None:
        """Raise `rate_limited` for a request that would wait beside too many others of its token."""
        if self._watches[token] >= WATCHES_PER_TOKEN_MAX:
            reason = f"{WATCHES_PER_TOKEN_MAX} of your requests wait for events"
            raise Problem(Code.RATE_LIMITED, reason, hint="End one of them, or open one live socket for all.")

    @contextmanager
    def watch(self, stream: str, token: str, receive: Receive | None = None) -> Iterator[Watch]:
        """Yield a flag that is set whenever the stream has new events; the watcher clears it before it reads.

        `receive`, of a request that was read whole, has the flag set when its connection ends.

        Raises:
            Problem: `rate_limited`, as by `require_room`.
        """
        self.require_room(token)
        self._watches[token] += 1
        flag = Watch()
        listening = asyncio.create_task(_notice_end(receive, flag)) if receive is not None else None
        flags = self._changed.setdefault(stream, {})
        flags[flag] = None
        try:
            yield flag
        finally:
            if listening is not None:
                listening.cancel()
            flags.pop(flag, None)
            if not flags:
                self._changed.pop(stream, None)
            self._watches[token] -= 1
            if not self._watches[token]:
                del self._watches[token]


class WatchedStream(StreamingResponse):
    """Server-sent events of a request that holds its place among the waiting ones from before its first byte."""

    def __init__(
        self, fanout: Fanout, stream: str, token: str, events: Callable[[asyncio.Event], AsyncIterator[bytes]]
    ) -> None:
        super().__init__((), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
        self._fanout, self._stream, self._token, self._events = fanout, stream, token, events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._fanout.watch(self._stream, self._token) as changed:
            self.body_iterator = self._events(changed)
            await super().__call__(scope, receive, send)


OF_ENTITY: Final = {
    "attempt": Topic.TASKS,
    "group": Topic.TASKS,
    "head": Topic.CONSTELLATIONS,
    "question": Topic.APPROVALS,
    "recipe": Topic.RECIPES,
    "schedule": Topic.SCHEDULES,
    "schedule_course": Topic.SCHEDULES,
    "task": Topic.TASKS,
}
"""The list that an entity belongs to, by the kind of its key; every entity of the fleet belongs to its devices, too."""
_NOTHING: Final = msgspec.Raw(b"null")


class Changes:
    """Hears every committed event and every refusal of a device."""

    def __init__(self, fanout: Fanout, refusals: Refusals) -> None:
        self._fanout = fanout
        fanout.listeners.append(self.hear)
        refusals.heard.append(self.hear_refusal)

    def hear(self, event: Event) -> None:
        """Say which lists an event changes."""
        if not self._fanout.has_viewers(FLEET):  # almost all events of a hub that nobody looks at
            return
        kinds = {key.partition("/")[0] for key in event.puts}
        # Nearly every result teaches a pace, and no device can do more or less by it.
        of = event.stream if event.stream != FLEET else "pace" if kinds == {"pace"} else None
        for topic in sorted({OF_ENTITY[kind] for kind in kinds if kind in OF_ENTITY}):
            self.say(topic, of)
        if event.stream == FLEET:
            self.say(Topic.DEVICES, of)
        self.say(Topic.ACTIVITY)

    def hear_refusal(self, refusal: DeviceRefusal) -> None:
        """Say that a device was refused with a join code."""
        if refusal.enrollment:
            self.say(Topic.REFUSALS)

    def say(self, topic: Topic, of: str | None = None) -> None:
        """Tell every page that a list has changed; `of` names the constellation in it, or the kind of entity."""
        if self._fanout.has_viewers(FLEET):
            value = _NOTHING if of is None else msgspec.Raw(msgspec.json.encode(of))
            self._fanout.beside_here(Beside(about=topic, kind=CHANGED, stream=FLEET, value=value))
