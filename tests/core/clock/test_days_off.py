"""Days without a firing: as people and calendar files say them, and the moments that they leave out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starloom.core.clock import days_off
from starloom.core.clock.cron import BadClock, moments_after
from starloom.core.clock.days_off import (
    ENTRIES_MOST,
    days_in,
    fires_on,
    in_words,
    next_firings,
    split_exception_at_end,
    split_exception_at_start,
)

VIENNA = "Europe/Vienna"


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(VIENNA)).timestamp() * 1000)


def shown(moments: list[int]) -> list[str]:
    return [datetime.fromtimestamp(one / 1000, ZoneInfo(VIENNA)).strftime("%Y-%m-%d %H:%M") for one in moments]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", []),
        ("25 December", ["12-25"]),
        ("on the 25th of Dec. and 1 jan", ["12-25", "01-01"]),
        ("December 25, May 1 2027", ["12-25", "2027-05-01"]),
        ("2026-12-31; 01-06\n25 December", ["2026-12-31", "01-06", "12-25"]),
        ("from 24 December to 2 January", ["12-24/01-02"]),
        ("24 December 2026 to 2 January", ["2026-12-24/2027-01-02"]),
        ("24 December until 2 January 2027", ["2026-12-24/2027-01-02"]),
        ("2026-12-24/2027-01-02, 2026-12-24/2027-01-02", ["2026-12-24/2027-01-02"]),
        ("29 February", ["02-29"]),
        ("Christmas Day, New Year's Eve", ["12-25", "12-31"]),
        ("24 December to New Year's Day", ["12-24/01-01"]),
    ],
)
def test_days_are_read_as_people_write_them(text: str, kept: list[str]) -> None:
    assert days_in(text) == kept
    assert days_in(in_words(kept)) == kept
    assert days_in(", ".join(kept)) == kept


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("31 April", "no calendar has"),
        ("29 February 2027", "no calendar has"),
        ("Christmas", "does not know which days are Christmas where you live"),
        ("Easter Monday", "does not know which days are Easter Monday"),
        ("Shrove Tuesday", "is not a day"),
        ("weekends", "'weekends' is a day of the week, .* such as Monday to Friday"),
        ("25 December, Sundays", "'Sundays' is a day of the week"),
        ("25 Brumaire", "is not a month"),
        ("public holidays", "does not know which days are holidays"),
        ("2027-01-02/2026-12-24", "ends before it begins"),
        ("1 May to 2 May to 3 May", "a span of days"),
        (", ".join(f"{2000 + n}-01-01" for n in range(ENTRIES_MOST + 1)), "at most"),
        ("9" * 300_000, "at most"),
    ],
)
def test_what_is_no_day_is_refused_with_its_words(text: str, says: str) -> None:
    with pytest.raises(BadClock, match=says) as bad:
        days_in(text)
    assert bad.value.place == "except_days"


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        days = days_in(text)
    except BadClock:
        return
    assert days_in(in_words(days)) == days


def test_a_friday_on_a_day_off_is_left_out_and_named() -> None:
    moments, left_out = next_firings("0 17 * * 5", VIENNA, at("2026-12-10"), ["12-25", "2027-01-01/2027-01-06"], 3)
    assert shown(moments) == ["2026-12-11 17:00", "2026-12-18 17:00", "2027-01-08 17:00"]
    assert [(shown([one])[0], why) for one, why in left_out] == [
        ("2026-12-25 17:00", "25 December"),
        ("2027-01-01 17:00", "1 January 2027 to 6 January 2027"),
    ]


def test_a_span_over_the_turn_of_a_year_counts_in_each_year() -> None:
    moments, left_out = next_firings("0 8 * * *", VIENNA, at("2026-12-23"), ["12-24/01-02"], 2)
    assert shown(moments) == ["2026-12-23 08:00", "2027-01-03 08:00"]
    assert len(left_out) == 1
    assert shown(next_firings("0 8 * * *", VIENNA, at("2027-01-01"), ["12-24/01-02"])[0]) == ["2027-01-03 08:00"]


def test_days_are_those_of_the_zone() -> None:
    late = "30 23 24 12 *"  # in UTC it is 22:30 of the same day, in Auckland the next one
    assert shown(next_firings(late, VIENNA, at("2026-12-01"), ["12-25"])[0]) == ["2026-12-24 23:30"]
    assert next_firings(late, VIENNA, at("2026-12-01"), ["2026-12-24"])[1][0][1] == "24 December 2026"


def test_a_leap_day_off_is_the_28th_in_other_years() -> None:
    moments, _ = next_firings("0 8 * 2 *", VIENNA, at("2027-02-27 09:00"), ["02-28/02-29"])
    assert shown(moments) == ["2028-02-01 08:00"]


@pytest.mark.parametrize("cron", ["0 8 25 12 *", "* * * * *"])
def test_a_clock_without_any_day_left_is_refused_soon(cron: str) -> None:
    with pytest.raises(BadClock, match="all are left out"):
        next_firings(cron, VIENNA, at("2026-12-01"), ["01-01/12-31"])


def test_missed_moments_of_days_off_do_not_count() -> None:
    days = [at("2026-12-24 08:00"), at("2026-12-25 08:00"), at("2026-12-26 08:00")]
    assert fires_on(days, VIENNA, ["12-25"]) == [days[0], days[2]]


@pytest.mark.parametrize(
    ("words", "before", "days"),
    [
        ("every Friday at 17:00 except on 25 December", "every Friday at 17:00", "25 December"),
        ("every day at 8, but not from 24 December to 2 January", "every day at 8", "24 December to 2 January"),
        ("every Friday at 17:00 not on 25 December", "every Friday at 17:00", "25 December"),
        ("every Friday except public holidays", "every Friday", "public holidays"),
        ("every Friday but not at Christmas", "every Friday", "Christmas"),
        ("every Friday except Christmas and 1 May", "every Friday", "Christmas and 1 May"),
        ("every Friday except on Christmas Eve", "every Friday", "Christmas Eve"),
        ("copy all without Christmas pictures", "copy all without Christmas pictures", ""),
        ("copy all but not the films", "copy all but not the films", ""),
        ("every Friday", "every Friday", ""),
    ],
)
def test_words_name_the_days_behind_an_except(words: str, before: str, days: str) -> None:
    assert split_exception_at_end(words) == (before, days)


@pytest.mark.parametrize(
    ("words", "days", "behind"),
    [
        (" except on 25 December how are they", "25 December", "how are they"),
        (", except 24 December to 2 January, how are they", "24 December to 2 January", "how are they"),
        (" except public holidays how are they", "public holidays", "how are they"),
        (" except Christmas how are they", "Christmas", "how are they"),
        (" except the films", "", "except the films"),
        (" how are they", "", "how are they"),
        ("", "", ""),
    ],
)
def test_words_that_begin_with_an_except_name_its_days(words: str, days: str, behind: str) -> None:
    assert split_exception_at_start(words) == (days, behind)


CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
BEGIN:VEVENT
DTSTART;VALUE=DATE:20261225
DTEND;VALUE=DATE:20261227
SUMMARY:Christmas
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20260501
RRULE:FREQ=YEARLY
SUMMARY:Labour
 \\, a long name
END:VEVENT
BEGIN:VEVENT
DTSTART:20261231T120000Z
DTEND:20261231T180000Z
END:VEVENT
END:VCALENDAR
"""


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_calendar_file_gives_the_days_of_its_events(ends: str) -> None:
    assert days_in(CALENDAR.replace("\n", ends)) == ["2026-12-25/2026-12-26", "05-01", "2026-12-31"]


@pytest.mark.parametrize(
    ("event", "days"),
    [
        ("DTSTART:20261225T230000Z\nDTEND:20261226T230000Z", ["2026-12-26"]),
        ("DTSTART;TZID=America/New_York:20261225T200000\nDTEND;TZID=America/New_York:20261225T210000", ["2026-12-26"]),
        ('DTSTART;TZID="Europe/Berlin":20261225T000000\nDTEND;TZID="Europe/Berlin":20261226T000000', ["2026-12-25"]),
        ("DTSTART;TZID=W. Europe Standard Time:20261225T000000", ["2026-12-25"]),
        ("DTSTART:20261225T090000\nDTEND:20261227T000000", ["2026-12-25/2026-12-26"]),
        ("DTSTART:20261225T090000\nDTEND:20261225T090000", ["2026-12-25"]),
    ],
)
def test_the_events_of_a_calendar_are_on_days_of_the_schedules_zone(event: str, days: list[str]) -> None:
    text = f"BEGIN:VCALENDAR\nBEGIN:VEVENT\n{event}\nEND:VEVENT\nEND:VCALENDAR"
    assert days_in(text, "Europe/Berlin") == days


@pytest.mark.parametrize(
    ("event", "says"),
    [("DTSTART:20261225\nRRULE:FREQ=WEEKLY", "repeats in a way"), ("DTSTART:2026\nSUMMARY:X", "'X'.*no day")],
)
def test_an_event_that_is_not_understood_is_named(event: str, says: str) -> None:
    text = f"BEGIN:VCALENDAR\nBEGIN:VEVENT\n{event}\nEND:VEVENT\nEND:VCALENDAR"
    with pytest.raises(BadClock, match=says):
        days_in(text)


@pytest.mark.parametrize("text", [" " * 250_000, "\n" * 250_000, "BEGIN:VCALENDAR" + "\n " * 100_000])
def test_a_text_of_blanks_names_no_days(text: str) -> None:
    """Each of these took minutes where a pattern tried every blank of a run."""
    assert days_in(text) == []


@pytest.mark.parametrize("text", [" -" * 100_000, " and" * 50_000, "BEGIN:VCALENDAR" + "BEGIN:VEVENT\n" * 15_000])
def test_a_long_text_without_days_is_refused(text: str) -> None:
    with pytest.raises(BadClock, match=r"not a day|no day"):
        days_in(text)


@pytest.mark.parametrize(
    ("zone", "days", "first"),
    [
        ("Africa/Cairo", "2026-10-29", "2026-10-30T00:00:00+02:00"),
        ("Asia/Beirut", "2026-10-20/2026-10-24", "2026-10-25T00:00:00+02:00"),
        ("America/Santiago", "2027-04-03", "2027-04-04T00:00:00-04:00"),
        ("Europe/Berlin", "2026-10-25", "2026-10-26T00:00:00+01:00"),
    ],
)
@pytest.mark.parametrize("cron", ["0 * * * *", "*/15 * * * *", "0 */2 * * *"])
def test_a_day_left_out_ends_with_its_second_midnight(cron: str, zone: str, days: str, first: str) -> None:
    """Where the clock goes back at midnight, the last hour of a day comes twice."""
    before = int(datetime.fromisoformat(days[:10]).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)
    (found,), _ = next_firings(cron, zone, before, [days])
    assert datetime.fromtimestamp(found / 1000, ZoneInfo(zone)).isoformat() == first


def test_days_that_leave_all_out_are_followed_for_fifty_years(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search of `0 0 29 2 *` went through eight thousand years, and the hub waited for it."""
    searches: list[int] = []

    def counted(cron: str, zone: str, at_ms: int) -> Iterator[int]:
        searches.append(at_ms)
        return moments_after(cron, zone, at_ms)

    monkeypatch.setattr(days_off, "moments_after", counted)
    with pytest.raises(BadClock, match="all are left out"):
        next_firings("0 0 29 2 *", VIENNA, at("2026-01-01T00:00"), ["02-29"])
    assert len(searches) < 15
