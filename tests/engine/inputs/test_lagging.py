"""New work is refused while the history keeps up with nothing: it fails, or it says nothing at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from starloom.core.state.inputs import ControlRequested
from starloom.engine.inputs.inbox import ANSWER_MOST_MS
from starloom.engine.ports import Overloaded, Reply
from starloom.engine.succession import OwnerInbox
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.vocabulary import Code
from tests.builders import plan, task
from tests.engine.test_loop import Hub, hub, settle
from tests.store.memory import MemoryStore

NOBODY: Any = None


def silent(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let writes to the history hang, as behind a line that swallows everything; the result lets them go on."""
    goes_on = asyncio.Event()
    write = store._projector._write

    async def hangs(batch: object) -> None:
        await goes_on.wait()
        await write(batch)  # type: ignore[arg-type]

    monkeypatch.setattr(store._projector, "_write", hangs)
    return goes_on.set


async def refused(found: Hub, name: str) -> str:
    with pytest.raises(Overloaded) as told:
        await found.submit(plan(task("a")), name=name)
    assert told.value.retry_after_s >= 1
    return told.value.reason


async def test_a_history_that_says_nothing_is_noticed_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async with hub() as found:
        await found.join("one")
        speak = silent(found.store, monkeypatch)
        first = asyncio.ensure_future(found.submit(plan(task("a"))))
        await found.clock.turn(1_500)
        assert found.engine.inbox.waits_for is None
        await found.clock.turn(1_500)
        assert "ms behind" in await refused(found, "c2")
        assert not first.done()
        speak()
        await found.clock.turn(500)
        assert (await first).value["id"] == "c1"
        assert found.engine.inbox.waits_for is None


async def test_a_commit_that_redis_took_does_not_say_that_the_history_answers() -> None:
    async with hub() as found:
        await found.join("one")
        await found.submit(plan(task("a"), task("b", "x=a")))
        await settle()
        found.history.down = True
        found.result(found.wires.dispatches()[-1])
        before = found.engine.pos
        await found.clock.turn(600)
        assert found.engine.pos > before, "Redis took what the device reported"
        assert await refused(found, "c2") == "the history does not answer"


def control(found: Hub, action: str, number: int) -> asyncio.Future[Reply]:
    item = ControlRequested(id=f"i-{number}", by="person:ann#t-1", constellation="c1", action=action)
    return asyncio.ensure_future(owner_inbox(found).ask(item))


def owner_inbox(found: Hub) -> OwnerInbox:
    inbox = OwnerInbox(NOBODY)
    inbox.engine = found.engine
    return inbox


async def test_a_control_without_a_history_is_carried_out_and_answered_in_time() -> None:
    async with hub() as found:
        await found.join("one")
        await found.submit(plan(task("a")))
        found.history.down = True
        cancel = control(found, "cancel", 1)
        await found.clock.turn(ANSWER_MOST_MS - 1_000)
        assert not cancel.done()
        await found.clock.turn(2_000)
        (fault,) = (await cancel).faults
        assert fault.code is Code.UNSETTLED
        assert fault.reason.startswith("it is taken, and not safe yet: the history ")
        assert found.engine.shard.constellations["c1"].head.state in ("cancelling", "cancelled")
        found.history.down = False
        await found.clock.turn(1_000)
        assert (await control(found, "cancel", 2)).value is not None


async def test_a_control_that_the_live_store_never_took_is_refused_and_not_carried_out_later() -> None:
    async with hub() as found:
        await found.join("one")
        await found.submit(plan(task("a")))
        await settle()
        found.redis.down = True
        pause = control(found, "pause", 1)
        await found.clock.turn(500)
        cancel = control(found, "cancel", 2)
        await found.clock.turn(ANSWER_MOST_MS + 1_000)
        assert [fault.code for fault in (await pause).faults] == [Code.UNSETTLED]
        with pytest.raises(Overloaded, match="the store does not answer"):
            await cancel
        found.redis.down = False
        await found.clock.turn(1_000)
        assert found.engine.shard.constellations["c1"].head.state == "paused"


async def test_inputs_of_the_hub_and_of_other_processes_wait_for_the_end_of_an_outage() -> None:
    async with hub() as found:
        await found.join("one")
        await found.submit(plan(task("a")))
        await settle()
        found.redis.down = True
        first = ControlRequested(id="i-1", by=ENGINE, constellation="c1", action="pause")
        asking = [asyncio.ensure_future(owner_inbox(found).ask(first))]
        await found.clock.turn(500)
        # As a delivery of another hub, whose asker has a bound of its own.
        other = ControlRequested(id="i-2", by="person:ann#t-1", constellation="c1", action="cancel")
        asking.append(asyncio.ensure_future(found.engine.inbox.ask(other)))
        await found.clock.turn(2 * ANSWER_MOST_MS)
        assert not any(one.done() for one in asking)
        found.redis.down = False
        await found.clock.turn(1_000)
        assert [(await one).faults for one in asking] == [[], []]


async def test_an_answer_that_comes_before_an_outage_is_too_long_is_the_usual_one() -> None:
    async with hub() as found:
        await found.join("one")
        await found.submit(plan(task("a")))
        found.history.down = True
        pause = control(found, "pause", 1)
        await found.clock.turn(ANSWER_MOST_MS - 1_000)
        found.history.down = False
        await found.clock.turn(2_000)
        assert (await pause).faults == []
