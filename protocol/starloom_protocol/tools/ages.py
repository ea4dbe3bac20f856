"""Times as people write them in arguments: durations (`90s`, `2 hours`, `1w`) and moments (`22:00`, a date, `7y`).

A device reads such an argument, and the hub reads it before anything runs: a schema names the way of writing as its
`format`. Takes the time as a value and asks no clock.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from starloom_protocol.text.wording import quoted

AGE: Final = "starloom-age"
DURATION: Final = "starloom-duration"
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_FORM = re.compile(r"(\d{1,9})\s*(s|m|h|d|w|seconds?|sec|minutes?|min|hours?|days?|weeks?|)", re.ASCII)
_YEARS = re.compile(r"(\d{1,4})\s*(?:y|years?)", re.ASCII)
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
_LATE: Final = datetime(9998, 6, 1, tzinfo=UTC)
"""A check knows no clock: it refuses what is no age at any time."""


def seconds_of(value: str | int) -> int:
    """Return whole seconds.

    Raises:
        ValueError: it is not a duration.
    """
    if isinstance(value, int):
        if value < 0:
            raise ValueError(f"{value} is not a duration: it is below zero")
        return value
    match = _FORM.fullmatch(value.strip().lower())
    if match is None:
        raise ValueError(
            f"{quoted(value)} is not a duration; write seconds as a number, or 90s, 15m, 2h, 3d, 1w; an age may be in "
            "years: 7y"
        )
    return int(match[1]) * _SECONDS[match[2][:1] or "s"]


def begin_of(since: str | int, now: datetime) -> float:
    """Return the moment that `since` means, in seconds since 1970.

    `22:00` is the last time that this device's clock showed it, of an hour that it showed twice the first; `yesterday`,
    a date, or a date with a time are read on this clock too unless they carry an offset; `7 years` is this day seven
    years ago; anything else is how far back.

    Raises:
        ValueError: it is neither an age nor a moment.
    """
    text = since.strip().lower() if isinstance(since, str) else ""
    clock = _CLOCK.fullmatch(text)
    # Without an offset: that of now is not that of a day on which the clock changed since.
    local = now.astimezone().replace(tzinfo=None, fold=0)
    if clock is not None:
        begin = local.replace(hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0)
        return (begin - timedelta(days=begin.timestamp() > now.timestamp())).timestamp()
    if text in ("today", "yesterday", "midnight"):
        begin = local.replace(hour=0, minute=0, second=0, microsecond=0)
        return (begin - timedelta(days=text == "yesterday")).timestamp()
    if (years := _YEARS.fullmatch(text)) is not None:
        return _years_before(local, int(years[1])).timestamp()
    if re.match(r"\d{4}-\d\d-\d\d", text):
        try:
            return datetime.fromisoformat(text.upper()).timestamp()
        except ValueError as error:
            raise ValueError(f"{quoted(since)} is not a moment: {error}") from error
    return now.timestamp() - seconds_of(since)


def _years_before(moment: datetime, years: int) -> datetime:
    """Return this day some years ago; of a 29 February the day before where that year has none.

    Raises:
        ValueError: it is before the first year.
    """
    if years >= moment.year:
        raise ValueError(f"{years} years ago is before the year 1")
    try:
        return moment.replace(year=moment.year - years)
    except ValueError:
        return moment.replace(year=moment.year - years, day=28)


class Written(NamedTuple):
    """A way of writing: its name in words, with examples, and what raises `ValueError` for anything else."""

    words: str
    read: Callable[[str], object]


WRITTEN: Final = {
    AGE: Written("an age or a moment (7d, 2h, 7y, 22:00, 2026-01-31)", lambda text: begin_of(text, _LATE)),
    DURATION: Written("a duration (90s, 15m, 2h, 3d)", seconds_of),
}
"""The ways of writing by the `format` of a schema; one that is not here is not judged."""


def is_written(text: str, form: object) -> bool:
    """Tell whether a text is written as the `format` of a schema asks; any text is where the format is not known."""
    reader = WRITTEN.get(form) if isinstance(form, str) else None
    if reader is None:
        return True
    try:
        reader.read(text)
    except ValueError:
        return False
    return True
