from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from starloom.core.state.inputs import AnyInput, JobClaimed
from starloom.jobs import claiming
from starloom.jobs.claiming import Answered, Claim, NotOurs, WorkerJob, ask
from starloom.store.port import JobReads, StreamState, Unavailable
from starloom_protocol.records.entities import Fault
from starloom_protocol.vocabulary import Code
from tests.store.memory import MemoryStore
from tests.waiting import PATIENCE_S

REFUSED = Answered(faults=[Fault(code=Code.CONFLICT, reason="the job is claimed by other")])
TAKEN = Answered(value={"claimed": True})


class FakeInbox:
    """An inbox that answers by a function and keeps what was posted."""

    def __init__(self, reply: Callable[[AnyInput, int], Answered | Exception | None]) -> None:
        self.reply = reply
        self.posted: list[AnyInput] = []
        self.arrived = asyncio.Event()

    async def post(self, raw: bytes, *, answer_within_s: float | None) -> bytes | None:
        item: Any = msgspec.json.decode(raw, type=AnyInput)
        self.posted.append(item)
        self.arrived.set()
        answer = self.reply(item, len(self.posted))
        if isinstance(answer, Exception):
            raise answer
        return None if answer is None else msgspec.json.encode(answer)

    def take(self) -> AsyncIterator[tuple[str, bytes]]:
        raise NotImplementedError

    async def settle(self, delivery: str, answer: bytes) -> None:
        raise NotImplementedError


def claim(inbox: FakeInbox, ttl_s: float = 0.03, reads: Any = None) -> Claim:
    return Claim(WorkerJob(reads, inbox, "c-1", "j-1", "w-1"), ttl_s=ttl_s)


async def test_a_claim_names_worker_and_job() -> None:
    inbox = FakeInbox(lambda _item, _n: TAKEN)
    await claim(inbox, 15).take()
    [posted] = inbox.posted
    assert isinstance(posted, JobClaimed)
    assert (posted.constellation, posted.job, posted.worker, posted.ttl_ms) == ("c-1", "j-1", "w-1", 15_000)
    assert posted.by == "worker:w-1"


@pytest.mark.parametrize("answer", [REFUSED, Answered(value=None), Answered(value={"claimed": False})])
async def test_a_job_of_another_is_left_alone(answer: Answered) -> None:
    with pytest.raises(NotOurs):
        await claim(FakeInbox(lambda _item, _n: answer)).take()


async def test_it_renews_while_it_works() -> None:
    inbox = FakeInbox(lambda _item, _n: TAKEN)

    async def work() -> str:
        while len(inbox.posted) < 3:
            inbox.arrived.clear()
            await inbox.arrived.wait()
        return "done"

    async with asyncio.timeout(PATIENCE_S):
        assert await claim(inbox).while_renewing(work) == "done"
    assert all(isinstance(item, JobClaimed) and item.renews for item in inbox.posted)


async def test_a_lost_claim_stops_the_work() -> None:
    inbox = FakeInbox(lambda _item, n: REFUSED if n >= 2 else TAKEN)
    stopped = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(NotOurs):
            await claim(inbox).while_renewing(work)
    assert stopped.is_set()


async def test_an_engine_that_is_away_for_a_while_is_asked_again() -> None:
    inbox = FakeInbox(lambda _item, n: Unavailable("away") if n < 3 else TAKEN)

    async def work() -> int:
        while len(inbox.posted) < 4:
            inbox.arrived.clear()
            await inbox.arrived.wait()
        return len(inbox.posted)

    async with asyncio.timeout(PATIENCE_S):
        assert await claim(inbox).while_renewing(work) >= 4


async def test_a_failing_work_shows_its_error() -> None:
    async def work() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await claim(FakeInbox(lambda _item, _n: TAKEN)).while_renewing(work)


async def test_no_answer_is_unavailable() -> None:
    item = JobClaimed(by="w", id="i", constellation="c", job="j", ttl_ms=1, worker="w")
    with pytest.raises(Unavailable):
        await ask(FakeInbox(lambda _item, _n: None), item)


class Behind(MemoryStore):
    """The store's twin, which lost its last events and gets them back after some reads."""

    def __init__(self, back_after: int) -> None:
        super().__init__()
        self.asked: list[str] = []
        self._back_after = back_after

    async def entities(self, stream: str) -> StreamState | None:
        self.asked.append(stream)
        return StreamState(7 if len(self.asked) > self._back_after else 4, {"head": b"{}"})


async def claimed_at(seq: int, reads: Behind) -> JobReads:
    mine = claim(FakeInbox(lambda _item, _n: Answered(value={"claimed": True, "seq": seq})), reads=reads)
    await mine.take()
    return mine.claimed().reads


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claiming, "BEHIND_WAIT_S", 0.0)


@pytest.mark.usefixtures("at_once")
async def test_records_from_before_the_claim_are_not_shown() -> None:
    behind = Behind(3)
    found = await (await claimed_at(6, behind)).entities("c-1")
    assert found is not None
    assert found[0] == 7
    assert behind.asked == ["c-1"] * 4


@pytest.mark.usefixtures("at_once")
async def test_a_store_that_stays_behind_leaves_the_job_to_the_next_worker() -> None:
    behind = Behind(10_000)
    with pytest.raises(Unavailable, match="behind event 6"):
        await (await claimed_at(6, behind)).entities("c-1")
    assert len(behind.asked) == claiming.BEHIND_TRIES


async def test_other_streams_are_read_as_they_are() -> None:
    behind = Behind(10_000)
    found = await (await claimed_at(6, behind)).entities("fleet")
    assert found is not None
    assert found[0] == 4
