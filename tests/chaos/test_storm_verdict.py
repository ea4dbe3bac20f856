"""What the judge of a long storm reads beside the history: programs that never ended, and tracebacks."""

from __future__ import annotations

from pathlib import Path

import msgspec

from starloom_protocol.records.entities import TaskRecord, TaskSpec, encode_entity
from starloom_protocol.stream.feed import Event
from starloom_protocol.vocabulary import TaskState
from tests.chaos.crowd import effects_missing
from tests.chaos.stack import Stack
from tests.chaos.storm import last_lines
from tests.chaos.witness import Witness


def storm(home: Path, *lines: str) -> Stack:
    """Return a stack whose request `one` was told that its task has succeeded; nothing runs."""
    stack = Stack(home)
    stack.place = Witness(home / "witness")
    (home / "witness/seen/one+t0").write_text("".join(f"{line} one/t0 1.1 7\n" for line in lines))
    puts = {
        "spec/t0": TaskSpec(changed_in=1, id="t0", tool="shell.run"),
        "task/t0": TaskRecord(since_ms=1, state=TaskState.SUCCEEDED),
    }
    raw: dict[str, msgspec.Raw | None] = {key: msgspec.Raw(encode_entity(record)) for key, record in puts.items()}
    event = Event(at_ms=1, by="engine", kind="task_succeeded", puts=raw, seq=1, stream="c-one")
    stack.remember("c-one", "one").view.apply([event])
    return stack


def test_a_success_without_an_ended_program_is_found(tmp_path: Path) -> None:
    for number, lines in enumerate(([], ["begin"])):
        stack = storm(tmp_path / str(number), *lines)
        assert effects_missing(stack) == ["one/t0 succeeded and its program never ended"]
    assert effects_missing(storm(tmp_path / "ended", "begin", "end")) == []


def test_each_traceback_of_a_log_is_found() -> None:
    log = "INFO up\nTraceback (most recent call last):\n  File\nKeyError: 1\nINFO\nTraceback (most\n x\nValueError\n"
    assert last_lines(log) == ["KeyError: 1", "ValueError"]
