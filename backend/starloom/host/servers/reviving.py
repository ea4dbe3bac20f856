"""Restarts the agent of a server when it has died behind an open tunnel, and keeps the condition of that agent.

Decides by the hub's list of devices and by the server's own marks; an agent that its owner has stopped, or that has
left, is never started. Opens no tunnel and keeps no record.
"""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from starloom.client.problems import Problem
from starloom.host.servers import remote, ssh

ABSENT_S: Final = 10.0
"""An agent tries a tunnel every 3 s at most, so after ten it does not run; a start that was not needed does no harm."""
PAUSE_FIRST_S: Final = 10.0
PAUSE_MOST_S: Final = 120.0
TRIES_MOST: Final = 8
"""About ten minutes with the pauses. An agent that is still away then needs a person."""
SETTLED_S: Final = 60.0
"""A device that was online for so long gets all tries again; one that dies at every start does not."""
TRY_WITHIN_S: Final = 90.0
"""The agent's own `start` waits 60 s for its process; the rest is for ssh."""
_SAID_CHARS_MOST: Final = 300

AWAY: Final = "away"
STARTED: Final = "started again"
UNCONNECTED: Final = "runs without this hub"
RUNS_ALREADY: Final = "the agent runs already"
"""The words of the agent's own `start` where nothing was to be started; its connection is at fault then."""
STOPPED: Final = "stopped by its owner"
LEFT: Final = "has left"
GIVEN_UP: Final = "given up"
ONLINE: Final = "online"

Run = Callable[[ssh.Target, str, float], Awaitable[tuple[int, str, str]]]
"""Runs a shell text at a server within some seconds; returns its exit code, stdout and stderr."""


@dataclass(frozen=True)
class DeviceSeen:
    """A device as the hub sees it: its present name, and whether it is online."""

    name: str
    online: bool


@dataclass
class Absence:
    """The absence of one device behind its open tunnel: decides when its agent is started again. Pure."""

    tries: int = 0
    by_owner: bool = False
    """Its owner stopped the agent or left the hub. No start is tried until the device is seen online."""
    _away_since_s: float | None = None
    _online_since_s: float | None = None
    _due_s: float = 0.0

    def observe(self, now_s: float, *, online: bool) -> bool:
        """Note whether the device is online, and return whether its agent is to be started now."""
        if online:
            self._away_since_s = None
            self.by_owner = False
            if self._online_since_s is None:
                self._online_since_s = now_s
            if now_s - self._online_since_s >= SETTLED_S:
                self.tries = 0
            return False
        self._online_since_s = None
        if self._away_since_s is None:
            self._away_since_s = now_s
            self._due_s = max(self._due_s, now_s + ABSENT_S)
        return not self.by_owner and self.tries < TRIES_MOST and now_s >= self._due_s

    def note_try(self, now_s: float) -> None:
        """Note a try that has ended, and set the time of the next."""
        self.tries += 1
        self._due_s = now_s + min(PAUSE_FIRST_S * 2.0 ** (self.tries - 1), PAUSE_MOST_S)


@dataclass
class Watch:
    """Watches the agent behind one tunnel. `state` and `fault` say how it is, `way` is what a person can do."""

    target: ssh.Target
    home: str
    run: Run
    changed: Callable[[], None]
    state: str = ""
    fault: str = ""
    way: str = ""
    absence: Absence = field(default_factory=Absence)
    _trying: asyncio.Task[None] | None = None

    def look(self, device: DeviceSeen, now_s: float | None = None) -> None:
        """Take what the hub sees; starts the agent in the background when it is time."""
        if self._trying is not None and not self._trying.done():
            return
        if self.absence.observe(time.monotonic() if now_s is None else now_s, online=device.online):
            self._trying = asyncio.create_task(self._try(), name=f"revive {device.name}")
        elif device.online:
            self._tell(ONLINE)
        elif self.state in ("", ONLINE):
            self._tell(AWAY, "the agent there does not answer", self.typed("start"))

    async def until_tried(self) -> None:
        """Wait until a try that goes on has ended."""
        if self._trying is not None:
            await self._trying

    async def stop(self) -> None:
        """End a try that goes on; idempotent."""
        if self._trying is not None:
            self._trying.cancel()
            await asyncio.gather(self._trying, return_exceptions=True)

    def typed(self, command: str) -> str:
        """Return the line that a person types to run a command of the agent there."""
        program = [f"{self.home}/venv/bin/starloom-agent", command, "--home", self.home]
        return shlex.join([*shlex.split(self.target.typed), shlex.join(program)])

    async def _try(self) -> None:
        number = self.absence.tries + 1
        try:
            code, out, err = await self.run(self.target, remote.revive(self.home), TRY_WITHIN_S)
        except Problem as problem:
            code, out, err = ssh.OWN_FAULT, "", problem.reason
        self.absence.note_try(time.monotonic())
        if code == remote.STOPPED_THERE:
            self.absence.by_owner = True
            self._tell(STOPPED, "the owner of the server has stopped the agent there", self.typed("start"))
        elif code == remote.LEFT_THERE:
            self.absence.by_owner = True
            self._tell(LEFT, "the agent there has left its hub", "starloom enroll --ssh " + self.target.destination)
        else:
            line = (ssh.last_line(out) or ssh.last_line(err))[:_SAID_CHARS_MOST]
            if code == 0 and RUNS_ALREADY in line:
                self._tell(UNCONNECTED, line, self.typed("status"))
                return
            fault = f"try {number} of {TRIES_MOST} to start the agent there: {line or f'exit code {code}'}"
            over = number >= TRIES_MOST
            self._tell(GIVEN_UP if over else STARTED if code == 0 else AWAY, fault, self.typed("start"))

    def _tell(self, state: str, fault: str = "", way: str = "") -> None:
        if (state, fault, way) != (self.state, self.fault, self.way):
            self.state, self.fault, self.way = state, fault, way
            self.changed()
