"""The reports of programs: what is read from their output, how often the engine is told, and what floods leave."""

from __future__ import annotations

import json

import msgspec
import pytest

from starloom.edge.agents.progress_lines import ATTEMPTS_MOST, LINE_CHARS_MOST, TEXT_CHARS_MOST, ProgressLines, Report
from starloom.edge.live.views import StopRules
from starloom_protocol.records.entities import Head, TaskSpec, encode_entity
from starloom_protocol.records.specs import StopWhen
from starloom_protocol.stream.feed import Event
from starloom_protocol.vocabulary import ConstellationState
from starloom_protocol.wire.frames import LeaseRef, LogChunk

SPEC = TaskSpec(changed_in=1, id="a", tool="t.pure", stop_when=StopWhen(name="loss"))


def at(task: str = "a", attempt: int = 1) -> LeaseRef:
    return LeaseRef(attempt=attempt, constellation="c1", incarnation=1, task=task)


class Listening:
    """The output of one program, in pieces, at a clock that is turned by hand."""

    def __init__(self) -> None:
        self.rules = StopRules()
        self.rules.take("c1", {"spec/a": encode_entity(SPEC), "spec/b": encode_entity(TaskSpec(changed_in=1, id="b"))})
        self.now_s = 100.0
        self.faults: dict[str, int] = {}
        self.lines = ProgressLines(self.rules, lambda: self.now_s, self.faults)
        self.offset = 0

    def say(self, text: str, *, stream: str = "out", task: str = "a", lost: int = 0) -> Report | None:
        self.offset += lost
        found = self.lines.take(LogChunk(at=at(task), offset=self.offset, stream=stream, text=text))
        self.offset += len(text.encode())
        return found


def test_a_line_that_is_an_object_reports_its_field() -> None:
    one = Listening()
    assert one.say('{"step": 1, "loss": 0.5}\n') == Report("0.5", 1)
    assert one.say('plain text\n["loss"]\n{"step": 2}\n') is None
    one.now_s += 1
    assert one.say('{"loss": 1}\n{"loss": "flat"}\n') == Report('"flat"', 2)
    assert one.faults == {}


def test_only_what_a_rule_reads_is_listened_to() -> None:
    one = Listening()
    assert one.say('{"loss": 1}\n', task="b") is None
    assert one.say('{"loss": 1}\n', stream="err") is None
    done = Event(
        about="",
        at_ms=1,
        by="engine",
        kind="ended",
        note="",
        puts={"head": msgspec.Raw(encode_entity(_head()))},
        seq=9,
        stream="c1",
    )
    one.rules.apply(done)
    assert one.say('{"loss": 1}\n') is None


def _head() -> Head:
    return Head(author="person:ann", created_ms=0, id="c1", name="x", state=ConstellationState.SUCCEEDED)


def test_pieces_are_joined_to_lines_and_lost_output_joins_nothing() -> None:
    one = Listening()
    assert one.say('{"loss"') is None
    assert one.say("warning\n", stream="err") is None
    assert one.say(": 0.25}\n") == Report("0.25", 1)
    one.now_s += 1
    assert one.say('{"loss": 0.') is None
    assert one.say('5}\n{"loss": 4}\n', lost=20) == Report("4", 1)


def test_the_engine_is_told_once_a_second_and_then_less_and_less_often() -> None:
    one = Listening()
    told = 0
    for _ in range(10 * 3600):
        one.now_s += 0.1
        told += one.say('{"loss": 1}\n') is not None
    assert 20 < told < 160
    one.now_s += 3600
    report = one.say('{"loss": 2}\n')
    assert report is not None
    assert report.value == "2"


@pytest.mark.parametrize(
    "value",
    [
        "NaN",
        "Infinity",
        "1e999",
        "true",
        "null",
        "[1]",
        '{"a": 1}',
        str(2**60),
        json.dumps("x" * (TEXT_CHARS_MOST + 1)),
    ],
)
def test_what_is_no_number_and_no_short_text_is_not_reported(value: str) -> None:
    one = Listening()
    assert one.say(f'{{"loss": {value}}}\n') is None


def test_endless_lines_deep_nests_and_huge_names_are_dropped_and_counted() -> None:
    one = Listening()
    for _ in range(50):
        assert one.say("{" + '"a' * LINE_CHARS_MOST) is None
    assert one.say('", "loss": 1}\n') is None
    assert one.say("{" + f'"{"n" * LINE_CHARS_MOST}": 1, "loss": 1}}\n') is None
    assert one.say('{"loss": ' + "[" * 4000 + "\n") is None
    assert one.faults["progress_line_too_long"] > 0
    assert one.say('{"loss": 3}\n') == Report("3", 1)


def test_many_attempts_leave_a_bounded_trace() -> None:
    one = Listening()
    for number in range(ATTEMPTS_MOST + 500):
        one.lines.take(LogChunk(at=at(attempt=number), offset=0, stream="out", text='{"loss"'))
    assert len(one.lines) <= ATTEMPTS_MOST
