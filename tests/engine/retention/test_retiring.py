"""Finished constellations leave memory and Redis, are read and controlled as before, and come back when needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec
import pytest

from starloom.core.state import inputs as i
from starloom.engine.settings import FinishedRetention
from starloom.store.port import StreamState, Unavailable
from starloom_protocol.stream.feed import state_hash
from starloom_protocol.vocabulary import Outcome
from starloom_protocol.wire.frames import Ack, Dispatch, LeaseRef, ResultFrame
from tests.builders import plan, task
from tests.engine.test_loop import Hub, TurningClock, Wires, build, kill, settle
from tests.store.memory import MemoryHistory, MemoryRedis

QUICK = FinishedRetention(quiet_ms=10_000, constellations_most=3, tasks_most=1_000)


@asynccontextmanager
async def hub(keeping: FinishedRetention = QUICK) -> AsyncIterator[Hub]:
    found = await build(TurningClock(), MemoryRedis(), MemoryHistory(), Wires(), keeping)
    try:
        await found.join("one")
        yield found
    finally:
        await kill(found)


async def finish(found: Hub, name: str, **fields: object) -> None:
    """Run a constellation of two tasks to its end."""
    reply = await found.engine.inbox.ask(
        i.RequestReceived(
            id=f"r-{name}",
            by="person:ann",
            constellation=name,
            plan=plan(task("a"), task("b", "x=a")),
            **fields,  # type: ignore[arg-type]
        )
    )
    assert not reply.faults
    for _ in range(2):
        await settle()
        found.result(last_dispatch(found, name))
    await settle()
    assert found.engine.shard.constellations[name].head.state == "succeeded"


def last_dispatch(found: Hub, name: str) -> Dispatch:
    return [item for item in found.wires.dispatches() if item.at.constellation == name][-1]


def control(action: str, name: str, task_id: str | None = None) -> i.ControlRequested:
    return i.ControlRequested(id=f"{action}-{name}", by="person:ann", action=action, constellation=name, task=task_id)


async def test_what_is_finished_and_quiet_leaves_memory_and_redis_and_is_read_as_before() -> None:
    async with hub() as found:
        await finish(found, "c1")
        before = await found.store.entities("c1")
        await found.clock.turn(9_000)
        assert "c1" in found.engine.shard.constellations
        await found.clock.turn(3_000)
        assert "c1" not in found.engine.shard.constellations
        assert "c1" not in found.redis.entities
        assert "c1" not in found.redis.heads
        assert await found.store.entities("c1") == before
        assert before is not None
        assert len(await found.store.events("c1", 0, 1_000)) == before[0]


async def test_a_running_one_stays_however_quiet_it_is() -> None:
    async with hub() as found:
        await found.submit(plan(task("a", tool="t.never", device="nobody")), name="c1")
        await found.clock.turn(60_000, by=1_000)
        assert "c1" in found.engine.shard.live
        assert "c1" in found.redis.heads


async def test_above_the_cap_the_longest_quiet_leave_first() -> None:
    async with hub(FinishedRetention(quiet_ms=3_600_000, constellations_most=2, tasks_most=1_000)) as found:
        for name in ("c1", "c2", "c3", "c4"):
            await finish(found, name)
            await found.clock.turn(1_000)
        await found.clock.turn(7_000)
        assert list(found.engine.shard.constellations) == ["c3", "c4"]


async def test_above_the_cap_of_tasks_one_large_constellation_leaves() -> None:
    async with hub(FinishedRetention(quiet_ms=3_600_000, constellations_most=9, tasks_most=3)) as found:
        await finish(found, "c1")
        await finish(found, "c2")
        await found.clock.turn(7_000)
        assert list(found.engine.shard.constellations) == ["c2"]


async def test_nothing_leaves_before_it_is_durable() -> None:
    async with hub() as found:
        await finish(found, "c1")
        found.history.down = True
        asking = asyncio.ensure_future(found.engine.inbox.ask(control("retry_from", "c1", "b")))
        await settle()
        found.result(last_dispatch(found, "c1"), report=2)
        await settle()
        assert found.engine.shard.constellations["c1"].head.state == "succeeded"
        await found.clock.turn(30_000, by=1_000)
        assert "c1" in found.engine.shard.constellations
        found.history.down = False
        await found.clock.turn(30_000, by=1_000)
        assert not (await asking).faults
        assert "c1" not in found.engine.shard.constellations


async def test_a_restart_does_not_load_what_was_retired() -> None:
    first = await build(TurningClock(), MemoryRedis(), MemoryHistory(), Wires(), QUICK)
    await first.join("one")
    await finish(first, "c1")
    await first.clock.turn(12_000)
    await finish(first, "c2")
    await kill(first)
    second = await build(first.clock, first.redis, first.history, Wires(), QUICK)
    assert list(second.engine.shard.constellations) == ["c2"]
    await kill(second)
    first.redis.wipe()
    third = await build(first.clock, first.redis, first.history, Wires(), QUICK)
    try:
        assert list(third.engine.shard.constellations) == []
        assert (await third.store.entities("c2")) is not None
    finally:
        await kill(third)


async def test_a_control_brings_it_back_runs_it_and_it_leaves_again() -> None:
    async with hub() as found:
        await finish(found, "c1")
        await found.clock.turn(12_000)
        reply = await found.engine.inbox.ask(control("retry_from", "c1", "a"))
        assert not reply.faults
        assert found.engine.shard.constellations["c1"].head.state == "active"
        for _ in range(2):
            await settle()
            found.result(last_dispatch(found, "c1"), report=3)
        await settle()
        constellation = found.engine.shard.constellations["c1"]
        assert constellation.head.state == "succeeded"
        assert (constellation.tasks["a"].round, constellation.tasks["a"].attempt) == (2, 2)
        live = await found.store.entities("c1")
        assert live is not None
        assert state_hash(live[1]) == state_hash(await found.store.entities_at("c1", live[0]))
        await found.clock.turn(12_000)
        assert "c1" not in found.redis.heads
        assert await found.store.entities("c1") == live


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (control("cancel", "c1"), "illegal_control"),
        (control("retry", "c1", "nothing"), "unknown_task"),
        (i.EditProposed(id="e", by="p", constellation="c1", base_version=1, operations=[]), "illegal_control"),
        (i.QuestionAnswered(id="q", by="p", constellation="c1", question="none", value="allow"), "not_found"),
        (i.JobClaimed(id="j", by="w", constellation="c1", job="plan-1", ttl_ms=1, worker="w"), "not_found"),
        (control("cancel", "nobody"), "not_found"),
    ],
)
async def test_what_is_refused_is_refused_in_the_same_words(asked: i.AnyInput, code: str) -> None:
    async with hub() as found:
        await finish(found, "c1")
        before = await found.engine.inbox.ask(asked)
        assert before.faults[0].code == code
        await found.clock.turn(12_000)
        assert "c1" not in found.engine.shard.constellations
        assert await found.engine.inbox.ask(asked) == before


async def test_a_key_answers_the_same_after_retirement_and_after_a_restart() -> None:
    async with hub() as found:
        await finish(found, "c1", idempotency=("k", "body"), caller="ann")
        again = i.RequestReceived(
            id="again", by="person:ann", constellation="c2", idempotency=("k", "body"), caller="ann", plan=plan()
        )
        before = await found.engine.inbox.ask(again)
        await found.clock.turn(12_000)
        assert "c1" not in found.engine.shard.constellations
        assert await found.engine.inbox.ask(again) == before
        await found.clock.turn(12_000)
        other = await build(found.clock, found.redis, found.history, Wires(), QUICK)
        try:
            assert "c1" not in other.engine.shard.constellations
            assert await other.engine.inbox.ask(again) == before
            different = msgspec.structs.replace(again, idempotency=("k", "other"))
            assert (await other.engine.inbox.ask(different)).faults[0].code == "idempotency_mismatch"
        finally:
            await kill(other)


async def test_a_request_that_another_process_posts_twice_is_known_after_retirement() -> None:
    async with hub() as found:
        await finish(found, "c1")
        await found.clock.turn(12_000)
        request = i.RequestReceived(id="r", by="w", constellation="c1", plan=plan(task("a")))
        raw = await found.store.inbox.post(msgspec.json.encode(request), answer_within_s=60)
        assert raw is not None
        assert b"a constellation c1 exists" in raw


async def test_late_reports_are_acknowledged_and_the_first_late_result_is_an_event() -> None:
    async with hub() as found:
        await found.join("two")
        await found.submit(plan(task("a")), name="c1")
        await settle()
        lost = last_dispatch(found, "c1")
        loser = found.engine.shard.constellations["c1"].tasks["a"].device or ""
        await found.clock.turn(25_000)
        other = last_dispatch(found, "c1")
        assert other.at.attempt == 2
        found.result(other)
        await found.clock.turn(12_000)
        assert "c1" not in found.engine.shard.constellations
        late = ResultFrame(at=lost.at, report=7, outcome=Outcome.OK, value="2")
        report = i.ResultReported(id="x", by=f"device:{loser}", device=loser, frame=late)
        found.engine.inbox.post(report)
        await settle()
        assert found.wires.published[-1].kind == "result_late"
        await found.clock.turn(1_000)
        assert max(ack.durable for ack in found.wires.acks()) == 7
        await found.clock.turn(12_000)
        assert "c1" not in found.engine.shard.constellations
        seen = len(found.wires.published)
        found.engine.inbox.post(msgspec.structs.replace(report, frame=msgspec.structs.replace(late, report=8)))
        await found.clock.turn(1_000)
        assert max(ack.durable for ack in found.wires.acks()) == 8
        assert [event.kind for event in found.wires.published[seen:]] == []


async def test_who_asks_while_the_history_is_away_is_told_and_the_rest_goes_on() -> None:
    async with hub() as found:
        await finish(found, "c1")
        await found.clock.turn(12_000)
        await found.submit(plan(task("a")), name="c2")
        await settle()
        found.history.down = True
        asking = asyncio.ensure_future(found.engine.inbox.ask(control("retry_from", "c1", "a")))
        found.result(last_dispatch(found, "c2"))
        await settle()
        assert (await asking).faults[0].code == "store_unavailable"
        assert found.engine.shard.constellations["c2"].head.state == "succeeded"
        found.history.down = False
        await found.clock.turn(2_000)
        assert not (await found.engine.inbox.ask(control("retry_from", "c1", "a"))).faults


async def test_a_late_result_waits_unacknowledged_while_the_history_is_away() -> None:
    async with hub() as found:
        await found.join("two")
        await found.submit(plan(task("a")), name="c1")
        await settle()
        lost = last_dispatch(found, "c1")
        loser = found.engine.shard.constellations["c1"].tasks["a"].device or ""
        await found.clock.turn(25_000)
        found.result(last_dispatch(found, "c1"))
        await found.clock.turn(12_000)
        assert "c1" not in found.engine.shard.constellations
        acknowledged = [ack.durable for device, ack in found.wires.sent if device == loser and isinstance(ack, Ack)]
        found.history.down = True
        by = f"device:{loser}"
        stale = LeaseRef(attempt=1, constellation="c9", incarnation=1, task="a")
        for report, at in ((7, lost.at), (8, stale)):
            frame = ResultFrame(at=at, report=report, outcome=Outcome.OK, value="2")
            found.engine.inbox.post(i.ResultReported(id="x", by=by, device=loser, frame=frame))
            await settle()
        await found.clock.turn(3_000)
        sent = [ack.durable for device, ack in found.wires.sent if device == loser and isinstance(ack, Ack)]
        assert sent == acknowledged
        found.history.down = False
        await found.clock.turn(5_000)
        assert "result_late" in [event.kind for event in found.wires.published]
        sent = [ack.durable for device, ack in found.wires.sent if device == loser and isinstance(ack, Ack)]
        assert sent[-1] == 8


async def test_a_control_is_carried_out_though_redis_was_replaced_while_nobody_looked() -> None:
    async with hub() as found:
        await finish(found, "c1")
        await found.clock.turn(12_000)
        found.redis.restart()
        asking = asyncio.ensure_future(found.engine.inbox.ask(control("retry_from", "c1", "a")))
        await found.clock.turn(2_000)
        assert not (await asking).faults
        assert found.engine.counts.retaken == 1


async def test_a_redis_that_is_away_while_something_leaves_has_it_dropped_later() -> None:
    async with hub() as found:
        await finish(found, "c1")
        found.redis.down = True
        await found.clock.turn(12_000)
        assert "c1" not in found.engine.shard.constellations
        assert "c1" in found.redis.heads
        found.redis.down = False
        await found.clock.turn(2_000)
        assert "c1" not in found.redis.heads


async def test_a_recall_that_was_not_answered_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    async with hub() as found:
        await finish(found, "c1")
        await found.clock.turn(12_000)
        recall = found.store.recall

        async def unanswered(streams: Sequence[str]) -> dict[str, StreamState]:
            await recall(streams)
            raise Unavailable("the reply did not come")

        monkeypatch.setattr(found.store, "recall", unanswered)
        reply = await found.engine.inbox.ask(control("pause", "c1"))
        assert [fault.code for fault in reply.faults] == ["store_unavailable"]
        assert "c1" in found.redis.heads
        assert "c1" not in found.engine.shard.constellations
        await found.clock.turn(12_000)
        assert "c1" in found.redis.heads, "as long as nobody can say what Redis has"
        monkeypatch.setattr(found.store, "recall", recall)
        await found.clock.turn(12_000)
        assert "c1" not in found.redis.heads


async def test_a_constellation_that_cannot_be_read_holds_up_no_other_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    async with hub() as found:
        await finish(found, "c1")
        await found.clock.turn(12_000)
        recall = found.store.recall
        away = ["c-unreadable", "c1"]

        async def refused(streams: Sequence[str]) -> dict[str, StreamState]:
            held = await recall(streams)
            if set(away).intersection(streams):
                raise Unavailable("this one cannot be read")
            return held

        monkeypatch.setattr(found.store, "recall", refused)
        for name in ("c-unreadable", "c1"):
            reply = await found.engine.inbox.ask(control("pause", name))
            assert [fault.code for fault in reply.faults] == ["store_unavailable"]
        assert "c1" in found.redis.heads
        away.remove("c1")
        await found.clock.turn(12_000)
        assert "c1" not in found.redis.heads


async def test_a_name_with_nul_is_asked_of_no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    async with hub() as found:
        recall = found.store.recall

        async def as_postgresql(streams: Sequence[str]) -> dict[str, StreamState]:
            if any("\0" in stream for stream in streams):
                raise Unavailable("DataError: PostgreSQL text fields cannot contain NUL (0x00) bytes")
            return await recall(streams)

        monkeypatch.setattr(found.store, "recall", as_postgresql)
        reply = await found.engine.inbox.ask(control("pause", "c-\0"))
        assert [fault.code for fault in reply.faults] == ["not_found"]


@pytest.mark.parametrize("lose_moves", [False, True])
@pytest.mark.parametrize("wiped", [False, True])
async def test_a_replaced_redis_has_again_what_the_owner_holds(lose_moves: bool, wiped: bool) -> None:
    """A refused control leaves no commit behind: no position tells that Redis has forgotten the recall."""
    async with hub() as found:
        await finish(found, "c1")
        await finish(found, "c2")
        await found.clock.turn(12_000)
        assert (await found.engine.inbox.ask(control("cancel", "c1"))).faults
        assert "c1" in found.engine.shard.constellations
        if wiped:
            found.redis.wipe()
        else:
            found.redis.restart(lose_moves=lose_moves)
        asking = asyncio.ensure_future(found.engine.inbox.ask(control("retry_from", "c1", "b")))
        await found.clock.turn(2_000)
        assert not (await asking).faults
        live = found.redis.entities["c1"]
        assert state_hash(live) == state_hash(await found.store.entities_at("c1", found.redis.heads["c1"]))
        assert "c2" not in found.engine.shard.constellations


async def test_two_owners_in_turn_never_write_to_half_a_copy() -> None:
    """A paused owner wakes with a copy that the other had dropped meanwhile; it writes nothing of it any more."""
    async with hub(FinishedRetention(quiet_ms=3_600_000)) as paused:
        await finish(paused, "c1")
        other = await build(paused.clock, paused.redis, paused.history, Wires(), FinishedRetention(quiet_ms=0))
        asking = asyncio.ensure_future(paused.engine.inbox.ask(control("retry_from", "c1", "b")))
        await paused.clock.turn(2_000)
        assert [fault.code for fault in (await asking).faults] == ["unsettled"]
        assert paused.engine.lost.is_set()
        assert "c1" not in paused.redis.heads
        await kill(other)
        third = await build(paused.clock, paused.redis, paused.history, Wires(), FinishedRetention(quiet_ms=3_600_000))
        again = asyncio.ensure_future(third.engine.inbox.ask(control("retry_from", "c1", "b")))
        await paused.clock.turn(2_000)
        assert not (await again).faults
        live = paused.redis.entities["c1"]
        assert state_hash(live) == state_hash(await paused.store.entities_at("c1", paused.redis.heads["c1"]))
        await kill(third)


async def test_memory_and_redis_stay_bounded_over_many_constellations() -> None:
    async with hub(FinishedRetention(quiet_ms=3_600_000, constellations_most=2, tasks_most=100)) as found:
        for number in range(40):
            await finish(found, f"c{number}")
            await found.clock.turn(6_000, by=1_000)
        assert len(found.engine.shard.constellations) <= 3
        assert len(found.redis.entities) <= 3 + 2
        assert len(found.redis.heads) <= 3 + 2
        assert not found.engine.shard.demands
        assert not found.engine.shard.queued
