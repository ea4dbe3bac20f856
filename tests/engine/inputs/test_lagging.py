"""New work is refused while the history keeps up with nothing: it fails, or it says nothing at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from starloom.engine.ports import Overloaded
from tests.builders import plan, task
from tests.engine.test_loop import Hub, hub, settle
from tests.store.memory import MemoryStore


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
