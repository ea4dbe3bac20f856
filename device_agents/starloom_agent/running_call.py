"""Starts the runner of one call, hands on what it says, and gives back how it ended - exactly once, whatever happens.

One `RunningCall` is one operating-system process tree; it decides nothing about leases.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable
from typing import Final

from starloom_agent.calls import CallSpec, Ended, Grouped, Order, Said, decode_line, encode
from starloom_agent.platforms import processes
from starloom_protocol.vocabulary import Code, EffectSeen, Outcome

_LINE_BYTES_MAX: Final = 16 * 1024 * 1024
_PASSED_ON: Final = (
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "TEMP", "TMP", "SHELL",
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR",
    "VIRTUAL_ENV", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "SSL_CERT_FILE", "SSL_CERT_DIR", "PREFIX",
)  # fmt: skip


def _environment() -> dict[str, str]:
    """Only what programs need: the agent's own environment may hold its owner's secrets."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


class RunningCall:
    """A call from `run` to its `Ended`. `stop` and `move_fence` may be called at any time."""

    def __init__(self, spec: CallSpec, on_group: Callable[[Grouped], None], on_said: Callable[[Said], None]) -> None:
        self.spec = spec
        self._on_group = on_group
        self._on_said = on_said
        self._process: asyncio.subprocess.Process | None = None
        self._group: Grouped | None = None
        self._orders: list[Order] = []

    def stop(self, why: str) -> None:
        """Ask the runner to end the group; its `Ended` says whether a result was made before."""
        self._order(Order(stop=why))

    def move_fence(self, fence_at: float) -> None:
        self._order(Order(fence_at=fence_at))

    def _order(self, order: Order) -> None:
        if self._process is None:
            self._orders.append(order)
        elif self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.write(encode(order) + b"\n")

    async def run(self) -> Ended:
        """Run to the end. A cancelled `run` kills the whole call before it goes on."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "starloom_agent.runner",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                start_new_session=True, limit=_LINE_BYTES_MAX, env=_environment(),
            )  # fmt: skip
        except OSError as error:
            detail = f"the process of {self.spec.tool} could not be started: {error}"
            return Ended(outcome=Outcome.NEVER_STARTED, code=Code.TOOL_UNAVAILABLE, detail=detail)
        assert self._process.stdin is not None  # noqa: S101 - made with PIPE three lines above
        self._process.stdin.write(b"\n".join([encode(self.spec), *map(encode, self._orders), b""]))
        try:
            ended = await self._listen(self._process)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            self._end_group()
            raise
        return ended

    async def _listen(self, process: asyncio.subprocess.Process) -> Ended:
        assert process.stdout is not None  # noqa: S101 - made with PIPE
        ended: Ended | None = None
        while line := await process.stdout.readline():
            said = decode_line(line)
            if isinstance(said, Said):
                self._on_said(said)
            elif isinstance(said, Grouped):
                self._group = said
                self._on_group(said)
            else:
                ended = said
        status = await process.wait()
        if ended is not None:
            return ended
        # The runner itself was killed: what it watched over is ended here.
        await asyncio.to_thread(self._end_group)
        effect = EffectSeen.NONE if self.spec.effectless else EffectSeen.MAYBE
        detail = f"the runner of {self.spec.tool} ended with status {status} before it could say how the call went"
        return Ended(outcome=Outcome.INTERRUPTED, code=Code.INTERRUPTED, detail=detail, effect=effect)

    def _end_group(self) -> None:
        if self._group is not None:
            processes.end_groups([(self._group.group, self._group.mark)])
