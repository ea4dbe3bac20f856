"""Reads times as people write them: durations (`90s`, `15m`, `2 hours`, `1w`) and moments (`22:00`, a date, `7y`)."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from starloom_agent.toolkit.interface import ToolFailed
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_FORM = re.compile(r"(\d{1,9})\s*(s|m|h|d|w|seconds?|sec|minutes?|min|hours?|days?|weeks?|)", re.ASCII)
_YEARS = re.compile(r"(\d{1,4})\s*(?:y|years?)", re.ASCII)
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)


def seconds_of(value: str | int) -> int:
    """Return whole seconds.

    Raises:
        ToolFailed: `bad_arguments` for anything that is not a duration.
    """
    if isinstance(value, int):
        if value < 0:
            raise ToolFailed(Code.BAD_ARGUMENTS, f"{value} is not a duration: it is below zero", effect=False)
        return value
    found = _FORM.fullmatch(value.strip().lower())
    if found is None:
        raise ToolFailed(
            Code.BAD_ARGUMENTS,
            f"{quoted(value)} is not a duration; write seconds as a number, or 90s, 15m, 2h, 3d, 1w; an age may be in "
            "years: 7y",
            effect=False,
        )
    return int(found[1]) * _SECONDS[found[2][:1] or "s"]


def begin_of(since: str | int, now: datetime) -> float:
    """Return the moment that `since` means, in seconds since 1970.

    `22:00` is the last time that this device's clock showed it; `yesterday`, a date, or a date with a time are read
    on this clock too unless they carry an offset; `7 years` is this day seven years ago; anything else is how far back.

    Raises:
        ToolFailed: `bad_arguments`.
    """
    text = since.strip().lower() if isinstance(since, str) else ""
    clock = _CLOCK.fullmatch(text)
    local = now.astimezone()
    if clock is not None:
        begin = local.replace(hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0)
        return (begin if begin <= local else begin - timedelta(days=1)).timestamp()
    if text in ("today", "yesterday", "midnight"):
        begin = local.replace(hour=0, minute=0, second=0, microsecond=0)
        return (begin - timedelta(days=text == "yesterday")).timestamp()
    if (years := _YEARS.fullmatch(text)) is not None:
        return _years_before(local, int(years[1])).timestamp()
    if re.match(r"\d{4}-\d\d-\d\d", text):
        try:
            return datetime.fromisoformat(text.upper()).timestamp()
        except ValueError as error:
            raise ToolFailed(Code.BAD_ARGUMENTS, f"{quoted(since)} is not a moment: {error}", effect=False) from error
    return now.timestamp() - seconds_of(since)


def _years_before(moment: datetime, years: int) -> datetime:
    """Return this day some years ago; of a 29 February the day before where that year has none.

    Raises:
        ToolFailed: `bad_arguments` for a year before the first.
    """
    if years >= moment.year:
        raise ToolFailed(Code.BAD_ARGUMENTS, f"{years} years ago is before the year 1", effect=False)
    try:
        return moment.replace(year=moment.year - years)
    except ValueError:
        return moment.replace(year=moment.year - years, day=28)
