"""A dispatch whose inputs are too big for a frame leaves once they are stored, or is given back."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

from starloom.core.state.inputs import ControlRequested
from starloom.store.blobs.artifacts import BlobRefused
from starloom_protocol.vocabulary import Code, TaskState
from tests.builders import plan, task
from tests.engine.test_loop import Hub, hub, settle

SOURCES = 40
"""Their values fit into a result each, and not together into a frame."""
VALUE = '"' + "x" * 10_000 + '"'


async def begun(found: Hub) -> None:
    """Run all tasks that the big one reads."""
    await found.join("one")
    names = [f"a{number}" for number in range(SOURCES)]
    await found.submit(plan(*(task(name) for name in names), task("big", *(f"{name}={name}" for name in names))))
    for number in range(SOURCES):
        await settle()
        found.result(found.wires.dispatches()[number], VALUE, report=number + 1)


async def until(done: Callable[[], bool]) -> None:
    """Let the threads of the store come to their ends."""
    for _ in range(2_000):
        if done():
            return
        await settle()
        await asyncio.to_thread(time.sleep, 0)
    raise AssertionError("the store has not ended")


def state(found: Hub) -> TaskState:
    return found.engine.shard.constellations["c1"].tasks["big"].state


async def test_inputs_too_big_for_a_frame_leave_as_artifacts() -> None:
    async with hub() as found:
        await begun(found)
        await until(lambda: len(found.wires.dispatches()) > SOURCES)
        parts = [item.parts[0] for item in found.wires.dispatches()[-1].inputs]
        assert {found.wires.stored[part.artifact or ""] for part in parts} == {VALUE.encode()}


@pytest.mark.parametrize(
    "refusal",
    [
        BlobRefused(Code.NO_SPACE, "the disk of the hub is full", place="artifact 1", hint="Free some space."),
        OSError(5, "Input/output error"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_task_whose_inputs_cannot_be_stored_is_tried_again_and_then_fails_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, refusal: Exception
) -> None:
    async with hub() as found:

        def full(_data: bytes) -> str:
            raise refusal

        monkeypatch.setattr(found.wires, "put_bytes", full)
        await begun(found)
        for _ in range(300):
            await asyncio.to_thread(time.sleep, 0)
            if state(found) is TaskState.FAILED:
                break
            await found.clock.turn(1_000, by=500)
        assert state(found) is TaskState.FAILED
        attempts = found.engine.shard.constellations["c1"].attempts
        last = max((key for key in attempts if key.startswith("big/")), key=lambda key: int(key.split("/")[1]))
        assert "could not keep what this task reads" in attempts[last].detail
        assert str(refusal) in attempts[last].detail
        assert len(found.wires.dispatches()) == SOURCES, "a dispatch without its inputs left"


async def test_a_task_that_was_stopped_while_its_inputs_are_stored_is_not_dispatched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with hub() as found:
        entered, gate = threading.Event(), threading.Event()
        store = found.wires.put_bytes

        def slow(data: bytes) -> str:
            entered.set()
            gate.wait(60)
            return store(data)

        monkeypatch.setattr(found.wires, "put_bytes", slow)
        await begun(found)
        await until(entered.is_set)
        stop = ControlRequested(id="stop", by="person:ann", constellation="c1", action="cancel")
        await found.engine.inbox.ask(stop)
        gate.set()
        await until(lambda: len(found.wires.stored) == SOURCES)
        await settle()
        assert len(found.wires.dispatches()) == SOURCES
