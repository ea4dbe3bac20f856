"""A creating request that is repeated with its key is made once, whatever else has this key meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.responses import Response

from starloom.edge.web.replies import Repeats


def request(key: str = "k") -> Any:
    async def body() -> bytes:
        return b"{}"

    caller = SimpleNamespace(token="t")
    return SimpleNamespace(
        headers={"idempotency-key": key},
        state=SimpleNamespace(caller=caller),
        url=SimpleNamespace(path="/p"),
        body=body,
    )


async def test_requests_with_one_key_are_made_one_after_the_other_also_behind_one_that_failed() -> None:
    repeats = Repeats(lambda: 0.0)
    gates = [asyncio.Event() for _ in range(3)]
    at_work, most, made = 0, 0, 0

    def make(number: int) -> Callable[[], Awaitable[Response]]:
        async def made_by() -> Response:
            nonlocal at_work, most, made
            at_work, most = at_work + 1, max(most, at_work + 1)
            await gates[number].wait()
            at_work -= 1
            if number == 0:
                raise RuntimeError("the store was away")
            made += 1
            return Response(b"made")

        return made_by

    first = asyncio.create_task(repeats.once(request(), make(0)))
    await asyncio.sleep(0)
    second = asyncio.create_task(repeats.once(request(), make(1)))
    await asyncio.sleep(0)
    gates[0].set()
    with pytest.raises(RuntimeError):
        await first
    third = asyncio.create_task(repeats.once(request(), make(2)))
    await asyncio.sleep(0)
    gates[1].set()
    gates[2].set()
    assert [(await answer).body for answer in (second, third)] == [b"made", b"made"]
    assert (made, most) == (1, 1)


async def test_answers_are_kept_up_to_a_number_of_bytes_the_newest_first() -> None:
    repeats, made = Repeats(lambda: 0.0), 0

    async def make() -> Response:
        nonlocal made
        made += 1
        return Response(b"x" * (20 * 1024 * 1024))

    for key in ("one", "two", "three", "three"):
        await repeats.once(request(key), make)
    assert made == 3
    await repeats.once(request("one"), make)
    assert made == 4
