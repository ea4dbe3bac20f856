"""Programs of the device, run by their argument list, never by a string for a shell, with bounded output.

Not a tool: `shell.run`, `python.run` and the fact tools use it. The runner around each tool ends the whole group,
so a program started here never outlives its attempt.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from starloom_agent.sandbox.cage import passed_limit
from starloom_agent.toolkit.interface import ToolFailed
from starloom_protocol.text.scrubbing import Scrubber, Stream
from starloom_protocol.vocabulary import Code

KEPT_BYTES = 64 * 1024
"""The facts that a tool reads from a program are shorter; a tool that lists much asks for more."""
_CHUNK_BYTES = 16 * 1024
_LAST_WORDS_S = 2.0
"""A program that it left behind may hold the pipe open; the answer does not wait for that one."""
_LOST_HASH_CHARS = 16
"""64 bits: enough to see that two outputs differ, and short beside them."""
_NOTHING = Scrubber(())


@dataclass(frozen=True)
class Ran:
    """How a program ended. Of each stream the first and the last half of the limit are kept."""

    exit_code: int
    stdout: str
    stderr: str
    lost_bytes: int


class _Kept:
    """The head and the tail of a stream, and how much fell out between.

    The text names the hash of what fell out: outputs of two devices that differ there alone are different texts.
    """

    def __init__(self, most_bytes: int) -> None:
        self._half = most_bytes // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._lost = hashlib.sha256()
        self.lost_bytes = 0

    def add(self, data: bytes) -> None:
        room = self._half - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._tail += data[room:] if room > 0 else data
        extra = len(self._tail) - self._half
        if extra > 0:
            self._lost.update(self._tail[:extra])
            del self._tail[:extra]
            self.lost_bytes += extra

    def text(self, errors: str = "replace") -> str:
        gap = b""
        if self.lost_bytes:
            hashed = self._lost.hexdigest()[:_LOST_HASH_CHARS]
            gap = f"\n... {self.lost_bytes} bytes left out, sha256 {hashed} ...\n".encode()
        return (bytes(self._head) + gap + bytes(self._tail)).decode("utf-8", errors)


def quiet_environment() -> dict[str, str]:
    """Return what a program needs from the agent's environment, with plain, untranslated output."""
    names = ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "STARLOOM_FENCE")
    passed = {name: os.environ[name] for name in names if name in os.environ}
    return {**passed, "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8"}


def _drain(stream: IO[bytes], ends: _Kept, tell: Callable[[str], None] | None, hidden: Scrubber) -> None:
    decoder, clean = codecs.getincrementaldecoder("utf-8")("replace"), Stream(hidden)
    with stream:
        while True:
            data = os.read(stream.fileno(), _CHUNK_BYTES)
            text = decoder.decode(data, not data)
            if not hidden:
                ends.add(data)
            else:
                # Before anything is cut: half of a secret would not be known again.
                text = clean.take(text, final=not data)
                ends.add(text.encode())
            if tell is not None and text:
                tell(text)
            if not data:
                return


def _feed(stream: IO[bytes], data: bytes) -> None:
    # A program need not read its input to its end; the rest has no reader then.
    with contextlib.suppress(BrokenPipeError), stream:
        stream.write(data)


def run_program(
    argv: Sequence[str],
    *,
    timeout_s: float,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    tell: Callable[[str], None] | None = None,
    tell_out: Callable[[str], None] | None = None,
    kept_bytes: int = KEPT_BYTES,
    hidden: Scrubber = _NOTHING,
    names: bool = False,
) -> Ran:
    """Run a program to its end; `tell` gets its output as it comes, `tell_out` without its errors.

    What is `hidden` is in neither. `names`: its output is names of files, whose bytes stand as `os.fsdecode` has them.

    Raises:
        ToolFailed: `tool_unavailable` if there is no such program, `timed_out` after `timeout_s`.
    """
    try:
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=dict(quiet_environment() if environment is None else environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except FileNotFoundError as error:
        missing = "folder " + str(cwd) if cwd is not None and not cwd.is_dir() else "program " + argv[0]
        raise ToolFailed(
            Code.TOOL_UNAVAILABLE, f"there is no {missing} on this device; install it or name another", effect=False
        ) from error
    except (OSError, ValueError) as error:
        raise ToolFailed(Code.TOOL_FAILED, f"{argv[0]} could not be started: {error}", effect=False) from error
    assert process.stdout is not None  # noqa: S101 - PIPE above
    assert process.stderr is not None  # noqa: S101 - PIPE above
    assert process.stdin is not None  # noqa: S101 - PIPE above
    out, err = _Kept(kept_bytes), _Kept(kept_bytes)
    readers = [
        threading.Thread(target=_drain, args=(process.stdout, out, tell or tell_out, hidden), daemon=True),
        threading.Thread(target=_drain, args=(process.stderr, err, tell, hidden), daemon=True),
    ]
    # In a thread of its own: a program that reads nothing must not hold up its own time limit.
    writer = threading.Thread(target=_feed, args=(process.stdin, stdin), daemon=True)
    for thread in (*readers, writer):
        thread.start()
    try:
        code = process.wait(timeout_s)
    except subprocess.TimeoutExpired as error:
        process.kill()
        process.wait()
        raise ToolFailed(
            Code.TIMED_OUT,
            f"{argv[0]} ran longer than {timeout_s:g} s and was ended; its last output: {_last(out, err)}",
        ) from error
    for reader in readers:
        reader.join(_LAST_WORDS_S)
    return Ran(
        exit_code=code,
        stdout=out.text("surrogateescape" if names else "replace"),
        stderr=err.text(),
        lost_bytes=out.lost_bytes + err.lost_bytes,
    )


def refuse_limit(ran: Ran, who: str) -> None:
    """Pass over a program that ended within the limits of its cage.

    Raises:
        ToolFailed: with the code of the limit that it passed and what it used.
    """
    passed = passed_limit(ran.exit_code, ran.stderr)
    if passed is not None:
        code, sentence = passed
        raise ToolFailed(Code(code), f"{who} was ended: {sentence}")


def needed(program: str | None, why_not: str | None) -> str:
    """Return a program that was looked for.

    Raises:
        ToolFailed: `tool_unavailable` with the reason, if there is none (any more).
    """
    if program is None:
        raise ToolFailed(Code.TOOL_UNAVAILABLE, why_not or "the program that does it is gone", effect=False)
    return program


def said_by(ran: Ran, most_chars: int = 300) -> str:
    """Return the end of a failed program's output, which begins with a whole line where it has several."""
    words = ran.stderr.strip() or ran.stdout.strip() or "it said nothing"
    if len(words) <= most_chars:
        return words
    end = words[-most_chars:]
    return (end.partition("\n")[2] or end).strip()


def ended_by(ran: Ran, most_chars: int = 300) -> str:
    """Return the last line of a failed program's output, which names the cause most often, then its end if longer."""
    words = said_by(ran, most_chars)
    last = words.splitlines()[-1].strip()
    return words if last == words else f"{last}\n{words}"


def _last(out: _Kept, err: _Kept) -> str:
    return (err.text().strip() or out.text().strip() or "none")[-200:]
