"""Logs and progress of running calls on their way to the hub: thinned, bounded, never repeated.

At most twenty chunks a second for each attempt; text that a missing or slow connection cannot take is dropped from the
front, which the offsets show. Never waits for the connection.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final, Protocol

from starloom_agent.toolkit.messages import Said
from starloom_protocol.wire.frames import Frame, LeaseRef, LogChunk, Progress

EVERY_S: Final = 0.05
"""A person who follows the output sees no faster."""
KEPT_CHARS: Final = 64 * 1024


@dataclass(slots=True)
class _Voice:
    """The output and the progress of one attempt since the last round."""

    said: list[Said] = field(default_factory=list)
    chars: int = 0
    progress: Said | None = None


class Push(Protocol):
    """The way to the hub; False if frames cannot be taken now. `ended` names a call whose last output they are."""

    def __call__(self, frames: list[Frame], ended: LeaseRef | None = None) -> bool: ...


class Chatter:
    """The logs and progress of one agent."""

    def __init__(self, push: Push) -> None:
        self._push = push
        self._voices: dict[LeaseRef, _Voice] = {}
        self._something = asyncio.Event()

    def begin(self, at: LeaseRef) -> None:
        self._voices[at] = _Voice()

    def said(self, at: LeaseRef, output: Said) -> None:
        voice = self._voices.get(at)
        if voice is None:
            return
        if not output.stream:
            voice.progress = output
        else:
            voice.said.append(output)
            voice.chars += len(output.text)
            while voice.chars > KEPT_CHARS and len(voice.said) > 1:
                voice.chars -= len(voice.said.pop(0).text)
        self._something.set()

    def end(self, at: LeaseRef) -> None:
        """Send the remaining output of an attempt, before its result is reported."""
        voice = self._voices.pop(at, None)
        if voice is not None:
            self._push(_frames(at, voice), at)

    async def run(self) -> None:
        """Send a round whenever there is something to send, until cancelled."""
        while True:
            await self._something.wait()
            self._something.clear()
            self.round()
            await asyncio.sleep(EVERY_S)

    def round(self) -> None:
        """Send what there is, first of the calls that were taken the longest time ago: a slow line takes few."""
        for at, voice in list(self._voices.items()):
            frames = _frames(at, voice)
            if not frames:
                continue
            if self._push(frames):
                del self._voices[at]
                self._voices[at] = _Voice()
            else:
                self._something.set()  # the next round tries again, also where nothing more is said


def _frames(at: LeaseRef, voice: _Voice) -> list[Frame]:
    """Join neighbouring pieces of one stream; a gap between offsets starts a new chunk."""
    frames: list[Frame] = []
    texts: list[str] = []
    first: Said | None = None
    next_offset = -1
    for piece in voice.said:
        if first is None or piece.stream != first.stream or piece.offset != next_offset:
            if first is not None:
                frames.append(LogChunk(at=at, offset=first.offset, stream=first.stream, text="".join(texts)))
            first, texts = piece, []
        texts.append(piece.text)
        next_offset = piece.offset + len(piece.text.encode())
    if first is not None:
        frames.append(LogChunk(at=at, offset=first.offset, stream=first.stream, text="".join(texts)))
    if voice.progress is not None:
        last = voice.progress
        frames.append(Progress(at=at, done_bytes=last.done_bytes, fraction_1000=last.fraction_1000, note=last.note))
    return frames
