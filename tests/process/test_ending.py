"""A task that drops its cancellation, as one in the Redis client may, still ends."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import pytest

from starloom.process import ending
from starloom.process.ending import end_process, end_tasks


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "AGAIN_S", 0)


async def _dropping(times: int) -> str:
    """Go on after so many cancellations, as a loop does whose call swallowed them."""
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if not times:
                raise
            times -= 1


async def _failing() -> None:
    raise ValueError("of its own")


async def test_tasks_end_however_often_they_drop_a_cancellation() -> None:
    tasks = [asyncio.create_task(_dropping(times)) for times in (0, 1, 3)]
    await asyncio.sleep(0)
    await end_tasks(tasks)
    assert all(task.cancelled() for task in tasks)


async def test_an_error_of_a_task_is_its_owners_to_read() -> None:
    task = asyncio.create_task(_failing())
    await asyncio.sleep(0)
    forgotten: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: forgotten.append(context))
    await end_tasks([task])
    assert isinstance(task.exception(), ValueError)
    del task
    assert not forgotten


async def test_no_tasks_are_ended_at_once() -> None:
    await end_tasks([])


async def _started(trap: str) -> asyncio.subprocess.Process:
    """Start a shell that has set its trap for SIGTERM and waits for its input."""
    script = f"trap '{trap}' TERM; echo ready; while :; do read line; done"
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec("sh", "-c", script, stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    return process


async def test_a_process_that_ends_when_asked_is_not_forced() -> None:
    process = await _started("-")
    assert await end_process(process, 10.0)
    assert process.returncode == -signal.SIGTERM


async def test_a_process_that_ignores_sigterm_is_ended_by_force() -> None:
    process = await _started("")
    assert not await end_process(process, 0.01)
    assert process.returncode == -signal.SIGKILL
