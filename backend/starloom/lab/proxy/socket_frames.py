"""Frames of one WebSocket direction: splits its bytes into whole frames and mangles them like a bad line. Pure.

`kind` is one of the link faults that concern single frames; the frames to hit are drawn from the given randomness.
Control frames (close, ping, pong) and the handshake pass unchanged.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from starloom_protocol.records.lab import FaultKind as Kind

MANGLING = frozenset({Kind.DROP, Kind.DUPLICATE, Kind.REORDER, Kind.CORRUPT})
SHARE = 1 / 3
"""The share of frames that are hit: enough to be hit soon, few enough that some sessions open."""

HANDSHAKE = 2
"""Frames of each direction that are neither corrupted nor held back: an agent that sees another hub's key repeatedly
gives up, and no message follows a handshake's message that could overtake it."""

TURNED = 0x80
"""The bit that is flipped in one byte of a corrupted frame: its text is no longer UTF-8, wherever the byte is.

A change that leaves a readable message of other content is left to TLS; no agent could detect it.
"""

_CONTROL = 0x08
_MASKED = 0x80


class Frames:
    """One direction of one upgraded connection; `feed` gives out whole frames only."""

    def __init__(self, *, head: bool) -> None:
        self._unread = b""
        self._head = head

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the complete parts: first the head of the answer (if there is one), then frame by frame."""
        self._unread += data
        if self._head:
            head, end, rest = self._unread.partition(b"\r\n\r\n")
            if not end:
                return
            self._head, self._unread = False, rest
            yield head + end
        while (size := _size(self._unread)) is not None and len(self._unread) >= size:
            frame, self._unread = self._unread[:size], self._unread[size:]
            yield frame


def _size(data: bytes) -> int | None:
    """Return how long the frame at the beginning is, or None while that cannot be known."""
    if len(data) < 2:
        return None
    short = data[1] & 0x7F
    wide = {126: 2, 127: 8}.get(short, 0)
    if len(data) < 2 + wide:
        return None
    payload = int.from_bytes(data[2 : 2 + wide], "big") if wide else short
    return _payload_at(data) + payload


def _payload_at(frame: bytes) -> int:
    return 2 + {126: 2, 127: 8}.get(frame[1] & 0x7F, 0) + (4 if frame[1] & _MASKED else 0)


class Mangler:
    """The mangling of one direction's frames while a fault lasts; `hit` counts the changed frames."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._late: bytes | None = None
        self._passed = 0
        self.hit = 0

    def pass_on(self, frame: bytes, kind: Kind | None) -> bytes:
        """Return the bytes that replace the frame on the line."""
        late, self._late = self._late, None
        self._passed += 1
        if late is not None:
            return frame + late
        if kind in (Kind.CORRUPT, Kind.REORDER) and self._passed <= HANDSHAKE:
            return frame
        if kind is None or frame[0] & _CONTROL or self._draw.random() >= SHARE:
            return frame
        self.hit += 1
        match kind:
            case Kind.DROP:
                return b""
            case Kind.DUPLICATE:
                return frame + frame
            case Kind.REORDER:
                self._late = frame
                return b""
            case Kind.CORRUPT:
                return self._corrupted(frame)
            case _:
                raise ValueError(f"{kind} does nothing to single frames")

    def _corrupted(self, frame: bytes) -> bytes:
        begin = _payload_at(frame)
        if begin >= len(frame):
            return frame
        at = self._draw.randrange(begin, len(frame))
        return frame[:at] + bytes([frame[at] ^ TURNED]) + frame[at + 1 :]
