"""The order in which frames leave, the bounds of what waits, and the time that a slow line takes for each kind."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_agent.toolkit.messages import Said
from starloom_agent.wire.connection import Address, Connection
from starloom_agent.wire.outgoing import ENDS_WAITING_BYTES, FRAMES_WAITING_MAX, OUTPUT_WAITING_BYTES, Outgoing
from starloom_agent.work.calls.chatter import Chatter
from starloom_protocol.vocabulary import Outcome
from starloom_protocol.wire.codec import MESSAGE_BYTES_MAX, Side, decode
from starloom_protocol.wire.frames import Alive, Frame, LeaseRef, LogChunk, Pong, Progress, ResultFrame
from starloom_protocol.wire.session import State

ALIVE = Alive(running=[], sent_ms=0)


def lease(task: str) -> LeaseRef:
    return LeaseRef(attempt=1, constellation="c", incarnation=1, task=task)


def output(task: str, text: str = "x") -> LogChunk:
    return LogChunk(at=lease(task), offset=0, stream="out", text=text)


def result(task: str) -> ResultFrame:
    return ResultFrame(at=lease(task), outcome=Outcome.OK, report=1, value="1")


class Peer:
    """An agent with these results to report."""

    def __init__(self, *results: ResultFrame) -> None:
        self._results = list(results)

    def reports(self) -> list[ResultFrame]:
        reports, self._results = self._results, []
        return reports


def opened(peer: Peer) -> Connection:
    """Return a connection whose session is open, without a line."""
    made: Any = Connection(Address("http://h", ""), None, "l", peer, lambda: 0.0)  # type: ignore[arg-type]
    made.session.state, made.session._welcomed = State.OPEN, True
    return made  # type: ignore[no-any-return]


def sent(connection: Connection) -> list[Frame]:
    """Return the frames of the next message."""
    message = connection._message()
    return [] if message is None else list(decode(message, Side.AGENT, authenticated=True).f)


def test_words_and_results_leave_before_output() -> None:
    connection = opened(Peer(result("ended")))
    connection.push([output("running")])
    connection.push([ALIVE])
    assert [sent(connection) for _ in range(4)] == [[ALIVE], [result("ended")], [output("running")], []]


def test_the_output_of_a_call_leaves_before_its_result() -> None:
    connection = opened(Peer(result("ended")))
    for task, text in (("running", "a"), ("ended", "b"), ("running", "c")):
        connection.push([output(task, text)])
    connection.push([output("ended", "end")], lease("ended"))
    assert [sent(connection) for _ in range(3)] == [
        [output("ended", "b"), output("ended", "end")],
        [result("ended")],
        [output("running", "a"), output("running", "c")],
    ]


def test_output_is_taken_as_long_as_little_of_it_waits() -> None:
    waiting = Outgoing()
    pushed = 0
    while waiting.push([output("a", "x" * 60_000), Progress(at=lease("a"))]):
        pushed += 1
    assert 0 <= pushed * 60_000 - OUTPUT_WAITING_BYTES < 60_000
    assert waiting.push([ALIVE])
    while waiting.after_reports():
        pass
    assert waiting.push([output("a")])


def test_words_and_the_ends_of_output_are_bounded() -> None:
    waiting = Outgoing()
    assert waiting.push([Pong(at_ms=0)] * FRAMES_WAITING_MAX)
    assert not waiting.push([ALIVE])
    ends = 0
    while waiting.push([output("a", "x" * 60_000)], lease("a")):
        ends += 1
    assert 0 <= ends * 60_000 - ENDS_WAITING_BYTES < 60_000


@pytest.mark.parametrize("sign", ["\0", '"', "\N{SNOWMAN}", "x"])
def test_no_message_is_longer_than_the_hub_takes(sign: str) -> None:
    connection = opened(Peer())
    connection.push([ALIVE])
    for number in range(40):
        connection.push([output("a", sign * 64 * 1024)], lease("a") if number % 2 else None)
    sizes = []
    while (message := connection._message()) is not None:
        sizes.append(len(message))
    assert len(sizes) > 2
    assert max(sizes) < MESSAGE_BYTES_MAX / 2


def test_calls_that_print_without_pause_delay_no_alive_and_no_result() -> None:
    """Chatter and connection as they are, on a line of 2 Mbit/s; its time is counted."""
    rate, round_s, calls = 2e6 / 8, 0.05, [lease(f"t{number}") for number in range(4)]
    peer = Peer()
    connection = opened(peer)
    chatter = Chatter(connection.push)
    for at in calls:
        chatter.begin(at)
    credit, offset, late, heard = 0.0, 0, [], set()
    for turn in range(400):
        now_s = turn * round_s
        for at in calls:
            chatter.said(at, Said(stream="out", offset=offset, text="x" * 65_536))
        offset += 65_536
        chatter.round()
        if turn % 100 == 0:
            connection.push([Alive(running=calls, sent_ms=turn)])
            peer._results.append(result(str(turn)))
        credit = min(credit + rate * round_s, rate * round_s)
        while credit > 0 and (message := connection._message()) is not None:
            credit -= len(message)
            left_s = now_s + max(0.0, -credit) / rate
            for frame in decode(message, Side.AGENT, authenticated=True).f:
                if isinstance(frame, Alive):
                    late.append(left_s - frame.sent_ms * round_s)
                elif isinstance(frame, ResultFrame):
                    late.append(left_s - int(frame.at.task) * round_s)
                elif isinstance(frame, LogChunk):
                    heard.add(frame.at)
    assert len(late) == 8
    assert max(late) < 1
    assert heard == set(calls)
