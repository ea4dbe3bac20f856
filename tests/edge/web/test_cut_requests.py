"""A request that a stopping hub cuts short gets an answer, and leaves no trace of a fault."""

from __future__ import annotations

import asyncio
import json

import pytest
from starlette.types import Message, Receive, Scope, Send

from starloom.edge.web.shield import CutShort


class Slow:
    """An application that answers nothing by itself, or half."""

    def __init__(self, *, half: bool) -> None:
        self.half = half
        self.at_work = asyncio.Event()

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        if self.half:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        self.at_work.set()
        await asyncio.Event().wait()


async def nothing() -> Message:
    raise AssertionError("nobody reads a body here")


async def cut(*, half: bool, ending: bool) -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    slow = Slow(half=half)
    scope = {"type": "http", "method": "POST", "state": {"request_id": "r1"}}
    running = asyncio.ensure_future(CutShort(slow, lambda: ending)(scope, nothing, send))
    await slow.at_work.wait()
    running.cancel("timeout graceful shutdown exceeded")
    await running
    return sent


async def test_a_request_that_is_cut_short_is_told_so() -> None:
    start, body = await cut(half=False, ending=True)
    assert start["status"] == 503
    assert (b"retry-after", b"2") in [(name.lower(), value) for name, value in start["headers"]]
    told = json.loads(body["body"])
    assert (told["code"], told["reason"]) == (
        "overloaded",
        "the hub stopped before this was done; it may have happened",
    )
    assert "Idempotency-Key" in told["hint"]


async def test_half_an_answer_stays_half() -> None:
    (start,) = await cut(half=True, ending=True)
    assert start["status"] == 200


async def test_what_is_cancelled_for_another_reason_stays_cancelled() -> None:
    with pytest.raises(asyncio.CancelledError):
        await cut(half=False, ending=False)
