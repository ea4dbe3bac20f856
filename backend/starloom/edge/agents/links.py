"""The open connections of devices: the pump's `DeviceSender`, and the holders of sessions' HTTP tokens.

A link's queue is bounded; all frames queued in one turn leave as one message, in that turn if the line is free. The
session decides which frames may be sent when; the engine gives them their meaning.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Protocol

from starloom.edge.agents.artifact_rights import HASH_CHARS, ArtifactRights
from starloom_protocol.vocabulary import Code
from starloom_protocol.wire.channel import ChannelKeys
from starloom_protocol.wire.codec import MESSAGE_BYTES_MAX, tag_of
from starloom_protocol.wire.frames import Dispatch, ErrorFrame, Frame, Goaway, HubFrame, PlanEntry, ResumePlan
from starloom_protocol.wire.session import ProtocolFault, Session, State
from starloom_protocol.wire.version import PROTOCOL_VERSIONS, knows

QUEUE_FRAMES_MAX = 20_000
"""A device that reads nothing is disconnected here, and gets its orders again when it reads."""
QUEUE_BYTES_MAX = 64 * 1024 * 1024
"""One device that reads nothing may hold this much of the memory of the hub, and no more."""
BATCH_FRAMES_MAX = 512
"""A larger message would delay the frames of other devices while it is encoded."""
BATCH_BYTES_MAX = MESSAGE_BYTES_MAX * 3 // 4
"""The weights of frames are estimates; the last quarter of a message is room for those that were too low."""
NOW_BYTES_MAX = 64 * 1024
"""So much is encoded in the turn of the event loop in which it arises; more is left to the writer of the link."""
GRANTED_MAX = 5_000
"""A device has far fewer open attempts; of more, it may not write the log of the oldest."""
ALONG_S = 0.05
"""Frames in no hurry wait so long for a message that leaves anyway: a message of its own costs both sides a wake-up."""
IDLE_BEATS_S = 60
"""How many `alive` of idle devices the hub wants to answer a second, all together: about 1.5 % of a core."""
_FRAME_BYTES = 512
_CLOSED = State.CLOSED

Ref = tuple[str, str, int]


def weight(frame: Frame) -> int:
    """Return about how many bytes a frame takes in a message; escaping may double what a dispatch carries."""
    if isinstance(frame, Dispatch):
        values = sum(len(part.value or "") for item in frame.inputs for part in item.parts) if frame.inputs else 0
        return _FRAME_BYTES + (len(frame.args) + values) * 5 // 4
    if isinstance(frame, ResumePlan):
        return _FRAME_BYTES + 256 * len(frame.entries)
    return _FRAME_BYTES


class Line(Protocol):
    """The socket of a link."""

    async def write(self, text: str) -> None:
        """Send one message, when the line takes one."""

    def write_now(self, text: str) -> bool:
        """Send one message in this turn; False, and nothing was sent, if the line takes none now."""


class Link:
    """One connection of one device. Until it is `welcomed` what is pushed waits.

    Most links are idle, so a task writes only while the line takes nothing in the turn itself.
    """

    __slots__ = (
        "_bytes",
        "_last",
        "_line",
        "_on_ended",
        "_queue",
        "_unsent",
        "_writer",
        "_writing",
        "aip",
        "channel",
        "closed_because",
        "device",
        "http_token",
        "running",
        "session",
        "welcomed",
    )

    def __init__(self, device: str, aip: Session, line: Line, channel: ChannelKeys) -> None:
        self.device = device
        self.channel = channel
        self.aip = aip
        self.session = 0
        self.welcomed = False
        self.http_token = secrets.token_urlsafe(32)
        self.closed_because = ""
        self.running = 0
        self._line = line
        self._queue: list[tuple[Frame, int]] = []
        self._bytes = 0
        self._unsent: str | None = None  # a message that the session has counted and the line has not taken yet
        self._writing = False
        self._writer: asyncio.Task[None] | None = None
        self._on_ended: Callable[[Exception | None], object] | None = None
        self._last: Frame | None = None

    @property
    def closing(self) -> bool:
        """Whether the connection is to end: a peer that does not read the last frame is no longer heard."""
        return self._last is not None

    @property
    def queued(self) -> int:
        return len(self._queue)

    def push(self, frames: Sequence[Frame]) -> bool:
        """Queue frames for the writer; False if the link is closing or its queue is full, which closes it."""
        is_queued = self.hold(frames)
        if is_queued and self.welcomed:
            self._write_on()
        return is_queued

    def say(self, frames: Sequence[Frame]) -> bool:
        """Send frames in this very turn where the line is free; queue them as `push` does where it is not."""
        is_queued = self.hold(frames)
        if is_queued:
            self.release()
        return is_queued

    def hold(self, frames: Sequence[Frame]) -> bool:
        """Queue frames as `push` does, but until `release` is called."""
        if self._last is not None or self.aip.state is _CLOSED:
            return False
        older = self.aip.version < PROTOCOL_VERSIONS[-1]
        for frame in frames:
            if older and not knows(tag_of(frame), self.aip.version):
                continue
            size = weight(frame)
            self._queue.append((frame, size))
            self._bytes += size
        if self._bytes > QUEUE_BYTES_MAX or len(self._queue) > QUEUE_FRAMES_MAX:
            self._queue.clear()
            self.close(Goaway(reason="the device takes its orders too slowly", retry_after_s=1.0), "too slow")
            return False
        return True

    def release(self) -> None:
        """Send what is queued in this very turn; leave it to the writer if the line is not free or it is much."""
        if not self._queue or not self.welcomed:
            return
        if self._writing or self._unsent is not None or self._last is not None or self._bytes > NOW_BYTES_MAX:
            self._write_on()
            return
        frames = self._batch()
        try:
            text = self._message(frames)
        except ProtocolFault:
            # A frame that cannot be sent ends the connection, not its sender: the writer meets the fault again.
            self._put_first(frames)
            self._write_on()
            return
        if not self._line.write_now(text):
            self._unsent = text
            self._write_on()

    def open(self, first: Sequence[Frame]) -> None:
        """Let the writer send `first` and then what is queued: the welcome is out."""
        self._put_first(first)
        self.welcomed = True
        self._write_on()

    def close(self, last: Frame, because: str) -> None:
        """Send a last frame after what is queued, then end the connection."""
        if self._last is None:
            self._last = last
            self.closed_because = because
        self._write_on()

    def take_queue(self) -> list[Frame]:
        """Return the frames queued before the welcome, if there will be no welcome."""
        frames = [frame for frame, _ in self._queue]
        self._queue.clear()
        self._bytes = 0
        return frames

    def serve(self, on_ended: Callable[[Exception | None], object]) -> None:
        """Begin to write; `on_ended` hears that the last frame is out (None), or why no more can be written."""
        self._on_ended = on_ended
        if self._last is not None or self._unsent is not None or (self.welcomed and self._queue):
            self._write_on()

    def stop(self) -> None:
        """Stop writing."""
        self._on_ended = None
        if self._writer is not None:
            self._writer.cancel()
            self._writer = None

    def _write_on(self) -> None:
        if self._writer is None and self._on_ended is not None:
            self._writer = asyncio.get_running_loop().create_task(self._write(), name=f"aip-write-{self.device}")

    async def _write(self) -> None:
        """Send what waits, and the last frame if there is one."""
        self._writing = True
        fault: Exception | None = None
        try:
            if self._unsent is not None:
                await self._line.write(self._unsent)
                self._unsent = None
            while self._queue:
                await self._send(self._batch())
            if self._last is not None:
                await self._send([self._last])
        except Exception as error:
            fault = error
        self._writing, self._writer = False, None
        on_ended = self._on_ended
        if on_ended is not None and (fault is not None or self._last is not None):
            self._on_ended = None
            on_ended(fault)

    def _batch(self) -> list[Frame]:
        queue = self._queue
        if len(queue) <= BATCH_FRAMES_MAX and self._bytes <= BATCH_BYTES_MAX:
            frames = [frame for frame, _ in queue]
            self._queue = []
            self._bytes = 0
            return frames
        count, size = 0, 0
        while count < min(len(queue), BATCH_FRAMES_MAX) and (count == 0 or size + queue[count][1] <= BATCH_BYTES_MAX):
            size += queue[count][1]
            count += 1
        frames = [frame for frame, _ in queue[:count]]
        del queue[:count]
        self._bytes -= size
        return frames

    async def _send(self, frames: Sequence[Frame]) -> None:
        try:
            await self._line.write(self._message(frames))
        except ProtocolFault as fault:
            # The estimate was too low for text with many escapes: one frame a message always fits or never will.
            if fault.code is not Code.FRAME_TOO_LARGE or len(frames) == 1:
                raise
            for frame in frames:
                await self._line.write(self._message([frame]))

    def _message(self, frames: Sequence[Frame]) -> str:
        return self.aip.send(frames).decode()

    def _put_first(self, frames: Sequence[Frame]) -> None:
        weighed = [(frame, weight(frame)) for frame in frames]
        self._queue[:0] = weighed
        self._bytes += sum(size for _, size in weighed)


class Links:
    """All links of this hub process, by device; the newest of a device is the one that is spoken to."""

    def __init__(self) -> None:
        self._by_device: dict[str, list[Link]] = {}
        self._by_token: dict[str, Link] = {}
        self._granted: dict[str, OrderedDict[Ref, None]] = {}
        self._unflushed: list[Link] = []
        self._along: list[Link] = []
        self._welcomed = 0
        self.rights = ArtifactRights()

    def __len__(self) -> int:
        return self._welcomed

    @property
    def idle_s(self) -> float:
        """How seldom an idle device may say `alive`, so that all together do not say it too often."""
        return len(self._by_token) / IDLE_BEATS_S

    def send(self, device: str, frames: Sequence[HubFrame]) -> bool:
        """Queue frames for a device's newest connection; False if it has none or takes no more."""
        links = self._by_device.get(device)
        if not links:
            return False
        for frame in frames:
            if type(frame) is Dispatch:
                self.grant(device, frame.at.constellation, frame.at.task, frame.at.attempt)
                if frame.inputs or len(frame.args) >= HASH_CHARS:
                    self.rights.dispatched(device, frame)
        if not links[-1].hold(frames):
            return False
        if not self._unflushed:
            asyncio.get_running_loop().call_soon(self.flush)
        self._unflushed.append(links[-1])
        return True

    def send_along(self, device: str, frames: Sequence[HubFrame]) -> bool:
        """Queue frames that are in no hurry: they leave with the next ones, or alone after `ALONG_S`."""
        links = self._by_device.get(device)
        if not links or not links[-1].hold(frames):
            return False
        if not self._along:
            asyncio.get_running_loop().call_later(ALONG_S, self._flush_along)
        self._along.append(links[-1])
        return True

    def flush(self) -> None:
        """Send the frames queued in this turn; without this call they leave in the next turn."""
        links, self._unflushed = self._unflushed, []
        for link in links:
            link.release()

    def _flush_along(self) -> None:
        along, self._along = self._along, []
        for link in along:
            link.release()

    def close(self, device: str, session: int, code: str, reason: str) -> None:
        """Cut a device's connections, or the one of this session, telling the agent why."""
        for link in self._by_device.get(device, []):
            if session in (0, link.session):
                last = ErrorFrame(code=Code(code), reason=reason) if code in list(Code) else None
                link.close(last or Goaway(reason=reason, retry_after_s=1.0), reason)

    def add(self, link: Link) -> None:
        """Take a link whose key is proved; from now on the device's frames are queued on it."""
        self._by_device.setdefault(link.device, []).append(link)
        self._by_token[link.http_token] = link

    def open(self, link: Link, first: Sequence[Frame]) -> None:
        """Open a link whose welcome is out, and count it."""
        link.open(first)
        self._welcomed += link.http_token in self._by_token

    def remove(self, link: Link) -> None:
        """Forget a link; frames that were queued on it before its welcome go to the device's older one."""
        links = self._by_device.get(link.device, [])
        if link in links:
            links.remove(link)
        if self._by_token.pop(link.http_token, None) is not None:
            self._welcomed -= link.welcomed
        if not link.welcomed and links:
            links[-1].push(link.take_queue())
        if not links:
            self._by_device.pop(link.device, None)

    def resume(self, link: Link, entries: Sequence[PlanEntry]) -> None:
        """Note the attempts that a resume plan leaves to a device."""
        self.rights.resumed(link.device, [entry.at for entry in entries])
        for entry in entries:
            self.grant(link.device, entry.at.constellation, entry.at.task, entry.at.attempt)

    def grant(self, device: str, constellation: str, task: str, attempt: int) -> None:
        """Note that a device was given an attempt, so that it may write its log."""
        granted = self._granted.setdefault(device, OrderedDict())
        granted[constellation, task, attempt] = None
        if len(granted) > GRANTED_MAX:
            granted.popitem(last=False)

    def has(self, device: str, ref: Ref) -> bool:
        """Return whether this device was given this attempt; of very many the ones last asked about are known."""
        granted = self._granted.get(device)
        if granted is None or ref not in granted:
            return False
        granted.move_to_end(ref)
        return True

    def running(self, device: str) -> int:
        """Return how many attempts a device said it runs, when it was last heard; 0 while it is away."""
        links = self._by_device.get(device)
        return links[-1].running if links else 0

    def of_token(self, http_token: str) -> Link | None:
        """Return the connection that an HTTP token names, while its session lasts."""
        link = self._by_token.get(http_token)
        return link if link is not None and link.welcomed else None

    def goaway(self, reason: str, retry_after_s: float) -> list[Link]:
        """Ask every device to come back later, and end their connections; returns them."""
        links = [link for links in self._by_device.values() for link in links]
        for link in links:
            link.close(Goaway(reason=reason, retry_after_s=retry_after_s), reason)
        return links
