"""Calendar files: all that decides the days of an event is read, or refused with its line."""

from __future__ import annotations

import pytest

from starloom.core.clock.cron import BadClock
from starloom.core.clock.days_off import days_in


def calendar(*lines: str) -> str:
    return "\r\n".join(["BEGIN:VCALENDAR", "BEGIN:VEVENT", *lines, "END:VEVENT", "END:VCALENDAR"])


@pytest.mark.parametrize(
    ("lines", "days"),
    [
        (["DTSTART;VALUE=DATE:20261224", "DURATION:P10D"], ["2026-12-24/2027-01-02"]),
        (["DTSTART;VALUE=DATE:20261224", "DURATION:P1W"], ["2026-12-24/2026-12-30"]),
        (["DTSTART;VALUE=DATE:20261224", "duration:P1D"], ["2026-12-24"]),
        (["DTSTART:20261224T220000", "DURATION:PT2H"], ["2026-12-24"]),
        (["DTSTART:20261224T220000", "DURATION:P1DT2H30M"], ["2026-12-24/2026-12-26"]),
        (["DTSTART;VALUE=DATE:20261224", "DURATION:P2D", "RRULE:FREQ=YEARLY"], ["12-24/12-25"]),
        (
            ["DTSTART;VALUE=DATE:20261224", "RDATE;VALUE=DATE:20261226,20261231"],
            ["2026-12-24", "2026-12-26", "2026-12-31"],
        ),
        (
            ["DTSTART;VALUE=DATE:20261224", "DURATION:P2D", "RDATE;VALUE=DATE:20270101", "RDATE;VALUE=DATE:20270106"],
            ["2026-12-24/2026-12-25", "2027-01-01/2027-01-02", "2027-01-06/2027-01-07"],
        ),
        (
            ["DTSTART:20261224T100000Z", "RDATE;VALUE=PERIOD:20261226T100000Z/P2D,20261230T100000Z/20261230T230000Z"],
            ["2026-12-24", "2026-12-26/2026-12-28", "2026-12-30"],
        ),
        (["DTSTART;VALUE=DATE:20261130", "STATUS:CANCELLED"], []),
        (["DTSTART;VALUE=DATE:20261130", "STATUS:CONFIRMED"], ["2026-11-30"]),
        (
            ["DTSTART;VALUE=DATE:20261130", "BEGIN:VALARM", "DURATION:PT15M", "STATUS:CANCELLED", "END:VALARM"],
            ["2026-11-30"],
        ),
        (['DTSTART;X-WHERE="a:b";VALUE=DATE:20261130'], ["2026-11-30"]),
    ],
)
def test_what_decides_the_days_of_an_event_is_read(lines: list[str], days: list[str]) -> None:
    assert days_in(calendar(*lines), "UTC") == days


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["DTEND:2026", "SUMMARY:Feast"], "'Feast' of the calendar ends in a way that is not read .line 4 of the file"),
        (["DTEND:20261225", "DURATION:P1D"], "ends in a way"),
        (["DURATION:-P1D"], "has a duration that is not read: -P1D .line 4"),
        (["DURATION:P"], "has a duration"),
        (["DURATION:P99999W", "SUMMARY:long"], "has a duration"),
        (["DURATION:P9999W", "RDATE;VALUE=DATE:99990101"], r"ends on a day that no calendar has .line 5"),
        (["DTSTART:20270101"], "has a second DTSTART .line 4"),
        (["RRULE:FREQ=YEARLY", "EXDATE;VALUE=DATE:20271224"], "takes single dates out of a repetition .line 5"),
        (["RECURRENCE-ID:20261224", "STATUS:CANCELLED"], "changes a single date"),
        (["RDATE:20261224T", "SUMMARY:a", " bc"], "'abc'.*a further date that is not read"),
        (["RDATE:20261226T100000Z/soon"], "a further date that is not read"),
        (["rrule:FREQ=WEEKLY"], "repeats in a way"),
    ],
)
def test_what_is_not_read_is_refused_with_its_line_and_the_way_out(lines: list[str], says: str) -> None:
    with pytest.raises(BadClock, match=says) as refused:
        days_in(calendar("DTSTART;VALUE=DATE:20261224", *lines))
    assert "name its days" in refused.value.hint


def test_a_begin_beyond_all_years_is_refused() -> None:
    with pytest.raises(BadClock, match=r"no day on which it begins .line 3"):
        days_in(calendar("DTSTART:00010101T000000Z"), "America/New_York")


def test_a_file_that_cancels_its_events_is_refused() -> None:
    with pytest.raises(BadClock, match="cancels its events"):
        days_in("BEGIN:VCALENDAR\nMETHOD:CANCEL\nEND:VCALENDAR")
