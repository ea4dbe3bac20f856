"""One record is one line of the log, and an error below it one line too."""

from __future__ import annotations

import logging
import sys
import time

import pytest

from starloom.process.log_lines import LineFormatter

FORGED = "2026-01-01 INFO all is well"


class Odd:
    """Fails with words of somebody else."""

    def __int__(self) -> int:
        raise ValueError(f"odd\n{FORGED}")


def test_a_record_is_one_line_and_keeps_its_letters() -> None:
    record = logging.LogRecord("hub", logging.INFO, "", 0, "%s said %s", ("Zoë", f"x\r\n\x1b[2J\x85{FORGED}"), None)
    assert LineFormatter("%(message)s").format(record) == rf"Zoë said x\r\n\x1b[2J\x85{FORGED}"


def test_the_time_of_a_record_has_its_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    try:
        record = logging.makeLogRecord({"created": 1796126703.0625, "levelname": "INFO", "msg": "ready"})
        assert LineFormatter("%(asctime)s %(message)s").format(record) == "2026-12-01T17:50:03.062+05:45 ready"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_an_error_with_lines_in_its_words_is_one_line() -> None:
    try:
        int(Odd())
    except ValueError:
        record = logging.LogRecord("hub", logging.ERROR, "", 0, "failed", (), sys.exc_info())
    lines = LineFormatter("%(message)s").format(record).splitlines()
    assert lines[:2] == ["failed", "Traceback (most recent call last):"]
    assert [line for line in lines[2:] if not line.startswith(" ")] == [rf"ValueError: odd\n{FORGED}"]
