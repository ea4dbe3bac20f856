"""Finished constellations leave the real Redis; a hub or Redis that comes back does not load them, people still do."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from redis.exceptions import BusyLoadingError
from redis.exceptions import ConnectionError as Away

from starloom.store.redis import keys
from tests.chaos.conftest import Settled
from tests.chaos.stack import Accepted, Stack
from tests.chaos.work import echoes
from tests.waiting import until

pytestmark = pytest.mark.chaos
SETTINGS = {"STARLOOM_RETIRE_AFTER_S": "0.5"}
READS = ("", "/result", "/events", "/versions", "/why")


def live(stack: Stack) -> set[str]:
    """Return the streams that Redis has."""
    with stack.redis_client() as redis:
        heads: Any = redis.hkeys(keys.HEADS)
        names = {name.decode() for name in heads}
        left = [key for key in redis.scan_iter(keys.entities("*")) if key.decode().rpartition(":")[2] not in names]
        assert not left, f"entities without a head: {left}"
    return names


def everything(stack: Stack, request: Accepted) -> list[Any]:
    where = f"/constellations/{request.id}"
    return [
        *(stack.client.get(where + path) for path in READS),
        stack.client.get(where + "/diff", **{"from": 0, "to": 1}),
        stack.client.get(where + "/tasks/e0-0/attempts/1/log"),
    ]


def until_retired(stack: Stack, *requests: Accepted) -> None:
    def gone() -> bool:
        # A Redis that has just been killed is away for a moment, then loads.
        with contextlib.suppress(Away, BusyLoadingError):
            return stack.redis.is_running() and live(stack) == {"access", "fleet"}
        return False

    until(gone, f"{len(requests)} finished constellations have left Redis")


def test_a_hub_that_comes_back_does_not_load_what_was_retired(stack: Stack, settled: Settled) -> None:
    first, second = (stack.submit(echoes(f"retired-{name}", 8, side_by_side=3)) for name in ("one", "two"))
    for request in (first, second):
        assert stack.until_final(request) == "succeeded"
    until_retired(stack, first, second)
    before = everything(stack, first)
    listed = stack.client.get("/constellations")
    stack.kill_hub()
    stack.until_up()
    assert live(stack) == {"access", "fleet"}
    assert everything(stack, first) == before
    assert stack.client.get("/constellations") == listed

    stack.control(first, "retry-from", "e0-6")
    assert first.id in live(stack)
    again = until(lambda: stack.look(first).tasks["e0-7"].round == 2 and stack.look(first).final, "it has run again")
    assert again
    stack.kill_redis()
    until(lambda: stack.redis.net_connections("unix"), "Redis is back")
    stack.until_up()
    until_retired(stack, first)
    assert stack.client.get(f"/constellations/{first.id}")["tasks"] != []
    settled()
