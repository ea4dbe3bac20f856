"""Turns for large documents: they are checked in threads, so that no caller takes the whole processor.

Few threads work at a time, one of them for each caller, and more than may wait are refused at once. Knows nothing of
the documents; `admission` has found the caller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from fastapi import Request

from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import Problem
from starloom_protocol.vocabulary import Code

LARGE_BYTES: Final = 64 * 1024
"""A smaller document is checked at once, within a few milliseconds; a larger one in a thread, in its turn."""
LARGE_TASKS: Final = 300
AT_ONCE: Final = 2
OF_ONE_MOST: Final = 16
"""Documents of one caller that are worked on or wait."""
IN_ALL_MOST: Final = 64
"""Each waits with its whole body in memory, so the number of all callers together is bounded too."""
_HINT: Final = "Wait for the answers to those, or send smaller documents."
_T = TypeVar("_T")


class Computing:
    """The turns of one hub. More than may wait are refused at once."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="documents")
        self._turns: dict[str, asyncio.Lock] = {}
        self._counts: dict[str, int] = {}

    async def run(self, request: Request, large: bool, work: Callable[[], _T]) -> _T:
        """Return what `work` returns: here if its input is small, otherwise in a thread, when it is its turn.

        Raises:
            Problem: `rate_limited` or `overloaded`, if too much of this caller or of all waits.
        """
        if not large:
            return work()
        caller = caller_of(request).token
        count = self._counts.get(caller, 0)
        if count >= OF_ONE_MOST:
            raise Problem(
                Code.RATE_LIMITED, f"{count} large documents of yours wait for their turn", hint=_HINT, retry_after_s=1
            )
        if sum(self._counts.values()) >= IN_ALL_MOST:
            reason = f"{IN_ALL_MOST} large documents wait for their turn"
            raise Problem(Code.OVERLOADED, reason, hint=_HINT, retry_after_s=2)
        self._counts[caller] = count + 1
        try:
            async with self._turns.setdefault(caller, asyncio.Lock()):
                return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._counts[caller] -= 1
            if not self._counts[caller]:
                del self._counts[caller], self._turns[caller]
