"""A call that waits long gives its answer or its error, and does not keep its process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from starloom.lab.devices.hosting import patiently
from tests.waiting import PATIENCE_S

PROGRAM = """
import asyncio, threading
from starloom.lab.devices.hosting import patiently
async def main():
    asyncio.create_task(patiently(threading.Event().wait))
    await asyncio.sleep(0)
asyncio.run(main())
print("ended")
"""


async def test_an_answer_and_an_error_come_back() -> None:
    assert await patiently(int, "11", base=2) == 3
    with pytest.raises(ValueError, match="invalid literal"):
        await patiently(int, "no number")


async def test_a_cancelled_wait_ends_at_once() -> None:
    waiting = asyncio.create_task(patiently(threading.Event().wait))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


def test_a_process_ends_while_a_call_waits() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert done.stdout == "ended\n"
