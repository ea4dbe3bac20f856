"""Words that say how often are found, and offered as a schedule; other words with *every* are left alone."""

from __future__ import annotations

import pytest

from starloom.core.clock.cron import following
from starloom.planner.requests.rhythm import Rhythm, clock_in, moment_in, nearly_in, rhythm_in, seconds_in


@pytest.mark.parametrize(
    ("words", "rest", "cron"),
    [
        ("every evening copy bills from a to b", "copy bills from a to b", "0 19 * * *"),
        ("copy bills from a to b every evening", "copy bills from a to b", "0 19 * * *"),
        ("Every Monday at 7:30, how are my machines", "how are my machines", "30 7 * * 1"),
        ("how are my machines each day at 6 pm?", "how are my machines", "0 18 * * *"),
        ("how are my machines every day at 12 am", "how are my machines", "0 0 * * *"),
        ("check my machines every hour", "check my machines", "0 * * * *"),
        ("is a.org up every five minutes", "is a.org up", "*/5 * * * *"),
        ("is a.org up every 15 minutes", "is a.org up", "*/15 * * * *"),
        ("every minute, is a.org up", "is a.org up", "* * * * *"),
        ("is a.org up every two hours", "is a.org up", "0 */2 * * *"),
        ("check my machines at 2 every night", "check my machines", "0 2 * * *"),
        ("copy bills from a to b every evening at 8", "copy bills from a to b", "0 20 * * *"),
        ("every night at 10 check my machines", "check my machines", "0 22 * * *"),
        ("every night at 12:30 check my machines", "check my machines", "30 0 * * *"),
        ("jeden Abend um 8 check my machines", "check my machines", "0 20 * * *"),
        ("jeden Tag um 8 Uhr abends check my machines", "check my machines", "0 20 * * *"),
        ("check my machines every afternoon at 3", "check my machines", "0 15 * * *"),
        ("check my machines every day at 8 in the evening", "check my machines", "0 20 * * *"),
        ("check my machines every day at 11 at night", "check my machines", "0 23 * * *"),
        ("check my machines every evening at 20:15", "check my machines", "15 20 * * *"),
        ("check my machines every Monday evening at 7:30", "check my machines", "30 19 * * 1"),
        ("check my machines every Friday morning", "check my machines", "0 7 * * 5"),
        ("check my machines every morning at 6 am", "check my machines", "0 6 * * *"),
        ("check my machines at 7:30 pm each Monday", "check my machines", "30 19 * * 1"),
        ("every hour at minute 5 check my machines", "check my machines", "5 * * * *"),
        ("every Monday and Friday at 7 check my machines", "check my machines", "0 7 * * 1,5"),
        ("check my machines on weekdays at 7.30", "check my machines", "30 7 * * 1-5"),
        ("check my machines on Mondays at noon", "check my machines", "0 12 * * 1"),
        ("every weekend, check my machines", "check my machines", "0 8 * * 0,6"),
        ("on the first of every month at 9 check my machines", "check my machines", "0 9 1 * *"),
        ("check my machines each month on the 15th at 9 pm", "check my machines", "0 21 15 * *"),
        ("every first of the month at 9 check my machines", "check my machines", "0 9 1 * *"),
        ("check my machines every 15th of the month", "check my machines", "0 8 15 * *"),
        ("check my machines every last day of the month", "check my machines", "0 8 L * *"),
        ("every school day at 6:30 how are my machines", "how are my machines", "30 6 * * 1-5"),
        ("how are my machines every working day", "how are my machines", "0 8 * * 1-5"),
        ("how are my machines on working days at 7 o'clock", "how are my machines", "0 7 * * 1-5"),
        ("check my machines at the end of each month", "check my machines", "0 8 L * *"),
        ("at the end of every month at 23:00, check my machines", "check my machines", "0 23 L * *"),
        ("the first Monday of a month check my machines", "check my machines", "0 8 * * 1#1"),
        ("check my machines on the last Friday of the month at 5 pm", "check my machines", "0 17 * * 5L"),
        ("every second Tuesday of the month check my machines", "check my machines", "0 8 * * 2#2"),
        ("every other month check my machines", "check my machines", "0 8 1 */2 *"),
        ("check my machines every three months at 6", "check my machines", "0 6 1 */3 *"),
    ],
)
def test_a_rhythm_is_found_and_the_rest_kept(words: str, rest: str, cron: str) -> None:
    assert rhythm_in(words) == Rhythm(rest, cron)


@pytest.mark.parametrize(
    ("words", "cron", "days"),
    [
        ("every day at 8 except weekends check my machines", "0 8 * * 1-5", ""),
        ("check my machines every day, but not on Sundays", "0 8 * * 1,2,3,4,5,6", ""),
        ("check my machines every hour, not at weekends", "0 * * * 1-5", ""),
        ("every weekday except Monday and Friday check my machines", "0 8 * * 2,3,4", ""),
        ("every Monday and Friday except Fridays check my machines", "0 8 * * 1", ""),
        ("every friday at 17 check my machines except on 25 December", "0 17 * * 5", "25 December"),
        ("every friday at 17 except on 25 December check my machines", "0 17 * * 5", "25 December"),
        ("every day except public holidays check my machines", "0 8 * * *", "public holidays"),
        ("every day except Sunday check my machines, not on 1 May", "0 8 * * 1,2,3,4,5,6", "1 May"),
    ],
)
def test_days_that_a_rhythm_excepts_are_no_part_of_the_request(words: str, cron: str, days: str) -> None:
    assert rhythm_in(words) == Rhythm("check my machines", cron, except_days=days)


@pytest.mark.parametrize(
    "words",
    ["on the first of every month except Sundays check my machines", "check my machines every Sunday except Sundays"],
)
def test_days_that_no_clock_leaves_out_are_said(words: str) -> None:
    found = rhythm_in(words)
    assert found is not None
    assert "no clock leaves out 'Sundays'" in found.nearly


@pytest.mark.parametrize(
    ("words", "cron", "differs"),
    [
        ("every other day check my machines", "0 8 */2 * *", "'every other day'; this one goes off on day 1, 3, 5"),
        ("check my machines every 3 days at 5", "0 5 */3 * *", "goes off on day 1, 4, 7 and so on"),
        ("every other week, check my machines", "0 8 * * 1", "'every other week'; this one goes off every week"),
        ("every second Monday check my machines", "0 8 * * 1", "'every second Monday'; this one goes off every Monday"),
        ("check my machines every five months", "0 8 1 */5 *", "begins again with each year"),
        (
            "check my machines every 7 minutes",
            "*/7 * * * *",
            "7 does not divide an hour; this one goes off at minute 0, 7",
        ),
        ("alle fünf Stunden check my machines", "0 */5 * * *", "5 does not divide a day"),
    ],
)
def test_a_rhythm_that_no_clock_has_says_how_the_nearest_differs(words: str, cron: str, differs: str) -> None:
    found = rhythm_in(words)
    assert found is not None
    assert (found.rest, found.cron) == ("check my machines", cron)
    assert differs in found.nearly
    assert clock_in(words.replace("check my machines", "")) == ""


@pytest.mark.parametrize(
    ("words", "cron"),
    [
        ("every Sunday night at 2", "0 2 * * 0"),
        ("at 1 am every Friday and Saturday night", "0 1 * * 5,6"),
        ("on Sunday nights", "0 2 * * 0"),
        ("every weekday night at 12", "0 0 * * 1-5"),
    ],
)
def test_a_night_after_midnight_of_a_named_day_is_asked_about(words: str, cron: str) -> None:
    found = nearly_in(words)
    assert found is not None
    assert (found.cron, clock_in(words)) == (cron, "")
    assert "may mean the day that is named or the one after it" in found.nearly
    for sure in (
        "every night at 1 am",
        "every evening at 4 pm",
        "every Sunday night at 11",
        "every night at 2",
        "every Sunday at 2 at night",
    ):
        assert clock_in(sure), sure


@pytest.mark.parametrize(
    ("words", "cron", "at"),
    [
        ("every night at 3 pm", "0 15 * * *", "not in the night; this one goes off at 15:00"),
        ("every morning at 8:05 pm", "5 20 * * *", "not in the morning; this one goes off at 20:05"),
        ("every day at 7 am in the evening", "0 7 * * *", "not in the evening; this one goes off at 7:00"),
        ("nightly at 12 pm", "0 12 * * *", "not in the night; this one goes off at 12:00"),
    ],
)
def test_a_half_of_the_day_against_its_part_is_asked_about(words: str, cron: str, at: str) -> None:
    found = nearly_in(words)
    assert found is not None
    assert (found.cron, clock_in(words)) == (cron, "")
    assert at in found.nearly


@pytest.mark.parametrize("words", ["every other day at 6", "every two weeks"])
def test_words_that_no_clock_has_are_known_with_the_nearest(words: str) -> None:
    found = nearly_in(words)
    assert found is not None
    assert f"no clock says '{words}'" in found.nearly
    following(found.cron, "UTC", 0)


@pytest.mark.parametrize("words", ["every day", "every other month", "every other day check my machines", "MON"])
def test_a_clock_that_is_one_is_not_nearly_one(words: str) -> None:
    assert nearly_in(words) is None


@pytest.mark.parametrize(
    "words",
    [
        "back up the pictures of phone and check every copy",
        "collect every file from Downloads",
        "find every daylight.png",
        "run the report of each day-care",
        "every evening",
        "how are my machines every day at 25",
        "is a.org up every 70 minutes",
        "is a.org up every 0 minutes",
        "check my machines on the 32nd of every month",
        "find the report of Mondays on laptop",
        "find daily on laptop",
        "every 20 days check my machines",
        "check my machines every night at 6",
        "check my machines every evening at 3",
        "check my machines every morning at 14:00",
        "find the report of the first Monday on laptop",
        "",
    ],
)
def test_other_words_have_none(words: str) -> None:
    assert rhythm_in(words) is None


@pytest.mark.parametrize(
    ("words", "cron"),
    [
        ("every weekday at 7", "0 7 * * 1-5"),
        ("Weekdays at 7 am", "0 7 * * 1-5"),
        ("every 2 hours", "0 */2 * * *"),
        ("every two hours at minute 30", "30 */2 * * *"),
        ("every minute", "* * * * *"),
        ("hourly", "0 * * * *"),
        ("every hour", "0 * * * *"),
        ("on the first of the month at 9", "0 9 1 * *"),
        ("the 15th of each month", "0 8 15 * *"),
        ("monthly on the last day at 23:30", "30 23 L * *"),
        ("daily at midnight", "0 0 * * *"),
        ("nightly", "0 2 * * *"),
        ("nightly at 10", "0 22 * * *"),
        ("Saturday afternoons at 4", "0 16 * * 6"),
        ("at 7:30 every day", "30 7 * * *"),
        ("Monday, Wednesday and Friday at 18:00", "0 18 * * 1,3,5"),
        ("weekends", "0 8 * * 0,6"),
        ("every school day at 6:30", "30 6 * * 1-5"),
        ("working days at 7", "0 7 * * 1-5"),
        ("at the end of the month", "0 8 L * *"),
        ("first Monday of the month at 9", "0 9 * * 1#1"),
        ("the last Friday of each month", "0 8 * * 5L"),
        ("every other month", "0 8 1 */2 *"),
        ("  Every   Sunday at 12 pm. ", "0 12 * * 0"),
    ],
)
def test_a_clock_alone_may_be_said_in_words(words: str, cron: str) -> None:
    assert clock_in(words) == cron
    following(cron, "UTC", 0)  # raises for a clock that a schedule does not take


@pytest.mark.parametrize(
    "words",
    [
        "",
        "0 7 * * 1-5",
        "@daily",
        "at 7",
        "every 7 minutes",
        "every weekday at 25",
        "every weekday at 13 pm",
        "every Monday and Someday",
        "the 0th of the month",
        "every weekday at 7 how are my machines",
    ],
)
def test_other_text_is_no_clock_in_words(words: str) -> None:
    assert clock_in(words) == ""


@pytest.mark.parametrize(
    ("words", "rest", "cron"),
    [
        ("jeden Schultag um 6:30 sichere Noten von laptop", "sichere Noten von laptop", "30 6 * * 1-5"),
        ("sichere Noten von laptop jeden Abend", "sichere Noten von laptop", "0 19 * * *"),
        ("sichere Noten um 7 Uhr jeden Werktag", "sichere Noten", "0 7 * * 1-5"),
        ("am Ende jedes Monats sichere Noten", "sichere Noten", "0 8 L * *"),
        ("jeden ersten Montag im Monat um 9 Uhr sichere Noten", "sichere Noten", "0 9 * * 1#1"),
        ("alle zwei Stunden sichere Noten", "sichere Noten", "0 */2 * * *"),
        ("jeden Ersten des Monats um 9 sichere Noten", "sichere Noten", "0 9 1 * *"),
        ("sichere Noten am 15. jedes Monats um 7 Uhr", "sichere Noten", "0 7 15 * *"),
        ("am letzten Tag des Monats sichere Noten", "sichere Noten", "0 8 L * *"),
        ("freitags um 18 Uhr sichere Noten", "sichere Noten", "0 18 * * 5"),
        ("täglich um 20.15 Uhr sichere Noten", "sichere Noten", "15 20 * * *"),
        ("an Schultagen sichere Noten", "sichere Noten", "0 8 * * 1-5"),
        ("alle 15 Minuten sichere Noten", "sichere Noten", "*/15 * * * *"),
        ("jeden Tag außer Sonntag um 6 Uhr sichere Noten", "sichere Noten", "0 6 * * 1,2,3,4,5,6"),
        ("sichere Noten täglich, aber nicht am Wochenende, um sechs", "sichere Noten", "0 6 * * 1-5"),
        ("werktags morgens um halb acht sichere Noten", "sichere Noten", "30 7 * * 1-5"),
        ("sichere Noten jeden Abend um viertel vor neun", "sichere Noten", "45 20 * * *"),
        ("jeden Montag um 18 Uhr 30 sichere Noten", "sichere Noten", "30 18 * * 1"),
    ],
)
def test_a_rhythm_may_be_said_in_german(words: str, rest: str, cron: str) -> None:
    assert rhythm_in(words) == Rhythm(rest, cron)


def test_every_other_day_in_german_is_nearly_a_clock() -> None:
    found = rhythm_in("jeden zweiten Tag sichere Noten")
    assert found is not None
    assert found.nearly


@pytest.mark.parametrize(
    "words", ["sichere alle Dateien um zu sparen", "um 7 Uhr sichere Noten", "jeder Ordner von nas"]
)
def test_other_german_words_have_none(words: str) -> None:
    assert rhythm_in(words) is None


@pytest.mark.parametrize(
    ("words", "cron"),
    [
        ("jeden Schultag um 6:30", "30 6 * * 1-5"),
        ("montags", "0 8 * * 1"),
        ("jeden Tag außer Samstag und Sonntag um 20 Uhr", "0 20 * * 1-5"),
        ("werktags morgens um halb acht", "30 7 * * 1-5"),
        ("jeden ersten des Monats um 9", "0 9 1 * *"),
    ],
)
def test_a_clock_alone_may_be_said_in_german(words: str, cron: str) -> None:
    assert clock_in(words) == cron


@pytest.mark.parametrize(
    ("words", "moment"),
    [
        ("2026", "2026-01-01"),
        ("20261101", "2026-11-01"),
        ("2 days ago", "2 days"),
        ("the last hour", "1 hour"),
        ("3pm", "15:00"),
        ("yesterday", "yesterday"),
    ],
)
def test_a_moment_is_kept_as_every_device_reads_it(words: str, moment: str) -> None:
    assert moment_in(words) == (moment, "")


@pytest.mark.parametrize(
    ("words", "fault"),
    [("11", "is a number alone: say 11:00 or 11h"), ("1100", "is a number alone"), ("3600", "is a number alone")],
)
def test_a_number_alone_is_no_moment(words: str, fault: str) -> None:
    assert moment_in(words) == ("", fault)


@pytest.mark.parametrize("words", ["2026-W45", "20261301", "breakfast", "24:00"])
def test_words_that_no_device_reads_are_no_moment(words: str) -> None:
    assert moment_in(words)[0] == ""


@pytest.mark.parametrize(("words", "seconds"), [("15m", 900), ("the last two hours", 7200), ("soon", None)])
def test_a_duration_is_a_number_of_seconds(words: str, seconds: int | None) -> None:
    assert seconds_in(words) == seconds
