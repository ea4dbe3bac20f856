"""The projector by itself: order, batching, failure, ending."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from starloom.store.port import Unavailable
from starloom.store.sql.history import PastCommit, Superseded
from starloom.store.sql.projector import GATHER_S, Projector


class Sink:
    """Takes batches; each waits for `gate`, and `errors` are raised first."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.errors: list[Exception] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.pauses: list[float] = []

    async def write(self, batch: Sequence[PastCommit]) -> None:
        await self.gate.wait()
        if self.errors:
            raise self.errors.pop(0)
        self.batches.append([commit.pos for commit in batch])

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)


def past(pos: int, at_ms: int = 0) -> PastCommit:
    return PastCommit(at_ms=at_ms, events=[], incarnation=1, outbox=[], pos=pos, sent_pos=0, term=1)


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
async def projector(sink: Sink) -> AsyncIterator[Projector]:
    projector = Projector(sink.write, sleep=sink.sleep)
    projector.start(0)
    yield projector
    await projector.stop()


async def test_one_write_in_flight_takes_all_that_queued(projector: Projector, sink: Sink) -> None:
    sink.gate.clear()
    projector.add(past(1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    for pos in range(2, 6):
        projector.add(past(pos))
    sink.gate.set()
    assert await projector.passed(4) == 5
    assert sink.batches == [[1], [2, 3, 4, 5]]


async def test_commits_must_follow_each_other(projector: Projector) -> None:
    projector.add(past(1))
    projector.add(past(1))
    with pytest.raises(ValueError, match="cannot follow"):
        projector.add(past(3))
    assert await projector.passed(0) == 1


async def test_a_failure_is_told_to_who_waits_and_tried_again(projector: Projector, sink: Sink) -> None:
    sink.errors = [Unavailable("disk full"), Unavailable("disk full"), Unavailable("disk full")]
    projector.add(past(1, at_ms=100))
    for _ in range(3):
        with pytest.raises(Unavailable, match="disk full"):
            await projector.passed(0)
    assert projector.lag_ms(350) == 250
    assert await projector.passed(0) == 1
    assert projector.lag_ms(350) == 0
    assert sink.pauses == sorted(sink.pauses)
    assert len(sink.pauses) == 3


async def test_a_history_of_another_owner_ends_it(projector: Projector, sink: Sink) -> None:
    sink.errors = [Superseded("term 2 has it")]
    projector.add(past(1))
    with pytest.raises(Unavailable, match="term 2 has it"):
        await projector.passed(0)
    assert not projector.runs
    with pytest.raises(Unavailable, match="term 2 has it"):
        await projector.passed(0)
    assert sink.batches == []


async def test_stopping_frees_who_waits(projector: Projector, sink: Sink) -> None:
    waiting = asyncio.create_task(projector.passed(0))
    await asyncio.sleep(0)
    await projector.stop()
    with pytest.raises(Unavailable, match="stopped"):
        await waiting
    with pytest.raises(Unavailable, match="does not run"):
        await projector.passed(0)


async def test_draining_waits_for_what_is_queued_only(projector: Projector, sink: Sink) -> None:
    await projector.drained()
    for pos in (1, 2, 3):
        projector.add(past(pos))
    await projector.drained()
    assert projector.watermark == projector.last_pos == 3


async def test_commits_that_nobody_waits_for_are_gathered(sink: Sink) -> None:
    woken = asyncio.Event()

    async def sleep(seconds: float) -> None:
        sink.pauses.append(seconds)
        await woken.wait()

    projector = Projector(sink.write, sleep=sleep)
    projector.start(0)
    for pos in (1, 2):
        projector.add(past(pos), waited_for=False)
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert sink.batches == []
    projector.add(past(3), waited_for=False)
    woken.set()
    assert await projector.passed(2) == 3
    assert (sink.batches, sink.pauses) == ([[1, 2, 3]], [GATHER_S])
    await projector.stop()


async def test_one_that_is_waited_for_takes_the_gathered_with_it_at_once(sink: Sink) -> None:
    never = asyncio.Event()

    async def sleep(_seconds: float) -> None:
        await never.wait()

    projector = Projector(sink.write, sleep=sleep)
    projector.start(0)
    projector.add(past(1), waited_for=False)
    await asyncio.sleep(0)
    projector.add(past(2))
    assert await projector.passed(1) == 2
    assert sink.batches == [[1, 2]]
    projector.add(past(3), waited_for=False)
    await projector.drained()
    assert sink.batches == [[1, 2], [3]]
    await projector.stop()
