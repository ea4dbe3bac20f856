"""Words that say how often are found, and offered as a schedule; other words with *every* are left alone."""

from __future__ import annotations

import pytest

from starloom.planner.requests.rhythm import Rhythm, rhythm_in


@pytest.mark.parametrize(
    ("words", "rest", "cron"),
    [
        ("every evening copy bills from a to b", "copy bills from a to b", "0 19 * * *"),
        ("copy bills from a to b every evening", "copy bills from a to b", "0 19 * * *"),
        ("Every Monday at 7:30, how are my machines", "how are my machines", "30 7 * * 1"),
        ("how are my machines each day at 6 pm?", "how are my machines", "0 18 * * *"),
        ("how are my machines every day at 12 am", "how are my machines", "0 0 * * *"),
        ("check my machines every hour", "check my machines", "@hourly"),
        ("is a.org up every five minutes", "is a.org up", "*/5 * * * *"),
        ("is a.org up every 15 minutes", "is a.org up", "*/15 * * * *"),
        ("every minute, is a.org up", "is a.org up", "* * * * *"),
        ("is a.org up every two hours", "is a.org up", "0 */2 * * *"),
        ("check my machines at 2 every night", "check my machines", "0 2 * * *"),
        ("check my machines at 7:30 pm each Monday", "check my machines", "30 19 * * 1"),
    ],
)
def test_a_rhythm_is_found_and_the_rest_kept(words: str, rest: str, cron: str) -> None:
    assert rhythm_in(words) == Rhythm(rest, cron)


@pytest.mark.parametrize(
    "words",
    [
        "back up the pictures of phone and check every copy",
        "collect every file from Downloads",
        "find every daylight.png",
        "run the report of each day-care",
        "every evening",
        "how are my machines every day at 25",
        "is a.org up every 7 minutes",
        "is a.org up every 0 minutes",
        "",
    ],
)
def test_other_words_have_none(words: str) -> None:
    assert rhythm_in(words) is None
