"""The link of this device to its hub: it dials with full jitter, until it is stopped or the hub refuses for good.

Knows when to dial again, not the content: that belongs to the `Connection` and its peer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from starloom_agent.home.status_file import REFUSED
from starloom_agent.wire.connection import Connection, ConnectionEnded
from starloom_agent.wire.dialling import Route
from starloom_protocol.wire.frames import Frame, LeaseRef

RECONNECT_LEAST_S: Final = 0.2
"""A hub that was only restarted is back within a second, and its devices should be too."""
RECONNECT_MOST_S: Final = 60.0
"""A device notices within a minute that its hub is back; a large fleet does not flood it before."""
RECONNECT_MOST_HERE_S: Final = 2.0
"""The longest pause before a hub on this computer: its few agents are no herd, and a person restarts it and waits."""
DOUBTS_MOST: Final = 5
DOUBT_FIRST_S: Final = 4.0
"""A refusal that a faulty line may have caused is final after `DOUBTS_MOST` of them without a session, in a minute."""
UNKNOWN_PAUSES: Final = 10
"""A hub that does not know this device is asked again after so many of the longest pauses, ten minutes: its person may
have started it with an older backup for a trial, and nobody should have to go to each device after that."""
_GOODBYE_WITHIN_S: Final = 1.0
"""The owner waits for the end; without a goodbye the hub only notices a little later."""
RECONNECT_MOST_TUNNEL_S: Final = 3.0
"""The longest pause before the end of a tunnel: a try reaches the hub only while the tunnel stands, and the hub keeps
an ssh process for each of these servers, so they are few. The tunnel is often back seconds before the hub is."""


def pause_most_s(route: Route, most_s: float) -> float:
    """Return the longest pause between two tries of this route."""
    if route.on_this_computer:
        return min(most_s, RECONNECT_MOST_HERE_S)
    return min(most_s, RECONNECT_MOST_TUNNEL_S) if route.through_tunnel else most_s


class Link:
    """The connections of one agent, one after the other. `connection` is the open one, None while there is none."""

    def __init__(
        self,
        dial: Callable[[], Connection],
        *,
        most_s: float,
        jitter: Callable[[], float],
        say: Callable[[str], None],
        status: Callable[[str, str], None],
    ) -> None:
        self.connection: Connection | None = None
        self._dial = dial
        self._dialling: Connection | None = None
        self._most_s = most_s
        self._jitter = jitter
        self._say = say
        self._status = status

    def opened(self) -> None:
        """Note that the connection that is being dialled has its session."""
        self.connection = self._dialling

    @property
    def http_key(self) -> str:
        """Return the key that proves requests for artifacts on the open connection, in hexadecimal digits."""
        channel = self.connection.channel if self.connection is not None else None
        return channel.http.hex() if channel is not None else ""

    def push(self, frames: list[Frame], ended: LeaseRef | None = None) -> bool:
        """Queue frames that are not reports; False if there is no connection or it has too many waiting."""
        return self.connection is not None and self.connection.push(frames, ended)

    def wake(self) -> None:
        """Wake the connection: there may be reports to send."""
        if self.connection is not None:
            self.connection.wake()

    async def run(self, stopping: asyncio.Event, leave: Callable[[], Awaitable[None]]) -> ConnectionEnded | None:
        """Dial until `stopping`; then await `leave`, say goodbye and return None.

        Returns earlier, with the end, only if the hub says that trying again will not help: at once, or, if a faulty
        line may have caused the refusal, after `DOUBTS_MOST` of them without a session in between. A hub that does not
        know this device is asked again, seldom.
        """
        failures = doubts = 0
        stopped = asyncio.create_task(stopping.wait())
        try:
            while not stopping.is_set():
                self._dialling = connection = self._dial()
                serving = asyncio.create_task(connection.serve())
                await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
                if not serving.done():
                    await leave()
                    await self._say_goodbye(connection, serving)
                    return None
                opened = self.connection is not None
                self.connection = None
                ended = serving.exception()
                if not isinstance(ended, ConnectionEnded):
                    raise ended or RuntimeError("a connection ended without saying why")
                failures = 0 if opened else failures + 1
                doubts = (0 if opened else doubts) + ended.final
                is_sure = ended.final and (not ended.doubtful or doubts >= DOUBTS_MOST)
                if is_sure and not ended.unknown:
                    self._status(REFUSED, ended.reason)
                    return ended
                wait_s = self.wait_s(failures, ended.retry_after_s)
                if is_sure:
                    wait_s = UNKNOWN_PAUSES * self._most_s
                elif ended.final:
                    wait_s = min(self._most_s, DOUBT_FIRST_S * 2.0 ** (doubts - 1))
                    self._say(f"this may be the line's doing: try {doubts} of {DOUBTS_MOST}")
                self._status("offline", ended.reason)
                self._say(f"{ended.reason}; trying again in {wait_s:.1f} s")
                await asyncio.wait({stopped}, timeout=wait_s)
            return None
        finally:
            stopped.cancel()

    def wait_s(self, failures: int, asked_s: float | None) -> float:
        """Return the pause: full jitter over a window that doubles from 0.2 s, added to the pause the hub asks for."""
        window: float = min(self._most_s, RECONNECT_LEAST_S * 2.0 ** min(failures, 16))
        return (asked_s or 0.0) + max(RECONNECT_LEAST_S / 4, self._jitter() * window)

    async def _say_goodbye(self, connection: Connection, serving: asyncio.Task[None]) -> None:
        connection.say_bye("the agent was stopped")
        await asyncio.wait({serving}, timeout=_GOODBYE_WITHIN_S)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        self._status("stopped", "stopped by its owner")
