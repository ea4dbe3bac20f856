"""The times that lines of logs tell: of programs, web servers, syslog, the journal, containers and Windows.

A time without a zone is that of this machine. A line is data of unknown origin: what is no time in one of these forms
is none. Pure.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

_MONTHS: Final = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_DATE: Final = r"\d{4}[-/]\d\d[-/]\d\d"
_CLOCK: Final = r"\d\d:\d\d(?::\d\d)?"
_ZONE: Final = r"(?:[.,]\d+)?(?:\s?(Z|UTC|GMT|[+-]\d\d:?\d\d))?"
_ISO: Final = rf"({_DATE})[T ]({_CLOCK}){_ZONE}"
_LEVEL: Final = r"(?:[\[(<]?(?:[A-Z]{4,9}|[a-z]{4,9})[\])>]?[:\s|-]{1,3})?"
_FIRST: Final = re.compile(rf"\s*(?:<\d{{1,3}}>\d?\s*)?{_LEVEL}[\[(]?{_ISO}")
"""`2026-03-01T10:00:00Z`, `2026/03/01 10:00:00`, `2026-03-01 10:00:00,123`, `<34>1 2026-...`, `ERROR 2026-...`."""
_SYSLOG: Final = re.compile(rf"\s*(?:<\d{{1,3}}>)?({_MONTHS})\s+(\d{{1,2}}) (\d\d:\d\d:\d\d)(?! \d{{4}})")
_APACHE: Final = re.compile(
    rf"\s*\[?(?:[A-Z][a-z]{{2}},? )?({_MONTHS})\s+(\d{{1,2}}) (\d\d:\d\d:\d\d)(?:\.\d+)? (\d{{4}})"
)
_WRITTEN: Final = re.compile(rf"\s*{_LEVEL}[\[(]?(\d{{1,2}}) ({_MONTHS}) (\d{{4}})[ ,]{{1,2}}(\d\d:\d\d:\d\d){_ZONE}")
_ACCESS: Final = re.compile(rf"[^\[\]]{{0,300}}\[(\d\d)/({_MONTHS})/(\d{{4}}):(\d\d:\d\d:\d\d)(?: ([+-]\d{{4}}))?\]")
"""Of a web server: `10.0.0.7 - - [01/Mar/2026:10:00:00 +0100] "GET / HTTP/1.1"`."""
_WINDOWS: Final = re.compile(r"\s*\[?(\d{1,2})/(\d{1,2})/(\d{4}),? (\d{1,2}):(\d\d)(?::(\d\d))?(?:\.\d+)? ([AP])M\b")
_DOTTED: Final = re.compile(r"\s*\[?(\d{1,2})\.(\d{1,2})\.(\d{4}),? (\d{1,2}):(\d\d)(?::(\d\d))?")
_EPOCH: Final = re.compile(r"\s*\[?([12]\d{9})(?:(\d{3})|\.\d+)?(?=[\s\]:,|])")
_JOURNAL: Final = re.compile(r"__REALTIME_TIMESTAMP\"?\s*[:=]\s*\"?(\d{15,17})\b")
_NAMED: Final = r"\"?@?\b(?:time|timestamp|ts|asctime)\"?\s*[:=]\s*\"?"
_FIELD_ISO: Final = re.compile(_NAMED + _ISO)
_FIELD_EPOCH: Final = re.compile(_NAMED + r"([12]\d{9})(\d{3})?(?!\d)")
"""Of containers and programs that write JSON, or NAME=VALUE."""
_READ_CHARS: Final = 4_000
"""A time stands near the beginning, or among the fields of a line."""


def moment_of(line: str, now: datetime) -> float | None:
    """Return the time that a log line tells as seconds since 1970, or None where it tells none."""
    line = line[:_READ_CHARS]
    for pattern, read in _FORMS:
        # A form that fits and is no time, such as the 31st of February, may be another one.
        match = pattern.match(line)
        if match is not None and (moment := _read(read, match, now)) is not None:
            return moment
    structured = line.lstrip()[:1] == "{" or "=" in line
    for pattern, read in _FIELDS if structured else ():
        match = pattern.search(line)
        if match is not None and (moment := _read(read, match, now)) is not None:
            return moment
    return None


def without_moment(line: str) -> str:
    """Return a line without the time that it begins with."""
    for pattern in _AT_FIRST:
        if match := pattern.match(line):
            return line[match.end() :]
    return line


_Reader = Callable[[re.Match[str], datetime], float]


def _read(read: _Reader, match: re.Match[str], now: datetime) -> float | None:
    try:
        return read(match, now)
    except (ValueError, OverflowError, OSError):
        return None


def _iso(match: re.Match[str], _now: datetime) -> float:
    date, clock, zone = match.groups()
    offset = "+00:00" if zone in ("Z", "UTC", "GMT") else zone or ""
    return datetime.fromisoformat(f"{date.replace('/', '-')}T{clock}{offset}").timestamp()


def _syslog(match: re.Match[str], now: datetime) -> float:
    month, day, clock = match.groups()
    local = _local(now)
    # Syslog writes no year: a line of December that is read in January is of the year before. One day is left for
    # clocks that go ahead. The 29th of February is none in most years.
    for year in (local.year + 1, local.year, local.year - 1):
        with contextlib.suppress(ValueError):
            moment = _local_time(year, month, day, clock)
            if moment <= local + timedelta(days=1):
                return moment.timestamp()
    raise ValueError(day)


def _apache(match: re.Match[str], _now: datetime) -> float:
    month, day, clock, year = match.groups()
    return _local_time(year, month, day, clock).timestamp()


def _day_first(match: re.Match[str], _now: datetime) -> float:
    day, month, year, clock, zone = match.groups()
    moment = _local_time(year, month, day, clock)
    offset = "+00:00" if zone in ("Z", "UTC", "GMT") else zone or ""
    return datetime.fromisoformat(f"{moment.isoformat()}{offset}").timestamp()


def _windows(match: re.Match[str], _now: datetime) -> float:
    month, day, year, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    if not 1 <= hour <= 12:
        raise ValueError(hour)
    return datetime(year, month, day, hour % 12 + (12 if match[7] == "P" else 0), minute, second).timestamp()  # noqa: DTZ001 - local time


def _dotted(match: re.Match[str], _now: datetime) -> float:
    day, month, year, hour, minute, second = (int(part or 0) for part in match.groups())
    return datetime(year, month, day, hour, minute, second).timestamp()  # noqa: DTZ001 - local time


def _epoch(match: re.Match[str], _now: datetime) -> float:
    return float(match[1])


def _journal(match: re.Match[str], _now: datetime) -> float:
    return int(match[1]) / 1_000_000


def _local_time(year: int | str, month: str, day: str, clock: str) -> datetime:
    return datetime.strptime(f"{year} {month} {day} {clock}", "%Y %b %d %H:%M:%S")  # noqa: DTZ007 - local time


def _local(now: datetime) -> datetime:
    return now.astimezone().replace(tzinfo=None)


_FORMS: Final[tuple[tuple[re.Pattern[str], _Reader], ...]] = (
    (_FIRST, _iso),
    (_SYSLOG, _syslog),
    (_APACHE, _apache),
    (_EPOCH, _epoch),
    (_WRITTEN, _day_first),
    (_WINDOWS, _windows),
    (_DOTTED, _dotted),
    (_ACCESS, _day_first),
)
_FIELDS: Final[tuple[tuple[re.Pattern[str], _Reader], ...]] = (
    (_JOURNAL, _journal),
    (_FIELD_ISO, _iso),
    (_FIELD_EPOCH, _epoch),
)
_AT_FIRST: Final = (_FIRST, _APACHE, _SYSLOG, _EPOCH, _WRITTEN, _WINDOWS, _DOTTED)
