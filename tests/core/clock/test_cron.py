"""The moments of a schedule's clock: over both changes of the hour in two zones, missed ones, and invalid clocks."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from starloom.core.clock.cron import BadClock, following, in_words, passed, words_for, zone_of

VIENNA, NEW_YORK = "Europe/Vienna", "America/New_York"


def at(text: str, zone: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def shown(moments: list[int], zone: str) -> list[str]:
    return [datetime.fromtimestamp(item / 1000, ZoneInfo(zone)).isoformat() for item in moments]


@pytest.mark.parametrize(
    ("zone", "day_before", "strikes"),
    [
        # Spring: half past two does not exist, it strikes right after the gap.
        (VIENNA, "2026-03-28T12:00", ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]),
        (NEW_YORK, "2026-03-07T12:00", ["2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"]),
    ],
)
def test_a_time_that_a_change_leaves_out_strikes_once_right_after_it(
    zone: str, day_before: str, strikes: list[str]
) -> None:
    assert shown(following("30 2 * * *", zone, at(day_before, zone), 2), zone) == strikes


@pytest.mark.parametrize(
    ("zone", "cron", "day_before", "strikes"),
    [
        # Autumn: the hour from two (Vienna) and from one (New York) comes twice; a fixed time strikes the first time.
        (VIENNA, "30 2 * * *", "2026-10-24T12:00", ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]),
        (NEW_YORK, "30 1 * * *", "2026-10-31T12:00", ["2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"]),
    ],
)
def test_a_time_that_comes_twice_strikes_once(zone: str, cron: str, day_before: str, strikes: list[str]) -> None:
    assert shown(following(cron, zone, at(day_before, zone), 2), zone) == strikes


@pytest.mark.parametrize(
    ("zone", "midnight"),
    [(VIENNA, "2026-03-29"), (VIENNA, "2026-10-25"), (NEW_YORK, "2026-03-08"), (NEW_YORK, "2026-11-01")],
)
def test_hourly_work_goes_by_elapsed_time_over_a_change(zone: str, midnight: str) -> None:
    moments = following("0 * * * *", zone, at(f"{midnight}T00:00", zone), 6)
    assert {after - before for before, after in pairwise(moments)} == {3_600_000}


@pytest.mark.parametrize(
    ("cron", "said"), [("every 7 minutes", "7 does not divide an hour"), ("every 5 hours", "5 does not divide a day")]
)
def test_steps_that_are_not_even_are_refused_with_the_reason(cron: str, said: str) -> None:
    with pytest.raises(BadClock, match=said):
        following(cron, VIENNA, 0)


def test_a_moment_follows_itself_never_and_its_millisecond_before_always() -> None:
    (moment,) = following("0 9 * * MON-FRI", VIENNA, at("2026-11-21T08:00", VIENNA))
    assert shown([moment], VIENNA) == ["2026-11-23T09:00:00+01:00"]
    assert following("0 9 * * MON-FRI", VIENNA, moment - 1) == [moment]
    assert following("0 9 * * MON-FRI", VIENNA, moment) == [moment + 86_400_000]


@pytest.mark.parametrize("cron", ["30 2 * * *", "0 * * * *", "*/20 1-3 * * *"])
@pytest.mark.parametrize("zone", [VIENNA, NEW_YORK, "UTC"])
@pytest.mark.parametrize("start", ["2026-03-01T00:00", "2026-10-20T00:00"])
def test_what_is_passed_is_what_followed(cron: str, zone: str, start: str) -> None:
    first = at(start, zone)
    ahead = following(cron, zone, first - 1, 60)
    assert passed(cron, zone, ahead[0], ahead[-1], 100) == ahead
    assert passed(cron, zone, ahead[0], ahead[-1] + 59_999, 5) == ahead[-5:]
    assert passed(cron, zone, ahead[0], ahead[0] - 1, 5) == []


def test_names_of_clocks_and_their_words() -> None:
    now = int(datetime(2026, 5, 5, tzinfo=UTC).timestamp() * 1000)
    assert following("@daily", "UTC", now) == following("0 0 * * *", "UTC", now)
    assert in_words("30 2 * * *") == "At 02:30 every day"


@pytest.mark.parametrize(
    ("cron", "zone", "place", "says"),
    [
        ("every day", "UTC", "cron", "2 fields"),
        ("* * * * * *", "UTC", "cron", "6 fields"),
        ("61 * * * *", "UTC", "cron", "minute"),
        ("0 0 30 2 *", "UTC", "cron", "day-of-month"),
        ("", "UTC", "cron", "0 fields"),
        ("1," * 100 + "1 * * * *", "UTC", "cron", "128"),
        ("0 9 * * *", "Europe/Wien", "zone", "Europe/Wien"),
        ("0 9 * * *", "../etc/passwd", "zone", "no time zone"),
        ("0 9 * * *", "", "zone", "no time zone"),
    ],
)
def test_what_cannot_be_meant_says_where_and_why(cron: str, zone: str, place: str, says: str) -> None:
    with pytest.raises(BadClock) as bad:
        following(cron, zone, 0)
    assert bad.value.place == place
    assert says in bad.value.reason


def test_a_zone_that_is_nearly_right_is_suggested() -> None:
    with pytest.raises(BadClock) as bad:
        following("0 9 * * *", "Europe/Wienna", 0)
    assert bad.value.hint == "Did you mean Europe/Vienna?"


def test_a_clock_that_strikes_no_more_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("starloom.core.clock.cron.moments_after", lambda *_args: iter(()))
    with pytest.raises(BadClock, match="has no further time"):
        following("0 0 29 2 *", "UTC", 0)


def test_the_calendar_ends_with_the_year_9999() -> None:
    end = at("9999-12-31T23:57:00", "UTC")
    assert following("* * * * *", "UTC", end, 5) == [end + 60_000, end + 120_000]
    for zone, after_ms in (("UTC", end + 120_000), ("Pacific/Kiritimati", end), ("UTC", 10**18)):
        with pytest.raises(BadClock):
            following("* * * * *", zone, after_ms)


def test_what_was_passed_without_end_is_the_newest() -> None:
    end = at("2026-06-01T12:00", "UTC")
    assert passed("* * * * *", "UTC", 0, end, 3) == [end - 120_000, end - 60_000, end]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("CEST", "Use a name such as Europe/Vienna"),
        ("Vienna", "Did you mean Europe/Vienna?"),
        ("new york", "Did you mean America/New_York?"),
        ("Europe/Viena", "Did you mean Europe/Vienna?"),
    ],
)
def test_an_unknown_zone_suggests_a_place_and_no_abbreviation(name: str, hint: str) -> None:
    with pytest.raises(BadClock) as refused:
        zone_of(name)
    assert refused.value.hint.startswith(hint)


def test_a_time_that_comes_once_is_answered_with_the_way_to_it() -> None:
    with pytest.raises(BadClock) as bad:
        following("tonight at 2", "Europe/Vienna", 0, 1)
    assert "not_before" in bad.value.hint
    with pytest.raises(BadClock) as bad:
        following("sometimes at 2", "Europe/Vienna", 0, 1)
    assert bad.value.hint == ""


def test_a_time_that_a_day_leaves_out_is_said() -> None:
    berlin, before = "Europe/Berlin", at("2027-03-26T12:00", "UTC")
    ahead = following("30 2 * * *", berlin, before, 5)
    said = words_for("30 2 * * *", berlin, ahead)
    assert said == "At 02:30 every day; 02:30 does not exist on 28 March 2027, so it fires at 03:00 then"
    for cron, zone in (("30 2 * * *", "UTC"), ("30 5 * * *", berlin), ("*/30 2 * * *", berlin)):
        assert "does not exist" not in words_for(cron, zone, following(cron, zone, before, 5))


@pytest.mark.parametrize(("cron", "wrong"), [("at 25:00", "25:00"), ("every day at 9:75", "9:75")])
def test_a_time_that_no_day_has_is_named(cron: str, wrong: str) -> None:
    with pytest.raises(BadClock, match=f"has {wrong}, and the last time of a day is 23:59"):
        following(cron, "UTC", 0)


@pytest.mark.parametrize("cron", ["15 */2 * * *", "*/20 1-3 * * *", "45 * * * *", "30 1 * * *"])
@pytest.mark.parametrize("day", ["2026-04-04", "2026-10-03"])
def test_a_clock_that_moves_by_half_an_hour_leaves_no_moment_out(cron: str, day: str) -> None:
    """Lord Howe Island; the moments ahead are those that have passed afterwards, and each leads to the next."""
    zone = "Australia/Lord_Howe"
    start = at(f"{day}T12:00", zone)
    ahead = [moment for moment in following(cron, zone, start - 1, 200) if moment <= start + 2 * 86_400_000]
    assert ahead == passed(cron, zone, start, start + 2 * 86_400_000, 200)
    assert [following(cron, zone, before)[0] for before in ahead[:-1]] == ahead[1:]
    if (cron, day) == ("15 */2 * * *", "2026-04-04"):
        assert at("2026-04-05T02:15", zone) in ahead
