"""Calls that wait long for an answer, each in a thread that ends with its process instead of keeping it.

A long poll of the hub would hold up the end of the process until it is answered: the loop's own threads are joined.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def patiently(call: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
    """Return the result of the call, or raise its exception; a cancelled caller leaves the thread behind."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def settle(finish: Callable[[], None]) -> None:
        if not answer.done():
            finish()

    def run() -> None:
        try:
            found = call(*args, **more)
        except Exception as error:
            finish = _raising(answer, error)
        else:
            finish = _giving(answer, found)
        # If the loop has ended meanwhile, no caller waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, finish)

    threading.Thread(target=run, name="patient call", daemon=True).start()
    return await answer


def _raising(answer: asyncio.Future[T], error: Exception) -> Callable[[], None]:
    return lambda: answer.set_exception(error)


def _giving(answer: asyncio.Future[T], found: T) -> Callable[[], None]:
    return lambda: answer.set_result(found)
