"""The times of log lines: the usual forms of programs, servers, containers and systems, and lines that tell none."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from unittest import mock

import pytest

from starloom_agent.toolkit.text.moments import moment_of, without_moment

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
LOCAL = datetime(2026, 11, 27, 3, 30).astimezone().timestamp()
WORLD = datetime(2026, 11, 27, 3, 30, tzinfo=UTC).timestamp()


@contextmanager
def clock_of(zone: str) -> Iterator[None]:
    """Let this process have the clock of a zone."""
    try:
        with mock.patch.dict(os.environ, TZ=zone):
            time.tzset()
            yield
    finally:
        time.tzset()


@pytest.mark.parametrize(
    "line",
    [
        "2026/11/27 03:30:00 [error] 812#812: *7 open() failed (2: No such file or directory)",
        "[Fri Nov 27 03:30:00.123456 2026] [core:error] [pid 7] AH00037: Symbolic link not allowed",
        "[Fri Nov 27 03:30:00 2026] [error] File does not exist",
        "Nov 27 03:30:00 box sshd[7]: error: no answer",
        "<34>Nov 27 03:30:00 box su: failed",
        "2026-11-27 03:30:00,123 ERROR [main] org.example.App - no answer",
        "ERROR 2026-11-27 03:30:00,123 no answer",
        "[ERROR] 2026-11-27 03:30:00.123 no answer",
        "27 Nov 2026 03:30:00,123 ERROR no answer",
        "2026-11-27 03:30:00, Info CBS failed",
        "11/27/2026 3:30:00 AM error: no answer",
        "27.11.2026 03:30:00 error: no answer",
        'level=error time="2026-11-27 03:30:00" msg="no answer"',
    ],
)
def test_a_time_without_a_zone_is_that_of_the_machine(line: str) -> None:
    assert int(moment_of(line, NOW) or 0) == LOCAL


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-27T03:30:00Z error: no answer",
        "2026-11-27T04:30:00.123456+01:00 box app[7]: error",
        "2026-11-27T04:30:00+0100 box app[7]: error",
        "2026-11-27 03:30:00 UTC [7] FATAL: no database",
        "<165>1 2026-11-27T03:30:00.003Z box app - ID47 - failed",
        '10.0.0.7 - - [27/Nov/2026:04:30:00 +0100] "GET /error HTTP/1.1" 500 12',
        "1795750200 error: no answer",
        "[1795750200.123] error: no answer",
        "1795750200123 error: no answer",
        '{"log":"error: no answer\\n","stream":"stderr","time":"2026-11-27T03:30:00.123456789Z"}',
        '{"level":"error","ts":1795750200.5,"msg":"no answer"}',
        "__REALTIME_TIMESTAMP=1795750200123456",
        '{"MESSAGE":"failed","__REALTIME_TIMESTAMP":"1795750200123456"}',
        'time="2026-11-27T03:30:00Z" level=error msg="no answer"',
    ],
)
def test_a_time_with_a_zone_is_that_moment(line: str) -> None:
    assert int(moment_of(line, NOW) or 0) == WORLD


@pytest.mark.parametrize(
    "line",
    [
        "  at line 3 of failed.py",
        "error: 2026 was a bad year",
        "2026-02-31T10:00:00Z error",
        "13/27/2026 3:30:00 AM error",
        "12345678901 is the number of the order",
        "call 1795750200 failed",
        "",
    ],
)
def test_a_line_without_a_time_tells_none(line: str) -> None:
    assert moment_of(line, NOW) is None


def test_a_line_of_december_is_of_the_year_before() -> None:
    read = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
    moment = moment_of("Dec 31 23:00:00 box app: failed", read)
    assert moment == datetime(2025, 12, 31, 23, 0).astimezone().timestamp()


def test_a_message_stays_without_its_time() -> None:
    for line in ("2026/11/27 03:30:00 [error] no", "[Fri Nov 27 03:30:00 2026] [error] no", "1795750200 [error] no"):
        assert without_moment(line).strip(" ]") == "[error] no"


@pytest.mark.parametrize(
    ("zone", "now", "line", "moment"),
    [
        ("Asia/Tokyo", "2027-01-01T07:30", "Jan  1 07:20:00", "2027-01-01T07:20"),
        ("Asia/Tokyo", "2027-01-01T07:30", "Dec 31 23:50:00", "2026-12-31T23:50"),
        ("America/New_York", "2026-12-31T20:00", "Dec 31 19:50:00", "2026-12-31T19:50"),
        ("America/New_York", "2026-12-31T23:58", "Jan  1 00:01:00", "2027-01-01T00:01"),
        ("Europe/Berlin", "2025-01-02T00:10", "Feb 29 12:00:00", "2024-02-29T12:00"),
    ],
)
def test_a_line_without_a_year_is_of_the_last_such_day_on_this_clock(
    zone: str, now: str, line: str, moment: str
) -> None:
    with clock_of(zone):
        told = moment_of(f"{line} box kernel: I/O error", datetime.fromisoformat(now).astimezone(UTC))
        assert told == datetime.fromisoformat(moment).timestamp()
