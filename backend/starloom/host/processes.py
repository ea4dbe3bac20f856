"""Child processes that are kept running: started, watched, started again after a pause, ended with their parent.

Must be used from the main thread: on Linux a child ends with the thread that started it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from starloom.process.ending import end_process
from starloom.process.signals import ends_with_parent

PAUSE_S = 0.2
"""A program that fails once is back before anybody notices."""
PAUSE_MOST_S = 10.0
"""One that fails each time must not fill the log, and is back soon after its cause is mended."""
SETTLED_S = 30.0
"""A program that ran for so long did not fail at its start: the pauses begin small again."""
LAST_WORDS_S = 1.0
LOG_BYTES_MAX = 5 * 1024 * 1024
"""Weeks of a quiet hub; with the one before it a log takes twice as much."""
LOG_LOOK_S = 300.0
"""The time within which the log of a program that goes on is found to be longer than that."""


@dataclass(frozen=True)
class Program:
    """The program of a child process. With `log` its output goes to that file, else it shares the terminal.

    `final_exits` are exit codes after which it is not started again, each with the reason.
    `piped`: this process reads the output from a pipe and writes the log, because the program's own disk may be full.
    """

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    log: Path | None = None
    piped: bool = False
    final_exits: Mapping[int, str] = field(default_factory=dict)


class Child:
    """One program, kept running from `start` to `stop` unless `restart` is false."""

    def __init__(self, program: Program, say: Callable[[str], None], *, restart: bool = True) -> None:
        self.program = program
        self.ended = asyncio.Event()
        self.exit_code: int | None = None
        self.starts = 0
        self._say = say
        self._restart = restart
        self.log_from = 0
        """The byte of its log at which the words of this program begin; those before are of earlier ones."""
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._copying: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def start(self) -> None:
        """Start it; `ended` is set when it will not be started again.

        Raises:
            OSError: the program cannot be started at all.
        """
        self._stopping.clear()
        self.ended.clear()
        await self._spawn()
        self._watch = asyncio.create_task(self._keep(), name=f"keep {self.program.name}")

    async def kill(self) -> None:
        """End it with SIGKILL and do not start it again, as a fault would."""
        self._stopping.set()
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        await self._until_watched()

    async def stop(self, within_s: float = 8.0) -> None:
        """End it with SIGTERM, by force after `within_s`; idempotent."""
        self._stopping.set()
        process = self._process
        if process is not None and process.returncode is None and not await end_process(process, within_s):
            self._say(f"{self.program.name} did not end within {within_s:g} s; it was ended by force")
        await self._until_watched()

    async def _until_watched(self) -> None:
        if self._watch is not None:
            await self._watch

    async def _spawn(self) -> None:
        log = self.program.log
        out = None
        if log is not None:
            log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._turn(log)
            if self.starts == 0:
                self.log_from = log.stat().st_size if log.exists() else 0
            out = log.open("ab")
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self.program.argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE if self.program.piped else out,
                stderr=asyncio.subprocess.STDOUT if self.program.piped else out,
                env={**os.environ, **self.program.environment},
                # Its own group, so that Ctrl-C in the terminal reaches the supervisor alone, which ends it in order.
                start_new_session=True,
                preexec_fn=ends_with_parent(),
            )
        finally:
            if out is not None:
                out.close()
        if self.program.piped and log is not None and self._process.stdout is not None:
            name = f"log of {self.program.name}"
            self._copying = asyncio.create_task(_copy(self._process.stdout, log), name=name)
        self.starts += 1

    async def _keep(self) -> None:
        pause = PAUSE_S
        try:
            while self._process is not None:
                began = time.monotonic()
                self.exit_code = await self._until_ended(self._process)
                if self._copying is not None:
                    # A child of it may still hold the other end of the pipe.
                    await asyncio.wait({self._copying}, timeout=LAST_WORDS_S)
                    self._copying.cancel()
                if self._stopping.is_set() or not self._restart:
                    return
                if self.exit_code in self.program.final_exits:
                    self._say(f"{self.program.name} ended: {self.program.final_exits[self.exit_code]}")
                    return
                if time.monotonic() - began > SETTLED_S:
                    pause = PAUSE_S
                self._say(f"{self.program.name} ended ({_how(self.exit_code)}); starting it again in {pause:g} s")
                pause = await self._start_again(pause)
        finally:
            self.ended.set()

    async def _start_again(self, pause: float) -> float:
        """Start it after a pause, and as often as that fails; return the next pause. Nothing is started after `stop`.

        An upgrade may take the program from its place for a moment, and a machine may lack memory for a new process.
        """
        while not await self._is_stopped_within(pause):
            pause = min(pause * 2, PAUSE_MOST_S)
            try:
                await self._spawn()
            except OSError as error:
                self._say(f"{self.program.name} cannot be started: {error}; trying again in {pause:g} s")
            else:
                return pause
        self._process = None
        return pause

    async def _is_stopped_within(self, pause: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), pause)
        return self._stopping.is_set()

    async def _until_ended(self, process: asyncio.subprocess.Process) -> int:
        """Wait for the end of the process; its log is kept short meanwhile."""
        waiting = asyncio.ensure_future(process.wait())
        while not (await asyncio.wait({waiting}, timeout=LOG_LOOK_S))[0]:
            if self.program.log is not None:
                self._turn(self.program.log)
        return waiting.result()

    def _turn(self, log: Path) -> None:
        """Empty a log that is too long; its text is kept beside it, as `.1`."""
        try:
            if log.is_file() and log.stat().st_size > LOG_BYTES_MAX:
                shutil.copyfile(log, log.with_name(log.name + ".1"))
                # The program holds the file open and appends to it, so it goes on at the new end of the same file.
                os.truncate(log, 0)
        except OSError as error:
            self._say(f"the log {log} grows on: {error}")


async def _copy(output: asyncio.StreamReader, log: Path) -> None:
    """Write to the log all that its disk takes: a pipe that nobody empties would block the program."""
    with log.open("ab", buffering=0) as out:
        while data := await output.read(64 * 1024):
            with contextlib.suppress(OSError):
                out.write(data)


def _how(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"


def log_tail(path: Path, since: int = 0, lines: int = 15) -> str:
    """Return the last lines of a log, indented, to quote in a fault; none from before the byte `since`."""
    try:
        raw = path.read_bytes()
        tail = raw[since if since <= len(raw) else 0 :].decode(errors="replace").splitlines()[-lines:]
    except OSError as error:
        return f"    (its log cannot be read: {error})"
    return "\n".join("    " + line for line in tail) or "    (its log is empty)"
