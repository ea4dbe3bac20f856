"""The rhythm in a request: *every evening*, *each Monday at 7:30*, as the clock of a schedule. Pure.

A request runs once, so words with a rhythm start nothing: they are offered as a schedule.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_WEEKDAYS: Final = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_FIELDS: Final = {
    "hour": "@hourly",
    "morning": "0 7 * * *",
    "day": "0 8 * * *",
    "weekday": "0 8 * * 1-5",
    "noon": "0 12 * * *",
    "evening": "0 19 * * *",
    "night": "0 2 * * *",
    "week": "0 8 * * 1",
    "month": "0 8 1 * *",
    **{name: f"0 8 * * {number}" for number, name in enumerate(_WEEKDAYS)},
}
"""The clock of each word, where no time of day is said."""
_COUNTS: Final = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "ten": 10, "twelve": 12, "fifteen": 15} | {
    "twenty": 20,
    "thirty": 30,
}
_STEPS: Final = re.compile(
    rf",?\s*\b(?:every|each)\s+(?:(?P<count>\d{{1,2}}|{'|'.join(_COUNTS)})\s+)?(?P<unit>minute|hour)s?(?=[\s,.;:!?]|$),?",
    re.IGNORECASE,
)
_WORDS: Final = "|".join(sorted(_FIELDS, key=len, reverse=True))
_TIME: Final = r"at\s+(?P<hour{0}>\d{{1,2}})(?::(?P<minute{0}>[0-5]\d))?\s*(?P<half{0}>am|pm)?"
_SAID: Final = re.compile(
    rf",?\s*\b(?:{_TIME.format(1)}\s+)?(?:every|each)\s+(?P<word>{_WORDS})"
    rf"(?:\s+{_TIME.format(2)})?(?=[\s,.;:!?]|$),?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Rhythm:
    """The words without their rhythm, and the five fields of a schedule (docs/schedules.md)."""

    rest: str
    cron: str


def rhythm_in(words: str) -> Rhythm | None:
    """Return the rhythm that words name, or None if they name none or only that."""
    words = " ".join(words.split())  # so that no long run of blanks is searched from each of its signs
    found = _SAID.search(words)
    if found is None:
        return _in_steps(words)
    rest = _without(words, found)
    word = found["word"]
    at = 1 if found["hour1"] else 2
    cron = _at(_FIELDS[word.casefold()], found[f"hour{at}"], found[f"minute{at}"], found[f"half{at}"])
    return Rhythm(rest, cron) if rest and cron else None


def _in_steps(words: str) -> Rhythm | None:
    """Return a rhythm such as *every five minutes*; a clock keeps only steps that divide an hour or a day."""
    found = _STEPS.search(words)
    if found is None:
        return None
    said = (found["count"] or "1").casefold()
    count = int(said) if said.isdigit() else _COUNTS[said]
    minutes = found["unit"].casefold() == "minute"
    rest = _without(words, found)
    if not rest or count < 1 or (60 if minutes else 24) % count:
        return None
    step = f"*/{count}" if count > 1 else "*"
    return Rhythm(rest, f"{step} * * * *" if minutes else f"0 {step} * * *")


def _without(words: str, found: re.Match[str]) -> str:
    return " ".join(f"{words[: found.start()]} {words[found.end() :]}".split()).strip(" ,.;:!?")


def _at(cron: str, hour: str | None, minute: str | None, half: str | None) -> str:
    """Return the clock at a time of day, empty if there is no such time."""
    if hour is None or cron.startswith("@"):
        return cron
    hours = int(hour) % 12 + (12 if (half or "").casefold() == "pm" else 0) if half else int(hour)
    days = cron.split(" ", 2)[2]
    return f"{int(minute or 0)} {hours} {days}" if hours < 24 else ""
