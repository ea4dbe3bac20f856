"""The websocket of a connection: gives a whole message to its taker in the turn in which it arrives, and keeps short
what the system has still to send.

`websockets` puts each message into a queue for a reader that runs a turn later; messages that come in parts still go
that way, and so do all messages behind an unread one of them. Knows nothing of frames of the protocol.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any, Final

from websockets.asyncio.client import ClientConnection
from websockets.frames import Frame, Opcode
from websockets.protocol import Event, State

_BEGINS = frozenset({Opcode.TEXT, Opcode.BINARY})
UNSENT_BYTES: Final = 64 * 1024
"""On a slow line megabytes of output in the buffers of the system would leave before the next `alive`."""


class Line(ClientConnection):
    """`take`, once it is set, is given each whole message in order and must not raise; the others wait for `read`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.take: Callable[[bytes], None] | None = None
        self._unread = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        line = transport.get_extra_info("socket")
        # Windows has no such bound, and a Unix socket leads to a hub on this computer.
        if hasattr(socket, "TCP_NOTSENT_LOWAT") and line.family in (socket.AF_INET, socket.AF_INET6):
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)

    def process_event(self, event: Event) -> None:
        """Take one event of the websocket; called by the library for each, in order."""
        if isinstance(event, Frame) and event.opcode in _BEGINS:
            if self.take is not None and event.fin and not self._unread:
                self.take(bytes(event.data))
                return
            self._unread += 1
        super().process_event(event)

    async def read(self) -> bytes:
        """Return the next message that `take` was not given.

        Raises:
            ConnectionClosed: there will be none.
        """
        message = await self.recv(decode=False)
        self._unread -= 1
        return message

    def write_now(self, message: bytes) -> bool:
        """Send text in this turn; False, with nothing sent, if the connection is not open or the line is not free."""
        if self.protocol.state is not State.OPEN or self.transport.get_write_buffer_size():
            return False
        self.protocol.send_text(message)
        self.send_data()
        return True
