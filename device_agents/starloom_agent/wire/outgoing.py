"""The frames that wait for the line, in the order in which they leave. Knows no socket and decides nothing about work.

Words leave first (`alive`, answers, offers): leases hang on them. The end of the output of a call follows, before its
result; the connection then asks the outbox for reports. Output of running calls is last, in short messages, because on
a slow line each of the others waits for the message before it.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from starloom_protocol.wire.codec import MESSAGE_BYTES_MAX, frame_bytes
from starloom_protocol.wire.frames import Frame, LeaseRef, LogChunk, Progress

OUTPUT: Final = LogChunk | Progress
FRAMES_WAITING_MAX: Final = 2_000
"""Words of an agent whose line takes nothing; what does not fit stays with its caller or is dropped."""
WORDS_MESSAGE_BYTES: Final = MESSAGE_BYTES_MAX * 7 // 8
"""Words are few and leave together; the rest is room for the message around them."""
OUTPUT_MESSAGE_BYTES: Final = 64 * 1024
"""A line of 2 Mbit/s takes it in a quarter of a second, and so long `alive` waits behind it."""
OUTPUT_WAITING_BYTES: Final = 512 * 1024
"""The rounds of `Chatter` fill a line of 80 Mbit/s with it. More stays there, where the oldest of each call is lost."""
ENDS_WAITING_BYTES: Final = 512 * 1024
"""Results wait for it, two seconds on a line of 2 Mbit/s; each has the last 4 KiB of its output itself."""


class Queue:
    """Frames with the bytes that each takes in a message of at most so many."""

    def __init__(self, message_bytes: int) -> None:
        self.bytes = 0
        self._message_bytes = message_bytes
        self._frames: deque[tuple[Frame, int]] = deque()

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, frames: list[Frame], *, first: bool = False) -> None:
        """Queue frames behind the others, or in front of them."""
        weighed = [(frame, frame_bytes(frame)) for frame in frames]
        if first:
            self._frames.extendleft(reversed(weighed))
        else:
            self._frames.extend(weighed)
        self.bytes += sum(size for _, size in weighed)

    def take(self) -> list[Frame]:
        """Return the frames of the next message: as many as it holds, and one at least."""
        frames: list[Frame] = []
        room = self._message_bytes
        while self._frames and (not frames or self._frames[0][1] <= room):
            frame, size = self._frames.popleft()
            frames.append(frame)
            room -= size
            self.bytes -= size
        return frames

    def take_of(self, at: LeaseRef) -> list[Frame]:
        """Return all output of one call."""
        mine: list[Frame] = []
        others: deque[tuple[Frame, int]] = deque()
        for frame, size in self._frames:
            if isinstance(frame, OUTPUT) and frame.at == at:
                mine.append(frame)
                self.bytes -= size
            else:
                others.append((frame, size))
        self._frames = others
        return mine


class Outgoing:
    """All that waits on one connection, except reports."""

    def __init__(self) -> None:
        self._words = Queue(WORDS_MESSAGE_BYTES)
        self._ends = Queue(OUTPUT_MESSAGE_BYTES)
        self._output = Queue(OUTPUT_MESSAGE_BYTES)

    def push(self, frames: list[Frame], ended: LeaseRef | None = None) -> bool:
        """Queue words, or output; with `ended` the last output of this call. False if too much of its kind waits."""
        if ended is not None:
            return self._end(frames, ended)
        if frames and isinstance(frames[0], OUTPUT):
            if self._output.bytes >= OUTPUT_WAITING_BYTES:
                return False
            self._output.add(frames)
        elif len(self._words) + len(frames) > FRAMES_WAITING_MAX:
            return False
        else:
            self._words.add(frames)
        return True

    def greet(self, frames: list[Frame]) -> None:
        """Put words in front of all that waits."""
        self._words.add(frames, first=True)

    def before_reports(self) -> list[Frame]:
        """Return the next message of what leaves before reports."""
        return self._words.take() or self._ends.take()

    def after_reports(self) -> list[Frame]:
        """Return the next message of output."""
        return self._output.take()

    def _end(self, frames: list[Frame], ended: LeaseRef) -> bool:
        if self._ends.bytes >= ENDS_WAITING_BYTES:
            return False
        self._ends.add([*self._output.take_of(ended), *frames])
        return True
