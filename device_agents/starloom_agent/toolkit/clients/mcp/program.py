"""An MCP server that is a program: started, spoken to by lines of JSON, and ended with all that it started.

Owns the process and its pipes. One thread reads; a server that writes what is no message, or too much, is used no
more. The program has the variables of its own entry and the few that every program needs, and no other.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from starloom_agent.toolkit.clients.mcp.conversation import MESSAGE_BYTES_MOST, Conversation, ServerFault
from starloom_agent.toolkit.running.programs import quiet_environment
from starloom_protocol.text.wording import quoted

_READ_BYTES: Final = 64 * 1024
_WORDS_BYTES_MOST: Final = 2000
_WORDS_SHOWN_MOST: Final = 300
_HIDDEN_LEAST: Final = 6
"""A shorter value of its environment may be a word of any sentence."""
_END_S: Final = 1.0
"""A server that does not end in this time after its input is closed is killed."""


class ProgramCarrier:
    """The pipes of one server. `apart`: in a process group of its own, for a caller that has no runner to end it."""

    def __init__(
        self,
        conversation: Conversation,
        argv: Sequence[str],
        env: Mapping[str, str],
        *,
        cwd: Path,
        quiet: bool = False,
        apart: bool = False,
    ) -> None:
        self._conversation = conversation
        self._apart = apart
        self._writing = threading.Lock()
        try:
            self._process = subprocess.Popen(
                list(argv),
                cwd=cwd,
                env={**quiet_environment(), **env},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if quiet else None,
                start_new_session=apart,
            )
        except (OSError, ValueError) as error:
            raise ServerFault(f"{argv[0]} could not be started: {error}") from error
        self._last_words = _LastWords(self._process.stderr, env.values()) if self._process.stderr else None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, message: Mapping[str, Any], within_s: float) -> None:
        """Write one line. A server that reads nothing blocks the thread; the end of the process frees it."""
        assert self._process.stdin is not None  # noqa: S101 - made with PIPE
        data = msgspec.json.encode(message) + b"\n"
        watch = threading.Timer(within_s, self._stuck) if len(data) > _READ_BYTES else None
        try:
            if watch is not None:
                watch.start()
            with self._writing:
                self._process.stdin.write(data)
                self._process.stdin.flush()
        except (OSError, ValueError) as error:
            raise ServerFault(self._ended("it ended before it could be asked")) from error
        finally:
            if watch is not None:
                watch.cancel()

    def agreed(self, protocol: str) -> None:
        """The lines are the same in every version."""

    def close(self) -> None:
        """Close its input, which tells it to end, and end it if it does not."""
        with contextlib.suppress(OSError, ValueError):
            if self._process.stdin is not None and self._writing.acquire(timeout=_END_S):
                try:
                    self._process.stdin.close()
                finally:
                    self._writing.release()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        if self._apart:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        self._reader.join(_END_S)
        if self._process.stdout is not None and not self._reader.is_alive():
            self._process.stdout.close()
        if self._last_words is not None:
            self._last_words.close()

    def _stuck(self) -> None:
        self._conversation.fail("it did not read a message in time")
        self._process.kill()

    def _read(self) -> None:
        try:
            for line in self._lines():
                try:
                    message = msgspec.json.decode(line)
                except msgspec.DecodeError:
                    said_instead = quoted(line[:80].decode("utf-8", "replace"))
                    raise ServerFault(f"it wrote what is no JSON: {said_instead}. {_STDOUT}") from None
                self._conversation.take(message)
        except ServerFault as fault:
            self._conversation.fail(str(fault))
        except (OSError, ValueError):
            self._conversation.fail(self._ended("it ended without an answer"))
        else:
            self._conversation.fail(self._ended("it ended without an answer"))

    def _ended(self, how: str) -> str:
        words = self._last_words.text() if self._last_words is not None else ""
        return f"{how}, and wrote {quoted(words)}" if words else how

    def _lines(self) -> Iterator[bytes]:
        assert self._process.stdout is not None  # noqa: S101 - made with PIPE
        descriptor = self._process.stdout.fileno()
        unread = bytearray()
        while data := os.read(descriptor, _READ_BYTES):
            unread += data
            if b"\n" in data:
                *lines, rest = bytes(unread).split(b"\n")
                unread = bytearray(rest)
                yield from lines
            if len(unread) > MESSAGE_BYTES_MOST:
                raise ServerFault(f"a message is larger than {MESSAGE_BYTES_MOST} bytes")


_STDOUT = "Its stdout carries the protocol alone: a print of it goes to stderr"


class _LastWords:
    """The end of what a program writes to stderr; values of its environment, which may be keys, are hidden."""

    def __init__(self, pipe: IO[bytes], hidden: Iterable[str]) -> None:
        self._pipe = pipe
        self._hidden = [value for value in hidden if len(value) >= _HIDDEN_LEAST]
        self._tail = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def text(self) -> str:
        """Return the last words of a program that has ended, as one line."""
        self._reader.join(_END_S)
        text = self._tail.decode(errors="replace")
        for value in self._hidden:
            text = text.replace(value, "...")
        # The first of words that were cut may be a part of such a value.
        words = text.split()[len(self._tail) == _WORDS_BYTES_MOST :]
        return " ".join(words)[-_WORDS_SHOWN_MOST:]

    def close(self) -> None:
        self._reader.join(_END_S)
        if not self._reader.is_alive():
            self._pipe.close()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while data := os.read(self._pipe.fileno(), _READ_BYTES):
                self._tail = (self._tail + data)[-_WORDS_BYTES_MOST:]
