"""The room of the inbox: when a device that has sent much may be read on."""

from __future__ import annotations

from typing import Any

from starloom.core.state.inputs import AnyInput, DateWentBack
from starloom.engine.inputs.inbox import BATCH_MOST, CROWDED, EngineInbox
from starloom_protocol.stream.authors import ENGINE

NOBODY: Any = None


def an_input(number: int) -> AnyInput:
    return DateWentBack(by=ENGINE, id=f"i-{number}", newest_ms=0)


def crowded() -> EngineInbox:
    inbox = EngineInbox(NOBODY, NOBODY, NOBODY)
    for number in range(CROWDED):
        assert inbox.room() is None
        inbox.post(an_input(number))
    return inbox


async def test_there_is_room_when_all_that_waited_is_taken() -> None:
    inbox = crowded()
    room = inbox.room()
    assert room is not None
    inbox.post(an_input(CROWDED))
    taken = 0
    while not room.done():
        taken += len(await inbox.batch())
    assert CROWDED <= taken < CROWDED + BATCH_MOST


async def test_reports_that_are_put_back_come_before_there_is_room() -> None:
    inbox = crowded()
    room = inbox.room()
    assert room is not None
    inbox.put_back([item for item, _ in await inbox.batch()])
    taken = 0
    while not room.done():
        taken += len(await inbox.batch())
    assert taken >= CROWDED


async def test_nobody_waits_for_a_closed_inbox() -> None:
    inbox = crowded()
    room = inbox.room()
    assert room is not None
    inbox.close()
    assert room.done()
