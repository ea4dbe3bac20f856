"""The terminals of another agent: programs by their argument list, each started only after this device allowed it.

Owns their output and their end. The device's command rules decide whether one may run, not this module; it stands on
the same ground as the agent, because it may run files that the agent wrote. The runner ends whatever is left.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from starloom_agent.toolkit.clients.acp.launch import Ground
from starloom_agent.toolkit.clients.acp.wire import AcpFault
from starloom_agent.toolkit.interface import ToolFailed
from starloom_protocol.vocabulary import Code

TERMINALS_MOST: Final = 16
_OUTPUT_BYTES_MOST: Final = 256 * 1024
_READ_BYTES: Final = 64 * 1024


@dataclass
class _Terminal:
    process: subprocess.Popen[bytes]
    most_bytes: int
    output: bytearray = field(default_factory=bytearray)
    cut: bool = False
    waiting: list[Callable[[dict[str, Any]], None]] = field(default_factory=list)
    closed: bool = False

    @property
    def descriptor(self) -> int:
        return self.process.stdout.fileno() if self.process.stdout is not None else -1


class Terminals:
    """The terminals of one session. `watch` and `unwatch` take part in the session's wait."""

    def __init__(self, ground: Ground, watch: Callable[[int], None], unwatch: Callable[[int], None]) -> None:
        self._ground = ground
        self._watch = watch
        self._unwatch = unwatch
        self._open: dict[str, _Terminal] = {}
        self._number = 0

    @property
    def running(self) -> bool:
        """Whether a program of a terminal runs."""
        return any(not terminal.closed for terminal in self._open.values())

    def check_room(self) -> None:
        """Refuse one terminal too many.

        Raises:
            ToolFailed: so many are open.
        """
        if len(self._open) >= TERMINALS_MOST:
            raise ToolFailed(Code.TOOL_FAILED, f"{TERMINALS_MOST} terminals are open; release one", effect=False)

    def create(self, argv: list[str], cwd: Path, env: Mapping[str, str], most_bytes: object) -> str:
        """Start a program that was allowed; return the name of its terminal.

        Raises:
            ToolFailed: it cannot be started.
        """
        self.check_room()
        limit = most_bytes if isinstance(most_bytes, int) and most_bytes > 0 else _OUTPUT_BYTES_MOST
        try:
            process = subprocess.Popen(
                self._ground.argv(argv, cwd),
                cwd=cwd,
                env=self._ground.variables(env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        except (AcpFault, OSError, ValueError) as error:
            raise ToolFailed(Code.TOOL_FAILED, f"{argv[0]} could not be started: {error}", effect=False) from error
        self._number += 1
        name = f"terminal-{self._number}"
        terminal = self._open[name] = _Terminal(process, min(limit, _OUTPUT_BYTES_MOST))
        os.set_blocking(terminal.descriptor, False)
        self._watch(terminal.descriptor)
        return name

    def output(self, name: object) -> dict[str, Any]:
        """Return the answer to `terminal/output`."""
        terminal = self._of(name)
        answer: dict[str, Any] = {
            "output": bytes(terminal.output).decode("utf-8", "replace"), "truncated": terminal.cut,
        }  # fmt: skip
        if terminal.closed:
            answer["exitStatus"] = _status(terminal.process)
        return answer

    def wait(self, name: object, answer: Callable[[dict[str, Any]], None]) -> None:
        """Give the exit status to `answer`, now or when the program has ended."""
        terminal = self._of(name)
        if terminal.closed:
            answer(_status(terminal.process))
        else:
            terminal.waiting.append(answer)

    def kill(self, name: object) -> None:
        self._of(name).process.kill()

    def release(self, name: object) -> None:
        """End the program, if it runs, and forget the terminal."""
        terminal = self._of(name)
        terminal.process.kill()
        self._close(terminal)
        del self._open[str(name)]

    def look(self) -> None:
        """Take the output that has come, and notice the ends of programs."""
        for terminal in list(self._open.values()):
            self._look(terminal)

    def end_all(self) -> None:
        """End all programs; requests that wait for their ends get no answer any more."""
        for terminal in self._open.values():
            terminal.waiting.clear()
            terminal.process.kill()
            self._close(terminal)
        self._open.clear()

    def _look(self, terminal: _Terminal) -> None:
        if terminal.closed:
            return
        while True:
            try:
                data = os.read(terminal.descriptor, _READ_BYTES)
            except BlockingIOError:
                # Something that it left in the background may hold the pipe open after its end.
                if terminal.process.poll() is not None:
                    self._close(terminal)
                return
            if not data:
                self._close(terminal)
                return
            terminal.output += data
            extra = len(terminal.output) - terminal.most_bytes
            if extra > 0:
                terminal.cut = True
                del terminal.output[:extra]

    def _close(self, terminal: _Terminal) -> None:
        if terminal.closed:
            return
        terminal.closed = True
        self._unwatch(terminal.descriptor)
        with contextlib.suppress(subprocess.TimeoutExpired):
            terminal.process.wait(1)
        if terminal.process.poll() is None:
            # It closed its output and goes on.
            terminal.process.kill()
            terminal.process.wait()
        if terminal.process.stdout is not None:
            terminal.process.stdout.close()
        waiting, terminal.waiting = terminal.waiting, []
        for answer in waiting:
            answer(_status(terminal.process))

    def _of(self, name: object) -> _Terminal:
        terminal = self._open.get(str(name))
        if terminal is None:
            raise ToolFailed(Code.BAD_ARGUMENTS, f"there is no terminal {str(name)[:60]}", effect=False)
        return terminal


def _status(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    code = process.returncode
    return {"exitCode": code if code >= 0 else None, "signal": None if code >= 0 else str(-code)}
