"""Cron: the moments of a cron expression in a time zone, in milliseconds of hub time.

Pure functions of expression, zone and a moment. The rules of zones are a library's data; computed moments are stored,
so that no log depends on them. Clock changes are handled as in Debian's cron: a fixed time that is left out is due
right after the change, one that comes twice is due once, and hourly work goes by elapsed time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from itertools import islice, takewhile
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from starloom_protocol.plan.lowering.patterns.moments import zone_hint
from starloom_protocol.text.wording import quoted

_FIELDS = 5
_TEXT_MOST = 128
_STEP = re.compile(r"every (\d+) (minute|hour)s?", re.ASCII | re.IGNORECASE)
_TIME = re.compile(r"\b(\d{1,2}):(\d\d)\b", re.ASCII)
_NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


class BadClock(Exception):
    """The expression or the zone is invalid; `place` is `cron` or `zone`, `hint` the way out if one is known."""

    def __init__(self, place: str, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.place = place
        self.reason = reason
        self.hint = hint


@lru_cache(maxsize=1)
def _zones() -> dict[str, None]:
    return dict.fromkeys(sorted(available_timezones()))


@lru_cache(maxsize=512)
def zone_of(name: str) -> ZoneInfo:
    """Return a zone of the IANA database.

    Raises:
        BadClock: there is no zone of this name.
    """
    if name not in _zones():
        raise BadClock("zone", f"there is no time zone {quoted(name[:64])}", zone_hint(name[:64]))
    return ZoneInfo(name)


_ONE_TIME = frozenset({"tonight", "tomorrow", "today", "once"})
_ONCE = (
    'A schedule repeats. Once later: a plan with `not_before` (docs/schedules.md, "Once, later"), '
    'or the date as in "0 2 29 11 *", then `starloom schedule rm`.'
)


def _fields(cron: str) -> str:
    text = " ".join(cron.split())
    return _NAMED.get(text.lower(), text)


def _beyond_a_day(fields: str) -> str:
    """Return the first time of words that no day has, such as 25:00."""
    times = (time for time in _TIME.finditer(fields) if int(time[1]) > 23 or int(time[2]) > 59)
    return next((time[0] for time in times), "")


def moments_after(cron: str, zone: str, at_ms: int, *, back: bool = False) -> Iterator[int]:
    """Yield the moments after `at_ms`, or `back` from it the newest first.

    Raises:
        BadClock: the expression or zone is invalid.
    """
    fields = _fields(cron)
    count = len(fields.split())
    if len(fields) > _TEXT_MOST:
        raise BadClock("cron", f"a schedule has at most {_TEXT_MOST} characters")
    if count != _FIELDS and (beyond := _beyond_a_day(fields)):
        raise BadClock("cron", f"{quoted(cron)} has {beyond}, and the last time of a day is 23:59")
    if count != _FIELDS:
        step = _STEP.fullmatch(fields)
        most, whole = (24, "a day") if step is not None and step[2].lower() == "hour" else (60, "an hour")
        if step is not None and (not int(step[1]) or most % int(step[1])):
            raise BadClock(
                "cron",
                f"{quoted(cron)} has no even steps: {step[1]} does not divide {whole}",
                "Take a number that does, or write the five fields, as in `0,7,14,21 * * * *`.",
            )
        raise BadClock(
            "cron",
            f"{quoted(cron)} has {count} fields; minute, hour, day, month and weekday are five, "
            "or words that say how often replace them",
            "" if _ONE_TIME.isdisjoint(fields.lower().split()) else _ONCE,
        )
    time_zone = zone_of(zone)
    try:
        moment = datetime.fromtimestamp(at_ms / 1000, tz=UTC).astimezone(time_zone)
    except (OverflowError, ValueError) as error:
        raise BadClock("cron", "the calendar ends with the year 9999") from error
    try:
        clock = CronSim(fields, moment, reverse=back)
    except CronSimError as error:
        field = str(error).removeprefix("Bad ").removeprefix("bad ")
        raise BadClock("cron", f"{quoted(cron)} is not a schedule: its {field} is not valid") from error
    return _in_calendar(_with_half_hours(fields, clock, moment, back=back))


def _in_calendar(clock: Iterator[datetime]) -> Iterator[int]:
    """Yield moments as long as there are dates: a date has a year of four digits."""
    with suppress(OverflowError):
        for moment in clock:
            yield round(moment.timestamp()) * 1000


def _with_half_hours(fields: str, clock: Iterator[datetime], before: datetime, *, back: bool) -> Iterator[datetime]:
    """Yield moments, and those that are left out where a clock moves by half an hour (Lord Howe Island).

    The library goes by whole hours of elapsed time, and so steps over half of an hour; from the other side, over none.
    """
    for moment in clock:
        if _past_hour(moment) != _past_hour(before):
            last = before.astimezone(UTC)
            between = takewhile(last.__gt__ if back else last.__lt__, CronSim(fields, moment, reverse=not back))
            yield from reversed([*between])
        yield moment
        before = moment


def _past_hour(at: datetime) -> timedelta:
    """Return by how much the offset of a zone is beyond whole hours."""
    return (at.utcoffset() or timedelta()) % timedelta(hours=1)


def following(cron: str, zone: str, after_ms: int, count: int = 1) -> list[int]:
    """Return the next `count` moments after `after_ms`; fewer only if there are no more within fifty years.

    Raises:
        BadClock: the expression or zone is invalid, or there is no such moment.
    """
    moments = list(islice(moments_after(cron, zone, after_ms), count))
    if not moments:
        raise BadClock("cron", f"{quoted(cron)} has no further time")
    return moments


def passed(cron: str, zone: str, from_ms: int, until_ms: int, most: int) -> list[int]:
    """Return the newest `most` moments from `from_ms` to `until_ms`, both included, oldest first.

    Raises:
        BadClock: as `following`.
    """
    newest_first = takewhile(lambda moment: moment >= from_ms, moments_after(cron, zone, until_ms + 1, back=True))
    return list(islice(newest_first, most))[::-1]


def in_words(cron: str) -> str:
    """Return a cron expression in words: `At 02:30 every day`.

    Raises:
        BadClock: as `following`.
    """
    following(cron, "UTC", 0)
    return CronSim(_fields(cron), datetime(2026, 1, 1, tzinfo=UTC)).explain()


def words_for(cron: str, zone: str, ahead: Sequence[int]) -> str:
    """Return a cron expression in words, with the first day among the moments `ahead` on which its time is left out.

    A clock that goes forward has no 02:30 on that day, and what is due then is due at the end of the gap.

    Raises:
        BadClock: as `following`.
    """
    words, (minute, hour, *_) = in_words(cron), _fields(cron).split()
    if not (minute.isdecimal() and hour.isdecimal()):
        return words
    due, time_zone = time(int(hour), int(minute)), zone_of(zone)
    for moment in ahead:
        at = datetime.fromtimestamp(moment / 1000, tz=time_zone)
        if at.time() != due:
            return f"{words}; {due:%H:%M} does not exist on {at.day} {at:%B %Y}, so it fires at {at:%H:%M} then"
    return words
