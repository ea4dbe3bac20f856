"""The wire to the program of another agent: JSON-RPC, one message a line, over its standard input and output.

Owns the bounds of that conversation: the size of a message, of all messages, and of what the program does not read.
Understands no method. Incoming messages are data of a stranger.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from typing import IO, Any, Final

import msgspec

from starloom_protocol.text.wording import quoted

MESSAGE_BYTES_MOST: Final = 4 * 1024 * 1024
ALL_BYTES_MOST: Final = 128 * 1024 * 1024
_UNREAD_BYTES_MOST: Final = 16 * 1024 * 1024
_READ_BYTES: Final = 64 * 1024
_WORDS_BYTES: Final = 4 * 1024
_WORDS_SHOWN: Final = 300
_END_S: Final = 1.0
_WORDS_WAIT_S: Final = 0.05


class AcpFault(Exception):
    """The other agent cannot be used further: what it did, in words."""


class AcpWire:
    """The conversation with one program. `read` returns its messages; `other` are descriptors that end a wait early."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._input = _pipe(process.stdin)
        self._output = _pipe(process.stdout)
        self._errors = _pipe(process.stderr)
        self._unread = bytearray()
        self._unsent = bytearray()
        self._words = bytearray()
        self._heard_bytes = 0
        self._selector = selectors.DefaultSelector()
        for pipe in (self._output, self._errors):
            self._selector.register(pipe, selectors.EVENT_READ)
        self._writes = False

    def watch(self, descriptor: int) -> None:
        """Let a wait end when there is something to read at this descriptor too."""
        self._selector.register(descriptor, selectors.EVENT_READ)

    def unwatch(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message, or as much of it as the program reads now.

        Raises:
            AcpFault: it ended, or it reads nothing.
        """
        self._unsent += msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n"
        if len(self._unsent) > _UNREAD_BYTES_MOST:
            raise AcpFault(f"it reads nothing: {len(self._unsent)} bytes wait for it")
        self._write()

    def read(self, wait_s: float) -> list[dict[str, Any]]:
        """Return the messages that came within this time, at once when there is one.

        Raises:
            AcpFault: it ended, said too much, or said something that is no message.
        """
        for key, events in self._selector.select(max(0.0, wait_s)):
            if key.fd == self._errors:
                self._take_words()
            elif key.fd == self._output:
                self._take()
            elif events & selectors.EVENT_WRITE:
                self._write()
        return self._messages()

    def end(self, *, apart: bool = False) -> None:
        """Close its input, which tells it to end, and end it if it does not.

        The runner of a call ends what else it started; `apart`: its process group is ended here.
        """
        self._selector.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if apart:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _write(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: os.write(self._input, self._unsent[:_READ_BYTES])]
        except BlockingIOError:
            pass  # the selector says when it reads again
        except OSError as error:
            raise AcpFault(self._how_it_ended()) from error
        if bool(self._unsent) is not self._writes:
            self._writes = bool(self._unsent)
            if self._writes:
                self._selector.register(self._input, selectors.EVENT_WRITE)
            else:
                self._selector.unregister(self._input)

    def _take(self) -> None:
        data = os.read(self._output, _READ_BYTES)
        if not data:
            raise AcpFault(self._how_it_ended())
        self._unread += data
        self._heard_bytes += len(data)
        if len(self._unread) > MESSAGE_BYTES_MOST and b"\n" not in self._unread:
            raise AcpFault(f"it said a message of more than {MESSAGE_BYTES_MOST} bytes")
        if self._heard_bytes > ALL_BYTES_MOST:
            raise AcpFault(f"it said more than {ALL_BYTES_MOST} bytes in one call")

    def _take_words(self) -> None:
        data = os.read(self._errors, _READ_BYTES)
        if not data:
            self._selector.unregister(self._errors)
        self._words = (self._words + data)[-_WORDS_BYTES:]

    def _messages(self) -> list[dict[str, Any]]:
        if b"\n" not in self._unread:
            return []
        *lines, rest = bytes(self._unread).split(b"\n")
        self._unread = bytearray(rest)
        return [_message(line) for line in lines if line.strip()]

    def _how_it_ended(self) -> str:
        deadline = time.monotonic() + _END_S
        while self._selector.get_map().get(self._errors) and time.monotonic() < deadline:
            if any(key.fd == self._errors for key, _ in self._selector.select(_WORDS_WAIT_S)):
                self._take_words()
            elif self._process.poll() is not None:
                break
        try:
            code = self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            return "it closed its output before the end of the turn"
        return f"it ended with exit code {code} before the end of the turn{self._last_words()}"

    def _last_words(self) -> str:
        words = bytes(self._words).decode("utf-8", "replace").strip()
        return f"; its last words: {quoted(words[-_WORDS_SHOWN:])}" if words else ""


def _pipe(stream: IO[bytes] | None) -> int:
    if stream is None:
        raise ValueError("the program was started without pipes")
    os.set_blocking(stream.fileno(), False)
    return stream.fileno()


def _message(line: bytes) -> dict[str, Any]:
    try:
        message = msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        raise AcpFault(f"it said something that is no JSON: {quoted(line[:80].decode('utf-8', 'replace'))}") from error
    if not isinstance(message, dict):
        raise AcpFault(f"it said something that is no message: {quoted(line[:80].decode('utf-8', 'replace'))}")
    return message
