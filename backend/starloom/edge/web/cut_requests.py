"""The answer of a stopping hub to requests that are still running when its time is over.

The server cancels them, and would log each as a fault of the hub. Decides nothing about their time limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from starloom.edge.web.problems import Problem
from starloom_protocol.vocabulary import Code

RETRY_AFTER_S = 2.0


class CutShort:
    """Wraps the application; `ending` says whether the hub is stopping."""

    def __init__(self, app: ASGIApp, ending: Callable[[], bool]) -> None:
        self.app = app
        self._ending = ending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except asyncio.CancelledError:
            if not self._ending():
                raise
            # If an answer has begun, the end of the connection shows that it is incomplete.
            if not begun:
                problem = Problem(
                    Code.OVERLOADED,
                    "the hub stopped before this was done; it may have happened",
                    hint="Ask again with the same Idempotency-Key.",
                    retry_after_s=RETRY_AFTER_S,
                )
                await problem.response(scope.get("state", {}).get("request_id", ""))(scope, receive, send)
