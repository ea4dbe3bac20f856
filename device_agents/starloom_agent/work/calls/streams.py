"""The descriptors of one running call in the agent: its tool's socket, the two pipes of its output, and the text.

The agent reads them directly: the input and output of a call pass through no process that serves another call. Each
turn of the loop takes a bounded part; output beyond the limit is read and dropped. The text (`Output`)
is numbered, capped and scrubbed; it knows no process and no clock.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import socket
from collections.abc import Callable
from typing import Final

import msgspec

from starloom_agent.toolkit.messages import (
    OUTPUT_BYTES_MAX,
    TAIL_BYTES,
    Asking,
    Begun,
    Ended,
    Heard,
    Listening,
    Permit,
    Said,
    ToolLine,
    decode_tool_line,
    encode,
)
from starloom_protocol.text.scrubbing import Scrubber, Stream

PIECE_CHARS: Final = 64 * 1024
"""A tool may say megabytes in one line; a piece of this length fits a message, however its signs are escaped."""

NOTE_CHARS_MOST: Final = 200
"""A note stands beside the bar of a task; the hub shows no more of it."""


class Output:
    """The text of a call: one numbering of bytes over all streams, capped, scrubbed, with its tail.

    Bytes beyond the cap are counted in the numbering too, so that the hub sees where they are lost.
    """

    def __init__(self, secrets: list[str]) -> None:
        self._scrubber = Scrubber(secrets)
        self._streams: dict[str, Stream] = {}
        self._decoders: dict[str, codecs.IncrementalDecoder] = {}
        self.sent_bytes = 0
        self.lost_bytes = 0
        self.tail = ""

    def take(self, stream: str, data: bytes, *, final: bool = False) -> list[Said]:
        """Return the lines to send for these bytes of a stream."""
        decoder = self._decoders.setdefault(stream, codecs.getincrementaldecoder("utf-8")("replace"))
        return self.take_text(stream, decoder.decode(data, final), final=final)

    def take_text(self, stream: str, text: str, *, final: bool = False) -> list[Said]:
        if self._scrubber:
            # The end of a read may cut a secret in two.
            text = self._streams.setdefault(stream, Stream(self._scrubber)).take(text, final=final)
        if not text:
            return []
        self.tail = (self.tail + text)[-TAIL_BYTES:]
        pieces = []
        for at in range(0, len(text), PIECE_CHARS):
            piece = text[at : at + PIECE_CHARS]
            offset, size = self._written_bytes, len(piece.encode())
            if size > OUTPUT_BYTES_MAX - self.sent_bytes:
                self.lost_bytes += size
                continue
            self.sent_bytes += size
            pieces.append(Said(stream=stream, offset=offset, text=piece))
        return pieces

    @property
    def _written_bytes(self) -> int:
        return self.sent_bytes + self.lost_bytes

    def clean_note(self, progress: Said) -> Said:
        """Return a progress, which is not part of the output, without secrets and no longer than it is shown."""
        return msgspec.structs.replace(progress, note=self._scrubber.text(progress.note)[:NOTE_CHARS_MOST])

    def clean_end(self, ended: Ended) -> Ended:
        """Return how the call ended without secrets in its sentence."""
        return msgspec.structs.replace(ended, detail=self._scrubber.text(ended.detail)) if self._scrubber else ended

    def finish(self) -> list[Said]:
        """Return the text that was held back, and the note about lost output."""
        pieces = [piece for stream in ("out", "err", "log") for piece in self.take(stream, b"", final=True)]
        if self.lost_bytes:
            text = f"\n[{self.lost_bytes} bytes of output were not kept: the limit is {OUTPUT_BYTES_MAX}]\n"
            pieces.append(Said(stream="log", offset=self._written_bytes, text=text))
            self.tail = (self.tail + text)[-TAIL_BYTES:]
        return pieces

    def tail_text(self) -> str:
        """The last 4 KiB of output."""
        return self.tail.encode()[-TAIL_BYTES:].decode("utf-8", "ignore")


_READ_BYTES: Final = 64 * 1024
_LINE_BYTES_MAX: Final = 16 * 1024 * 1024
# More than pipes and sockets hold: a process that escaped and goes on writing is not waited for.
_DRAIN_READS: Final = 64


class CallStreams:
    """The output of a call, from its start until `drain`. `on_fault` gets the reason if a tool's line is invalid."""

    def __init__(
        self,
        secrets: list[str],
        on_said: Callable[[Said], None],
        on_fault: Callable[[str], None],
        on_asked: Callable[[Asking | Listening], Permit | Heard],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_said = on_said
        self._on_fault = on_fault
        self._on_asked = on_asked
        self._unread = bytearray()
        self._sending: asyncio.Task[None] | None = None
        self.output = Output(secrets)
        self.begun = False
        self.ended: Ended | None = None
        self._tool, self._theirs = socket.socketpair()
        self._tool.setblocking(False)
        out, err = os.pipe(), os.pipe()
        self._pipes = {"out": out[0], "err": err[0]}
        self._tool_ends = [out[1], err[1]]
        for pipe in self._pipes.values():
            os.set_blocking(pipe, False)

    @property
    def descriptors(self) -> list[int]:
        """The descriptors of the call's process, in the order that the runner expects."""
        return [self._theirs.fileno(), *self._tool_ends]

    def open(self, spec: bytes) -> None:
        """Send the spec, one line, and begin to read; the descriptors are with the runner by now."""
        spec += b"\n"
        self._close_given()
        self._loop.add_reader(self._tool, self._read_tool)
        for name, pipe in self._pipes.items():
            self._loop.add_reader(pipe, self._read_pipe, name, pipe)
        try:
            sent = self._tool.send(spec)
        except BlockingIOError:
            sent = 0
        except OSError:
            return  # it has ended already
        if sent < len(spec):
            self._sending = self._loop.create_task(self._send(spec[sent:]))

    async def _send(self, rest: bytes) -> None:
        with contextlib.suppress(OSError):
            await self._loop.sock_sendall(self._tool, rest)

    def take_lines(self) -> None:
        """Take the lines that the tool's process has sent so far."""
        for _ in range(_DRAIN_READS):
            if not self._read_tool():
                break

    def drain(self) -> None:
        """Take the rest of the pipes, and close them."""
        self.take_lines()
        for name, pipe in list(self._pipes.items()):
            for _ in range(_DRAIN_READS):
                if not self._read_pipe(name, pipe):
                    break
        for piece in self.output.finish():
            self._on_said(piece)
        self.close()

    def _reply(self, message: Asking | Listening) -> None:
        reply = self._on_asked(message)
        # A tool waits for each answer, so the socket is empty; one that does not read them is not waited for.
        with contextlib.suppress(OSError):
            self._tool.send(encode(reply) + b"\n")

    def close(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
        self._close_given()
        self._end_tool()
        for name in list(self._pipes):
            self._end_pipe(name)

    def _close_given(self) -> None:
        self._theirs.close()
        tool_ends, self._tool_ends = self._tool_ends, []
        for descriptor in tool_ends:
            os.close(descriptor)

    def _end_tool(self) -> None:
        if self._tool.fileno() >= 0:
            self._loop.remove_reader(self._tool)
            self._tool.close()

    def _end_pipe(self, name: str) -> None:
        pipe = self._pipes.pop(name)
        self._loop.remove_reader(pipe)
        os.close(pipe)

    # Reading: each returns whether there may be more.

    def _read_pipe(self, name: str, pipe: int) -> bool:
        try:
            data = os.read(pipe, _READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._end_pipe(name)
            return False
        for piece in self.output.take(name, data):
            self._on_said(piece)
        return True

    def _read_tool(self) -> bool:
        if self._tool.fileno() < 0:
            return False
        try:
            data = self._tool.recv(_READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._tool)
            if self._sending is None or self._sending.done():
                self._tool.close()
            return False
        self._unread += data
        if b"\n" in data:
            *lines, rest = bytes(self._unread).split(b"\n")
            self._unread = bytearray(rest)
            for line in lines:
                self._take(line)
        if len(self._unread) > _LINE_BYTES_MAX:
            self._end_tool()
            self._on_fault(f"its process said a line of more than {_LINE_BYTES_MAX} bytes")
            return False
        return True

    def _take(self, text: bytes) -> None:
        try:
            line: ToolLine = decode_tool_line(text)
        except msgspec.DecodeError as error:
            self._on_fault(f"its process said what no tool says: {error}")
            return
        if isinstance(line, Ended):
            self.ended = self.output.clean_end(line)
        elif isinstance(line, Asking | Listening):
            self._reply(line)
        elif isinstance(line, Begun):
            self.begun = True
        elif line.stream:
            for part in self.output.take_text(line.stream, line.text):
                self._on_said(part)
        else:
            self._on_said(self.output.clean_note(line))
