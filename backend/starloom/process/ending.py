"""Ends tasks and processes of asyncio for certain. Decides nothing about which, and hides no error of theirs.

Below Python 3.12 `asyncio.wait_for` drops a cancellation that arrives as its inner call ends, and the Redis client
sends each command through it. A task that loops over such calls goes on after one `cancel()`, so it is cancelled until
it has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Any, Final

AGAIN_S: Final = 0.5
"""How long a task has for its own clean-up before it is cancelled again."""


async def end_tasks(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel tasks and wait until every one has ended; what each came to is left for its owner to read."""
    listed = list(tasks)
    while open_tasks := [task for task in listed if not task.done()]:
        for task in open_tasks:
            task.cancel()
        await asyncio.wait(open_tasks, timeout=AGAIN_S)
    for task in listed:
        if not task.cancelled():
            task.exception()  # read, so that asyncio does not report it as forgotten


async def end_process(process: asyncio.subprocess.Process, within_s: float) -> bool:
    """End a process with SIGTERM, or by force after `within_s`; True if it ended when it was asked."""
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(within_s):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        return False
    return True
