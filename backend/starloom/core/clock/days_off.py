"""Days on which a schedule does not fire: dates and spans as people write them, and the moments that they leave out.

A day without a year counts in each year. Days are those of the schedule's zone. The hub knows no public holidays: who
means them names their days, or gives the calendar file (iCalendar) that has them. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Final, NamedTuple

from starloom.core.clock.calendars import CALENDAR, PLACE, EventDays, days_of_calendar
from starloom.core.clock.cron import BadClock, moments_after, zone_of
from starloom_protocol.text.wording import quoted

ENTRIES_MOST: Final = 400
TEXT_MOST: Final = 256 * 1024
_SKIPS_MOST: Final = 1_000
_AHEAD_MOST_MS: Final = 50 * 366 * 86_400_000
"""A clock is followed for fifty years, as it is without days left out: each span that is left out takes a search."""
_EXCEPTS_MOST: Final = 8
_DAY_WORDS_MOST: Final = 12
_LEAP: Final = 2000
"""A year that has each day of any year."""
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_ISO: Final = re.compile(r"(?:(\d{4})-)?(\d\d)-(\d\d)")
_DAY_FIRST: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th|\.)? (?:of )?([A-Za-z]{3,9})\.?(?: (\d{4}))?")
_MONTH_FIRST: Final = re.compile(r"([A-Za-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?(?: (\d{4}))?")
_SPAN: Final = re.compile(r" (?:to|until|till|through|bis) | ?[/\u2013] ?| - ")
"""The words between two days. *bis* is German: requests in words may be, and calendars that people copy from are."""
_BETWEEN: Final = re.compile(r"[,;] ?(?:and )?| and ")
_FIXED: Final = {
    "christmas day": (12, 25),
    "christmas eve": (12, 24),
    "boxing day": (12, 26),
    "new year's day": (1, 1),
    "new year's eve": (12, 31),
}
"""Names of days that are the same date everywhere. Christmas itself has one, two or three days, by the place."""
_BEGIN: Final = re.compile(r"(?:on|from|the) ", re.IGNORECASE)
_EXCEPT: Final = re.compile(r",? (?:except|but not|not|without)(?: (?:on|from|for|at|over))? ", re.IGNORECASE)
_KINDS: Final = r"(?:(?:on|the|all|public|bank|school|legal|christmas|easter|summer) )*"
_FEAST: Final = (
    rf"(?!{'|'.join(_FIXED)})(?:christmas|easter|whitsun|pentecost|thanksgiving|good friday|new year)"
    r"(?: (?:sun|mon)day| week)?\b(?!')"
)
_HOLIDAYS_FIRST: Final = re.compile(rf"{_KINDS}(?:holidays?\b|{_FEAST})", re.IGNORECASE)
_HOLIDAYS: Final = re.compile(rf"{_KINDS}(?:holidays?\b.*|{_FEAST}(?:(?:,| and ).*)?)", re.IGNORECASE)
_OF_THE_WEEK: Final = re.compile(
    r"(?:(?:every|each|all) )?(?:week ?(?:end|day)|(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?", re.IGNORECASE
)
_EXAMPLE: Final = "Write 25 December, 2026-12-31, or 24 December to 2 January; commas between several."

_Day = tuple[int | None, int, int]
"""Year, month and day of the month; no year if the day counts in each year."""


class LeftOut(NamedTuple):
    """A moment at which a schedule does not fire, and the day or span of days that leaves it out, in words."""

    at_ms: int
    days: str


class NextFirings(NamedTuple):
    """The next moments of a schedule, and those left out before the last of them: the first of each span."""

    moments: list[int]
    left_out: list[LeftOut]


@dataclass(frozen=True, slots=True)
class _Span:
    """Days from `first` to `last`, both included; without a year in each year."""

    first: _Day
    last: _Day

    def text(self) -> str:
        first, last = _iso(self.first), _iso(self.last)
        return first if first == last else f"{first}/{last}"

    def end_from(self, day: date) -> date | None:
        """Return its last day if it has this day, None otherwise."""
        if self.first[0] is not None:
            first, last = date(*_whole(self.first)), date(*_whole(self.last))
            return last if first <= day <= last else None
        begins, ends, today = self.first[1:], self.last[1:], (day.month, day.day)
        if begins <= ends:
            return _in_year(day.year, ends) if begins <= today <= ends else None
        if today >= begins:
            return _in_year(day.year + 1, ends)
        return _in_year(day.year, ends) if today <= ends else None


def days_in(text: str, zone: str = "UTC") -> list[str]:
    """Return the days that a text names, or those of the events of a calendar file, as a schedule keeps them.

    The times of a calendar are taken to the `zone` of the schedule.

    Raises:
        BadClock: naming the first that is not a day.
    """
    if len(text) > TEXT_MOST:
        raise BadClock(PLACE, f"the days have {len(text)} characters, and at most {TEXT_MOST} are read")
    if text.lstrip().startswith(CALENDAR):
        entries = list(dict.fromkeys(_span_of(event).text() for event in days_of_calendar(text, zone_of(zone))))
    else:
        # One blank between words: no pattern tries each blank of a long run.
        plain = " ".join(text.replace("\n", " , ").split()).replace(" ,", ",")
        parts = (part.strip(" .") for part in _BETWEEN.split(plain))
        entries = list(dict.fromkeys(_span(part).text() for part in parts if part))
    if len(entries) > ENTRIES_MOST:
        raise BadClock(PLACE, f"{len(entries)} days or spans are named, and at most {ENTRIES_MOST} are kept")
    return entries


def _span_of(event: EventDays) -> _Span:
    first, last = ((day.year, day.month, day.day) for day in event[:2])
    return _Span((None, *first[1:]), (None, *last[1:])) if event.yearly else _Span(first, last)


def split_exception_at_end(words: str) -> tuple[str, str]:
    """Return the words before an *except* or *not* at their end, and the days behind it; no days where it has none."""
    words = " ".join(words.split())
    for exception in [*_EXCEPT.finditer(words)][-_EXCEPTS_MOST:]:
        before, days = words[: exception.start()], words[exception.end() :]
        if _HOLIDAYS.fullmatch(days.strip(" .")):
            return before, days
        try:
            if days_in(days):
                return before, days
        except BadClock:
            continue
    return words, ""


def split_exception_at_start(words: str) -> tuple[str, str]:
    """Return the days of an *except* with which words begin, and the words behind them; no days where it has none."""
    words = words.strip()
    words = f"{words} " if words.startswith(",") else f" {words} "
    exception = _EXCEPT.match(words)
    if exception is not None and (holidays := _HOLIDAYS_FIRST.match(words, exception.end())):
        return holidays[0], words[holidays.end() :].strip()
    behind = words[exception.end() :].split() if exception is not None else []
    for count in range(min(len(behind), _DAY_WORDS_MOST), 0, -1):
        try:
            if days_in(days := " ".join(behind[:count]).rstrip(",")):
                return days, " ".join(behind[count:])
        except BadClock:
            continue
    return "", words.strip()


def in_words(days: Iterable[str]) -> str:
    """Return days as people read them: `25 December, 24 December 2026 to 2 January 2027`."""
    return ", ".join(_words(_span(text)) for text in days)


def next_firings(cron: str, zone: str, after_ms: int, days: Sequence[str], count: int = 1) -> NextFirings:
    """Return the next `count` moments that are on none of the days, and those that are left out before the last.

    Raises:
        BadClock: the clock or a day is invalid, or no moment remains.
    """
    spans = [_span(text) for text in days]
    time_zone = zone_of(zone)
    firings = NextFirings(moments=[], left_out=[])
    start = after_ms
    for _ in range(_SKIPS_MOST if spans else 1):
        resume = None
        for moment in moments_after(cron, zone, start):
            day = datetime.fromtimestamp(moment / 1000, tz=time_zone).date()
            span, end = _covering(spans, day)
            if span is not None and end is not None:
                firings.left_out.append(LeftOut(moment, _words(span)))
                # Of a day that ends twice, as its clock goes back at midnight, the second end.
                resume = datetime.combine(end, time.max.replace(fold=1), time_zone)
                break
            firings.moments.append(moment)
            if len(firings.moments) == count:
                return firings
        if resume is None:
            break
        start = int(resume.astimezone(UTC).timestamp() * 1000)
        if start > after_ms + _AHEAD_MOST_MS:
            break
    if not firings.moments:
        why = ", since all are left out" if firings.left_out else ""
        raise BadClock(PLACE if firings.left_out else "cron", f"{quoted(cron)} has no further time{why}")
    return firings


def fires_on(moments: Iterable[int], zone: str, days: Sequence[str]) -> list[int]:
    """Return the moments that are on none of the days."""
    spans, time_zone = [_span(text) for text in days], zone_of(zone)
    return [
        moment
        for moment in moments
        if _covering(spans, datetime.fromtimestamp(moment / 1000, tz=time_zone).date())[0] is None
    ]


def _covering(spans: Iterable[_Span], day: date) -> tuple[_Span | None, date | None]:
    """Return the first span that has this day, with its last day; None and None if the day is in none of them."""
    for span in spans:
        if (end := span.end_from(day)) is not None:
            return span, end
    return None, None


def _span(text: str) -> _Span:
    parts = _SPAN.split(_BEGIN.sub("", text, count=1))
    if _HOLIDAYS.fullmatch(text):
        hint = "Name their days, such as 24 December to 26 December, or give a calendar file that has them "
        feast = "holidays" if "holiday" in text.casefold() else text
        raise BadClock(
            PLACE, f"this hub does not know which days are {feast} where you live", f"{hint}(`--except-file FILE.ics`)."
        )
    if len(parts) > 2:
        raise BadClock(PLACE, f"{quoted(text[:80])} is not a day or a span of days", _EXAMPLE)
    first, last = _day(parts[0]), _day(parts[-1])
    if first[0] is None and last[0] is not None:
        first = (last[0] - (first[1:] > last[1:]), *first[1:])
    elif last[0] is None and first[0] is not None:
        last = (first[0] + (first[1:] > last[1:]), *last[1:])
    for day in (first, last):
        _check_date(day, text)
    if first[0] is not None and _whole(last) < _whole(first):
        raise BadClock(PLACE, f"{quoted(text[:80])} ends before it begins", _EXAMPLE)
    return _Span(first, last)


def _day(text: str) -> _Day:
    text = _BEGIN.sub("", text.strip(), count=1)
    if fixed := _FIXED.get(text.casefold()):
        return (None, *fixed)
    if iso := _ISO.fullmatch(text):
        return (int(iso[1]) if iso[1] else None, int(iso[2]), int(iso[3]))
    if match := _DAY_FIRST.fullmatch(text):
        day, month, year = match[1], match[2], match[3]
    elif match := _MONTH_FIRST.fullmatch(text):
        month, day, year = match[1], match[2], match[3]
    elif _OF_THE_WEEK.fullmatch(text):
        raise BadClock(
            PLACE,
            f"{quoted(text)} is a day of the week, and these are dates; the rhythm says on which days of the week it "
            "fires, such as Monday to Friday",
            'Write `--cron "every weekday at 8"`, `--cron "0 8 * * 1-5"`, or `every day at 8 except Sundays`.',
        )
    else:
        raise BadClock(PLACE, f"{quoted(text[:80])} is not a day", _EXAMPLE)
    number = next((at for at, name in enumerate(_MONTHS, 1) if name.casefold().startswith(month.casefold())), 0)
    if not number:
        raise BadClock(PLACE, f"{quoted(month)} is not a month", _EXAMPLE)
    return (int(year) if year else None, number, int(day))


def _check_date(day: _Day, text: str) -> None:
    try:
        date(*_whole(day))
    except ValueError:
        raise BadClock(PLACE, f"{quoted(text[:80])} names a day that no calendar has", _EXAMPLE) from None


def _iso(day: _Day) -> str:
    year, month, number = day
    return f"{month:02}-{number:02}" if year is None else f"{year:04}-{month:02}-{number:02}"


def _whole(day: _Day) -> tuple[int, int, int]:
    return (_LEAP if day[0] is None else day[0], day[1], day[2])


def _in_year(year: int, day: tuple[int, int]) -> date:
    """Return a day of a year; of 29 February in a year without it, 28 February."""
    month, number = day
    try:
        return date(year, month, number)
    except ValueError:
        return date(year, month, number - 1)


def _words(span: _Span) -> str:
    days = (span.first, span.last)
    words = [f"{day} {_MONTHS[month - 1]}{'' if year is None else f' {year}'}" for year, month, day in days]
    return words[0] if span.first == span.last else " to ".join(words)
