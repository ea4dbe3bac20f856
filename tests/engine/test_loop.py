"""The loop on the memory twin: durable answers, outages, a replaced Redis, a restart - as clients and agents see it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from starloom.core.state import inputs as i
from starloom.core.state.work import Work
from starloom.core.step import step as real_step
from starloom.engine.loop import Engine
from starloom.engine.ports import Overloaded
from starloom.engine.settings import EngineSettings, FinishedRetention
from starloom.store.port import Commit, Damaged
from starloom_protocol.bounds import ASKED_CHARS_MOST
from starloom_protocol.records.entities import Enrollment, Offer
from starloom_protocol.tools.profiles import TAB_OS
from starloom_protocol.vocabulary import Code, DeviceLink, Outcome, Profile
from starloom_protocol.wire.frames import Ack, Dispatch, HubFrame, LeaseRef, ResultFrame
from tests.builders import TOOLS, plan, task
from tests.store.memory import CommitFailure, MemoryHistory, MemoryRedis, MemoryStore


class TurningClock:
    """Hub time that a test turns; a wait ends when the time has come."""

    def __init__(self) -> None:
        self.ms = 1_000_000
        self._turned = asyncio.Event()

    def now_ms(self) -> int:
        return self.ms

    async def wait(self, ms: int) -> None:
        due = self.ms + ms
        while self.ms < due:
            self._turned.clear()
            await self._turned.wait()

    async def turn(self, ms: int, *, by: int = 100) -> None:
        for _ in range(max(ms // by, 1)):
            self.ms += by
            self._turned.set()
            await settle()


async def settle(turns: int = 30) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


@dataclass
class Wires:
    """Stands where sockets, viewers and workers stand: keeps what it is given."""

    sent: list[tuple[str, HubFrame]] = field(default_factory=list)
    flushed: int = 0
    online: set[str] = field(default_factory=set)
    closed: list[tuple[str, str]] = field(default_factory=list)
    published: list[Any] = field(default_factory=list)
    woken: list[str] = field(default_factory=list)
    stored: dict[str, bytes] = field(default_factory=dict)

    def send(self, device: str, frames: Any) -> bool:
        if device not in self.online:
            return False
        self.sent.extend((device, frame) for frame in frames)
        return True

    def send_along(self, device: str, frames: Any) -> bool:
        return self.send(device, frames)

    def flush(self) -> None:
        self.flushed = len(self.sent)

    def close(self, device: str, session: int, code: str, reason: str) -> None:
        self.closed.append((device, code))

    def publish(self, pos: int, events: Any) -> None:
        assert not self.kept_back(), "devices wait for orders; who looks on comes after"
        self.published.extend(event for event, _raw in events)

    def close_token(self, token: str) -> None:
        self.closed.append((token, "token"))

    def wake(self, kind: str, constellation: str, job: str) -> None:
        self.woken.append(constellation)

    def put_bytes(self, data: bytes) -> str:
        digest = str(len(self.stored))
        self.stored[digest] = data
        return digest

    def dispatches(self) -> list[Dispatch]:
        return [frame for _device, frame in self.sent if isinstance(frame, Dispatch)]

    def kept_back(self) -> list[Dispatch]:
        return [frame for _device, frame in self.sent[self.flushed :] if isinstance(frame, Dispatch)]

    def acks(self) -> list[Ack]:
        return [frame for _device, frame in self.sent if isinstance(frame, Ack)]


@dataclass
class Hub:
    clock: TurningClock
    redis: MemoryRedis
    history: MemoryHistory
    wires: Wires
    engine: Engine
    store: MemoryStore

    async def join(self, name: str, os: str = "linux") -> None:
        engine = self.engine
        enrollment = Enrollment(
            id=f"e-{name}", code_hash="x", created_ms=0, expires_ms=9_000_000, owner="ann", preapproved=True
        )
        await engine.inbox.ask(i.EnrollmentOpened(id=f"{name}1", by="person:ann", enrollment=enrollment))
        await engine.inbox.ask(
            i.EnrollmentAsked(
                id=f"{name}2",
                by="device",
                device=f"d-{name}",
                enrollment=f"e-{name}",
                key="k",
                name=name,
                os=os,
                profile=Profile.WORK,
                words="",
            )
        )
        await self.connect(name, os)

    async def connect(self, name: str, os: str = "linux") -> Any:
        self.wires.online.add(f"d-{name}")
        by = f"device:d-{name}"
        reply = await self.engine.inbox.ask(
            i.DeviceConnected(id=f"{name}3", by=by, device=f"d-{name}", instance="i", ledger="l", version="1")
        )
        offer = Offer(digest="x", slots=4, tools=TOOLS)
        await self.engine.inbox.ask(
            i.OfferReceived(
                id=f"{name}4",
                by=by,
                device=f"d-{name}",
                offer=offer,
                os=os,
                profile=Profile.WORK,
                session=reply.value["session"],
            )
        )
        return reply.value

    async def submit(self, made: Any, name: str = "c1", **more: Any) -> Any:
        return await self.engine.inbox.ask(
            i.RequestReceived(id=f"r-{name}", by="person:ann#t-1", constellation=name, plan=made, **more)
        )

    def result(self, dispatch: Dispatch, value: str = "1", report: int = 1) -> None:
        device = self.engine.shard.constellations[dispatch.at.constellation].tasks[dispatch.at.task].device or ""
        frame = ResultFrame(at=dispatch.at, report=report, outcome=Outcome.OK, value=value)
        self.engine.inbox.post(i.ResultReported(id="x", by=f"device:{device}", device=device, frame=frame))


async def build(
    clock: TurningClock,
    redis: MemoryRedis,
    history: MemoryHistory,
    wires: Wires,
    keeping: FinishedRetention | None = None,
    *,
    check_every: int = 1,
    first: Callable[[], list[i.AnyInput]] = list,
) -> Hub:
    store = MemoryStore(redis, history, sleep=lambda seconds: clock.wait(int(seconds * 1000)))
    engine = Engine(
        store=store,
        remote=store.inbox,
        clock=clock,
        sender=wires,
        live=wires,
        jobs=wires,
        values=wires,
        settings=EngineSettings(owner="hub", check_every=check_every, keeping=keeping or FinishedRetention()),
        chance=random.Random(1),
        first_inputs=first,
    )
    await engine.start()
    return Hub(clock, redis, history, wires, engine, store)


@asynccontextmanager
async def hub(*, check_every: int = 1) -> AsyncIterator[Hub]:
    found = await build(TurningClock(), MemoryRedis(), MemoryHistory(), Wires(), check_every=check_every)
    try:
        yield found
    finally:
        await kill(found)


async def kill(found: Hub) -> None:
    """End an engine at once, as a crash would."""
    for running in found.engine._tasks:
        running.cancel()
    await asyncio.gather(*found.engine._tasks, return_exceptions=True)
    await found.store.close()


async def test_a_request_is_answered_once_durable_and_runs_to_its_end() -> None:
    async with hub() as found:
        await found.join("one")
        reply = await found.submit(plan(task("a"), task("b", "x=a")))
        assert reply.value["id"] == "c1"
        for _ in range(2):
            await settle()
            dispatch = found.wires.dispatches()[-1]
            found.result(dispatch)
        await settle()
        assert found.engine.shard.constellations["c1"].head.state == "succeeded"
        assert found.wires.dispatches()[1].inputs[0].parts[0].value == "1"
        await found.clock.turn(200)
        assert found.wires.acks()[-1].durable == 1


@pytest.mark.parametrize(
    ("os", "request_words", "asked"),
    [
        (TAB_OS, "ask pocket where the keys are", ("person:ann", "ask pocket where the keys are")),
        (TAB_OS, "where? " * 100, ("person:ann", ("where? " * 100)[: ASKED_CHARS_MOST - 3] + "...")),
        (TAB_OS, "", ("person:ann", "test")),
        ("linux", "ask pocket where the keys are", ("", "")),
    ],
)
async def test_a_tab_reads_who_asks_and_their_words(os: str, request_words: str, asked: tuple[str, str]) -> None:
    async with hub() as found:
        await found.join("one", os)
        await found.submit(plan(task("a")), request=request_words)
        await settle()
        [dispatch] = found.wires.dispatches()
        assert (dispatch.asked_by, dispatch.asked_words) == asked


async def test_a_result_whose_step_fails_ends_its_task_and_is_not_lost_without_a_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def step(work: Work, item: i.AnyInput) -> None:
        if isinstance(item, i.ResultReported) and item.frame.outcome is Outcome.OK:
            real_step(work, item)
            raise RuntimeError("a fault of the hub")
        real_step(work, item)

    async with hub() as found:
        await found.join("one")
        await found.submit(plan(task("a")))
        await settle()
        monkeypatch.setattr("starloom.engine.loop.step", step)
        found.result(found.wires.dispatches()[-1])
        await settle()
        ended = found.engine.shard.constellations["c1"]
        assert (ended.head.state, ended.attempts["a/1"].code) == ("failed", Code.INTERNAL)
        assert "did not take the result (ok)" in ended.attempts["a/1"].detail
        assert found.engine.counts.failed_steps == 1
        await found.clock.turn(200)
        assert found.wires.acks()[-1].durable == 1


async def test_never_work_leaves_only_when_the_history_has_its_lease() -> None:
    async with hub() as found:
        await found.join("one")
        found.history.down = True
        asking = asyncio.ensure_future(found.submit(plan(task("a", tool="t.never"), task("p"))))
        await settle()
        assert [item.at.task for item in found.wires.dispatches()] == ["p"]
        assert not asking.done()
        found.history.down = False
        await found.clock.turn(5_000)
        assert [item.at.task for item in found.wires.dispatches()] == ["p", "a"]
        assert not found.wires.kept_back()
        assert (await asking).value["id"] == "c1"


async def test_a_commit_of_unknown_fate_is_read_back_and_counts_once() -> None:
    for failure in CommitFailure:
        async with hub() as found:
            await found.join("one")
            found.redis.failures.append(failure)
            asking = asyncio.ensure_future(found.submit(plan(task("a"))))
            await found.clock.turn(2_000)
            assert (await asking).value["version"] == 1
            kinds = [event.kind for event in found.wires.published]
            assert kinds.count("request_accepted") == 1


async def test_new_work_is_refused_while_the_history_lags() -> None:
    async with hub() as found:
        await found.join("one")
        found.history.down = True
        first = asyncio.ensure_future(found.submit(plan(task("a"))))
        await found.clock.turn(4_000)
        with pytest.raises(Overloaded):
            await found.submit(plan(task("a")), name="c2")
        found.history.down = False
        await found.clock.turn(5_000)
        assert (await first).value["id"] == "c1"


async def test_a_replaced_redis_raises_the_incarnation_and_loses_nothing() -> None:
    async with hub() as found:
        await found.join("one")
        await found.submit(plan(task("a"), task("b", "x=a")))
        await settle()
        before = found.engine.shard.incarnation
        found.redis.wipe()
        found.result(found.wires.dispatches()[-1])
        await found.clock.turn(2_000)
        assert found.engine.shard.incarnation == before + 1
        assert found.engine.shard.constellations["c1"].tasks["a"].state == "succeeded"
        assert found.wires.dispatches()[-1].at.task == "b"
        # The lease was granted before the loss was noticed, keeps its incarnation, and its result counts.
        assert found.wires.dispatches()[-1].at.incarnation == before
        found.result(found.wires.dispatches()[-1])
        await settle()
        assert found.engine.shard.constellations["c1"].head.state == "succeeded"


async def test_a_shard_taken_again_whose_reply_was_lost_is_still_its_own() -> None:
    async with hub() as found:
        await found.join("one")
        found.redis.restart()
        found.redis.lost_takings = 2
        asking = asyncio.ensure_future(found.submit(plan(task("a"))))
        await found.clock.turn(2_000)
        assert found.redis.lost_takings == 0
        assert not found.engine.lost.is_set()
        assert (await asking).value["id"] == "c1"
        found.result(found.wires.dispatches()[-1])
        await settle()
        assert found.engine.shard.constellations["c1"].head.state == "succeeded"


async def test_a_hub_that_cannot_take_its_shard_again_is_not_ready_and_refuses_new_work() -> None:
    async with hub() as found:
        await found.join("one")
        found.redis.restart()
        found.redis.lost_takings = 1_000
        asking = asyncio.ensure_future(found.submit(plan(task("a"))))
        await found.clock.turn(1_000)
        assert found.engine.inbox.waits_for is not None
        assert found.engine.inbox.waits_for.reason == "the shard cannot be taken again"
        with pytest.raises(Overloaded):
            await found.submit(plan(task("b")))
        found.redis.lost_takings = 0
        await found.clock.turn(2_000)
        assert (await asking).value["id"] == "c1"
        assert found.engine.inbox.waits_for is None


async def test_a_restarted_hub_finds_its_state_and_sends_an_open_dispatch_again() -> None:
    first = await build(TurningClock(), MemoryRedis(), MemoryHistory(), Wires())
    await first.join("one")
    await first.submit(plan(task("a"), task("b", "x=a")))
    await settle()
    await kill(first)
    second = await build(first.clock, first.redis, first.history, Wires())
    try:
        assert second.engine.shard.constellations["c1"].tasks["a"].state == "leased"
        await second.connect("one")
        await settle()
        again = second.wires.dispatches()[-1]
        assert (again.at.task, again.at.attempt) == ("a", 1)
        second.result(again)
        await settle()
        assert second.wires.dispatches()[-1].at.task == "b"
    finally:
        await kill(second)


@pytest.mark.parametrize(
    ("key", "raw"),
    [
        ("device/d-one", b'{"a_later_field":true,"id":"d-one","name":"one","public_key":"k"}'),
        ("a_later_kind/x", b"{}"),
    ],
)
async def test_state_that_a_later_version_wrote_ends_the_start_with_the_way_out(key: str, raw: bytes) -> None:
    first = await build(TurningClock(), MemoryRedis(), MemoryHistory(), Wires())
    await first.join("one")
    await kill(first)
    first.redis.entities["fleet"][key] = raw
    with pytest.raises(Damaged, match="later version of Starloom") as caught:
        await build(first.clock, first.redis, first.history, Wires())
    assert key in str(caught.value)
    assert "docs/backup.md" in str(caught.value)
    assert first.redis.entities["fleet"][key] == raw


async def test_silence_expires_a_lease_and_alive_keeps_it() -> None:
    async with hub() as found:
        await found.join("one")
        await found.submit(plan(task("a")))
        await settle()
        dispatch = found.wires.dispatches()[-1]
        for _ in range(10):
            await found.clock.turn(5_000)
            renew = found.engine.inbox.alive("d-one", [dispatch.at], 1)
            assert renew.granted == [dispatch.at]
        stranger = LeaseRef(attempt=9, constellation="c1", incarnation=1, task="a")
        assert found.engine.inbox.alive("d-one", [stranger], 1).gone == [stranger]
        assert found.engine.inbox.alive("d-two", [dispatch.at], 1).gone == [dispatch.at]
        await found.clock.turn(25_000)
        kinds = [event.kind for event in found.wires.published]
        assert "task_absent" in kinds
        assert found.engine.shard.fleet.devices["d-one"].link is DeviceLink.OFFLINE
        assert found.engine.shard.constellations["c1"].tasks["a"].attempt == 1
        await found.connect("one")
        await settle()
        assert found.engine.shard.constellations["c1"].tasks["a"].attempt == 2


async def test_a_fault_of_ours_costs_one_input_only(monkeypatch: pytest.MonkeyPatch) -> None:
    async with hub() as found:
        await found.join("one")
        reply = await found.engine.inbox.ask(i.RequestReceived(id="r", by="p", constellation="fleet", plan=plan()))
        assert reply.faults[0].code == "internal"
        assert (await found.submit(plan(task("a")))).value["id"] == "c1"


async def test_events_are_published_while_the_next_commit_is_made() -> None:
    async with hub() as found:
        await found.join("one")
        await found.submit(plan(task("a"), task("b"), task("c"), task("d")))
        await settle()
        first, second, *_ = found.wires.dispatches()
        found.result(first, report=1)
        as_before = found.store.commit

        async def committed(commit: Commit) -> None:
            # The second result comes during this commit, and Redis does not answer to the next one.
            found.store.commit = as_before  # type: ignore[method-assign]
            await as_before(commit)
            found.result(second, report=2)
            found.redis.failures.append(CommitFailure.REQUEST_LOST)

        found.store.commit = committed  # type: ignore[method-assign]
        await settle()
        ended = [event.about for event in found.wires.published if event.kind == "task_succeeded"]
        assert ended == [first.at.task], "the first end is seen while Redis does not take the second"
        await found.clock.turn(2_000)
        ended = [event.about for event in found.wires.published if event.kind == "task_succeeded"]
        assert ended == [first.at.task, second.at.task]
        seqs = [event.seq for event in found.wires.published if event.stream == "c1"]
        assert seqs == list(range(1, len(seqs) + 1))
