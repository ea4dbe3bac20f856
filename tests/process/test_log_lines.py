"""One record is one line of the log, and an error below it one line too."""

from __future__ import annotations

import logging
import sys

from starloom.process.log_lines import LineFormatter

FORGED = "2026-01-01 INFO all is well"


class Odd:
    """Fails with words of somebody else."""

    def __int__(self) -> int:
        raise ValueError(f"odd\n{FORGED}")


def test_a_record_is_one_line_and_keeps_its_letters() -> None:
    record = logging.LogRecord("hub", logging.INFO, "", 0, "%s said %s", ("Zoë", f"x\r\n\x1b[2J\x85{FORGED}"), None)
    assert LineFormatter("%(message)s").format(record) == rf"Zoë said x\r\n\x1b[2J\x85{FORGED}"


def test_an_error_with_lines_in_its_words_is_one_line() -> None:
    try:
        int(Odd())
    except ValueError:
        record = logging.LogRecord("hub", logging.ERROR, "", 0, "failed", (), sys.exc_info())
    lines = LineFormatter("%(message)s").format(record).splitlines()
    assert lines[:2] == ["failed", "Traceback (most recent call last):"]
    assert [line for line in lines[2:] if not line.startswith(" ")] == [rf"ValueError: odd\n{FORGED}"]
