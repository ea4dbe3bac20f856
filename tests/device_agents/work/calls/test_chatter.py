"""Output on its way to a line that takes little: the newest is kept, all calls have their turn, none is forgotten."""

from __future__ import annotations

import asyncio

import pytest

from starloom_agent.toolkit.messages import Said
from starloom_agent.work.calls import chatter
from starloom_agent.work.calls.chatter import KEPT_CHARS, Chatter
from starloom_protocol.wire.frames import Frame, LeaseRef, LogChunk


def lease(task: str) -> LeaseRef:
    return LeaseRef(attempt=1, constellation="c", incarnation=1, task=task)


class Line:
    """Takes frames as often as it may."""

    def __init__(self, takes: int) -> None:
        self.takes = takes
        self.taken: list[LogChunk] = []

    def push(self, frames: list[Frame], ended: LeaseRef | None = None) -> bool:
        self.takes -= 1
        if self.takes < 0 and ended is None:
            return False
        self.taken += [frame for frame in frames if isinstance(frame, LogChunk)]
        return True


def said(chatter: Chatter, task: str, offset: int, text: str) -> None:
    chatter.said(lease(task), Said(stream="out", offset=offset, text=text))


def test_what_a_line_does_not_take_is_kept_and_the_oldest_is_lost() -> None:
    line = Line(0)
    gathered = Chatter(line.push)
    gathered.begin(lease("a"))
    for number in range(4):
        said(gathered, "a", number * KEPT_CHARS // 2, str(number) * (KEPT_CHARS // 2))
        gathered.round()
    line.takes = 1
    gathered.round()
    assert [(chunk.offset, len(chunk.text)) for chunk in line.taken] == [(KEPT_CHARS, KEPT_CHARS)]


def test_calls_take_turns_on_a_line_that_takes_one_at_a_time() -> None:
    line = Line(0)
    gathered = Chatter(line.push)
    for task in "abc":
        gathered.begin(lease(task))
    for number in range(6):
        for task in "abc":
            said(gathered, task, number, "x")
        line.takes = 1
        gathered.round()
    assert [chunk.at.task for chunk in line.taken] == list("abcabc")


async def test_output_that_was_not_taken_is_tried_again_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chatter, "EVERY_S", 0.0)
    line = Line(0)
    gathered = Chatter(line.push)
    gathered.begin(lease("a"))
    said(gathered, "a", 0, "the last words")
    running = asyncio.create_task(gathered.run())
    for _ in range(10):
        await asyncio.sleep(0)
    assert line.taken == []
    line.takes = 1
    for _ in range(10):
        await asyncio.sleep(0)
    running.cancel()
    assert [chunk.text for chunk in line.taken] == ["the last words"]


def test_the_end_of_a_call_sends_the_rest() -> None:
    line = Line(0)
    gathered = Chatter(line.push)
    gathered.begin(lease("a"))
    said(gathered, "a", 0, "rest")
    gathered.end(lease("a"))
    assert [chunk.text for chunk in line.taken] == ["rest"]
