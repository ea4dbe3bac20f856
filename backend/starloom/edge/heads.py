"""What one HTTP connection may say before it is heard: the limits of a request's head, in bytes and in time.

uvicorn reads requests by llhttp, which bounds neither: whoever reaches the port, with or without a token, could fill
the hub's memory with one header, or keep a connection open by a byte now and then. Bodies have their limits where it is
known whose they are (`admission`).
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from starloom.edge.problems import Problem
from starloom_protocol.vocabulary import Code

HEAD_BYTES_MAX: Final = 64 * 1024
"""More than this is refused as soon as it is read; the last piece read may bring a head above it to its end."""
HEAD_WITHIN_S: Final = 30.0
"""How long a new connection may be silent, and how long a head may take that has begun."""


class BoundedHttp(HttpToolsProtocol):
    """A connection whose every request has a head of bounded size that arrives in bounded time."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._in_head = False
        self._head_bytes = 0
        self._too_late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_no_more()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._in_head:
            return
        self._head_bytes += len(data)
        if self._head_bytes > HEAD_BYTES_MAX:
            reason = f"the head of a request has at most {HEAD_BYTES_MAX} bytes"
            self._refuse(Problem(Code.TOO_LARGE, reason, hint="Send fewer or shorter headers.", status=431))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = 0
        if self._too_late is None:
            self._expect_head()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._expect_no_more()
        super().on_headers_complete()

    def _expect_head(self) -> None:
        self._too_late = self.loop.call_later(HEAD_WITHIN_S, self._give_up)

    def _expect_no_more(self) -> None:
        if self._too_late is not None:
            self._too_late.cancel()
            self._too_late = None

    def _give_up(self) -> None:
        self._too_late = None
        if self._in_head:
            reason = f"the head of a request ends within {HEAD_WITHIN_S:g} s"
            self._refuse(Problem(Code.BAD_REQUEST, reason, hint="Send it again, at once and whole.", status=408))
        else:  # nothing was asked, so there is nothing to answer
            self.transport.close()

    def _refuse(self, problem: Problem) -> None:
        """Answer as the application does, which has not been asked, and end the connection."""
        self._in_head = False
        self._expect_no_more()
        if self.transport.is_closing():
            return
        answer = problem.response()
        lines = [b"%s: %s\r\n" % header for header in (*answer.raw_headers, (b"connection", b"close"))]
        self.transport.write(STATUS_LINE[problem.status] + b"".join(lines) + b"\r\n" + bytes(answer.body))
        self.transport.close()
