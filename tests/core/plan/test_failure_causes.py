"""Failures that differ in a file, a number or an address only have one cause; others have theirs."""

from __future__ import annotations

import pytest

from starloom.core.plan.review import CAUSE_CHARS_MAX, cause_of
from starloom_protocol.records.entities import Attempt, TaskRecord
from starloom_protocol.vocabulary import Code, Repeatability, TaskState


def cause(said: str, code: Code | None = Code.TOOL_FAILED) -> str:
    record = TaskRecord(code=code, since_ms=0, state=TaskState.FAILED)
    attempt = Attempt(detail=said, device="d", incarnation=1, leased_ms=0, repeatability=Repeatability.PURE)
    return cause_of(record, attempt)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cannot read /srv/a/2026-09.csv", "cannot read C:\\data\\x.csv"),
        ("09.csv: row 3 is short", "other-name.csv: row 1204 is short"),
        ("block 0xdeadbeef01 is bad", "block 0x1234567890 is bad"),
        (
            "Traceback (most recent call last):\n  File \"/tmp/a1/program.py\", line 4\nKeyError: 'region'",
            "failed: Traceback (most recent call last):\n  File \"/tmp/b2/program.py\", line 9\nKeyError: 'region'",
        ),
    ],
)
def test_alike(one: str, other: str) -> None:
    assert cause(one) == cause(other)


@pytest.mark.parametrize(("one", "other"), [("KeyError: 'region'", "KeyError: 'date'"), ("disk full", "no route")])
def test_not_alike(one: str, other: str) -> None:
    assert cause(one) != cause(other)
    assert cause(one, Code.INTERNAL) != cause(one)


def test_a_message_of_a_device_makes_no_long_cause() -> None:
    assert len(cause("a" * 100_000)) <= CAUSE_CHARS_MAX + len("tool_failed: ")
    assert cause("") == "tool_failed"
