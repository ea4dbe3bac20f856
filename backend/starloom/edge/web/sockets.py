"""Accepted websockets of the edge as streams of messages, and the bound on those whose peer has not proved itself yet.

Knows no protocol above the socket: `agents` reads a device's messages, and `live` those of a page.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.types import Receive, Send

HOLD = "starloom.hold"
"""The ASGI extension by which an application holds its socket beyond its call: a `Hold`."""
Taker = Callable[[str | bytes], "asyncio.Future[None] | None"]
"""Takes whole messages in the turn in which they come. A future: the peer is read no further until it is done."""
Ended = Callable[[str], object]
"""Hears why the peer is gone; not called where the application closes the socket."""
Hold = Callable[[Taker, Ended], object]
BREAK = "starloom.break"
"""The ASGI extension by which an application ends the connection of a request in the middle of its answer."""
_log = logging.getLogger(__name__)


class Gone(Exception):
    """The peer went away."""


class Socket:
    """An accepted websocket as a stream of text messages; `hold` is the server's extension `HOLD`, if it has it."""

    __slots__ = ("_hold", "_on_ended", "_receive", "_send", "closed")

    def __init__(self, receive: Receive, send: Send, hold: Hold | None = None) -> None:
        self._receive = receive
        self._send = send
        self._hold = hold
        self._on_ended: Ended | None = None
        self.closed = False

    async def hand_over(self, taker: Taker, on_ended: Ended) -> None:
        """Have each message given to `taker`, and the reason to `on_ended` when the peer is gone; neither may raise.

        Returns at once if the server holds the socket from then on, and otherwise when the socket has ended.
        """
        self._on_ended = on_ended
        if self._hold is not None:
            hold, self._hold = self._hold, None
            hold(taker, self._note_gone)
            return
        try:
            while not self.closed:
                full = taker(await self.read())
                if full is not None:
                    await full
        except Gone as gone:
            self._note_gone(str(gone))

    def _note_gone(self, reason: str) -> None:
        self.closed = True
        on_ended, self._on_ended = self._on_ended, None
        if on_ended is not None:
            on_ended(reason or "the connection ended")

    async def read(self) -> str | bytes:
        """Return the next message.

        Raises:
            Gone: if the peer has closed or was cut off.
        """
        message = await self._receive()
        if message["type"] != "websocket.receive":
            self.closed = True
            raise Gone(str(message.get("reason") or "the connection ended"))
        text: str | None = message.get("text")
        data: str | bytes = message["bytes"] if text is None else text
        return data

    async def write(self, text: str) -> None:
        """Send one message, as soon as the transport takes one.

        Raises:
            Gone: if the peer is no longer there.
        """
        try:
            await self._send({"type": "websocket.send", "text": text})
        except (OSError, RuntimeError) as error:
            self.closed = True
            raise Gone(str(error) or "the connection ended") from error

    def write_now(self, text: str) -> bool:
        """Send one message before anything else runs; False, and nothing was sent, if the transport takes none now.

        `write` awaits the transport before it sends and nothing afterwards, so one `send(None)` either sends the
        message or has not begun.
        """
        if self.closed:
            return False
        writing = self.write(text)
        try:
            writing.send(None)
        except StopIteration:
            return True
        except Gone:
            return False
        writing.close()
        return False

    async def close(self, code: int, reason: str) -> None:
        """End the connection; nothing to do if the peer did so first."""
        if self.closed:
            return
        self.closed = True
        try:
            await self._send(
                {"type": "websocket.close", "code": code, "reason": reason.encode()[:120].decode("utf-8", "ignore")}
            )
        except (OSError, RuntimeError) as error:
            _log.debug("the socket was gone before it could be closed: %s", error)


class UnprovedSockets:
    """The sockets that have not yet proved who they are: bounded in number, and a flood of them keeps no newcomer out.

    Above the bound the oldest of the address that has the most gives way. An honest peer proves itself within a round
    trip, so it is cut off only if as many others as the bound allows came in that time.
    """

    def __init__(self) -> None:
        self._by_address: dict[str, dict[asyncio.Timeout, None]] = {}
        self._count = 0

    @asynccontextmanager
    async def place(self, address: str, within_s: float, most: int) -> AsyncIterator[None]:
        """Hold a place for as long as the block takes.

        Raises:
            TimeoutError: it took longer than `within_s`, or there were more than `most` and its place was needed.
        """
        async with asyncio.timeout(within_s) as timeout:
            if self._count >= most:
                crowd = max(self._by_address, key=lambda of_address: len(self._by_address[of_address]))
                oldest = next(iter(self._by_address[crowd]))
                if not oldest.expired():
                    oldest.reschedule(asyncio.get_running_loop().time())
                self._leave(crowd, oldest)
            self._by_address.setdefault(address, {})[timeout] = None
            self._count += 1
            try:
                yield
            finally:
                self._leave(address, timeout)

    def _leave(self, address: str, timeout: asyncio.Timeout) -> None:
        places = self._by_address.get(address, {})
        if timeout in places:
            del places[timeout]
            self._count -= 1
        if not places:
            self._by_address.pop(address, None)
