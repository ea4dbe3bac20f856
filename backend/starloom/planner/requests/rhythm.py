"""Times in words: a rhythm as the clock of a schedule (*each Monday at 7:30*), a duration, and a moment (*2 days ago*).

A request runs once, so words with a rhythm start nothing: they are offered as a schedule. A clock alone may be said in
words too. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from starloom.core.clock.days_off import split_exception_at_end, split_exception_at_start
from starloom.planner.requests.german import clock_in_english
from starloom_protocol.plan import ParamRefused, coerce
from starloom_protocol.text.wording import quoted

_WEEKDAYS: Final = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_FIELDS: Final = {
    "morning": "0 7 * * *",
    "day": "0 8 * * *",
    "weekday": "0 8 * * 1-5",
    "school day": "0 8 * * 1-5",
    "working day": "0 8 * * 1-5",
    "work day": "0 8 * * 1-5",
    "workday": "0 8 * * 1-5",
    "business day": "0 8 * * 1-5",
    "weekend": "0 8 * * 0,6",
    "noon": "0 12 * * *",
    "afternoon": "0 15 * * *",
    "evening": "0 19 * * *",
    "night": "0 2 * * *",
    "week": "0 8 * * 1",
    "month": "0 8 1 * *",
}
"""The clock of each word, where no time of day is said. School days and holidays of a place are not known."""
_HOURS: Final = {
    "morning": {hour: hour for hour in range(1, 12)},
    "afternoon": {12: 12} | {hour: hour % 12 + 12 for hour in (*range(1, 7), *range(13, 19))},
    "evening": {hour: hour % 12 + 12 for hour in (*range(4, 12), *range(16, 24))},
    "night": {0: 0, 12: 0}
    | {hour: hour for hour in range(1, 6)}
    | {hour: hour % 12 + 12 for hour in (*range(7, 12), *range(18, 24))},
}
"""The hour of the day by the hour that is said with its part: *every evening at 8* is at 20. There are no others."""
_SPANS: Final = {
    "morning": range(12),
    "afternoon": range(12, 20),
    "evening": range(15, 24),
    "night": (*range(18, 24), *range(7)),
}
"""The hours of the day that *am* and *pm* may name with its part: no night is at 3 pm."""
_ADVERBS: Final = {"daily": "day", "nightly": "night", "weekly": "week", "monthly": "month"}
_COUNTS: Final = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "ten": 10, "twelve": 12, "fifteen": 15} | {
    "twenty": 20,
    "thirty": 30,
}
_EVERY: Final = r"(?:every|each)"
_ENDS: Final = r"(?=[\s,.;:!?]|$),?"
_STEP: Final = (
    rf"{_EVERY}\s+(?:(?P<count>\d{{1,2}}|{'|'.join(_COUNTS)})\s+)?(?:(?P<unit>minute)s?|hours?"
    r"(?:\s+at\s+(?:minute\s+|:)(?P<past>[0-5]?\d))?)"
)
_WORDS: Final = "|".join(sorted(_FIELDS, key=len, reverse=True))
_PLURALS: Final = "|".join(word for word in _FIELDS if word.endswith("day") and word != "day") + "|weekend"
_DAY: Final = f"(?:{'|'.join(_WEEKDAYS)})"
_AND: Final = r"(?:,?\s+and\s+|,\s*)"
_NTH: Final = {"first": "#1", "1st": "#1", "second": "#2", "2nd": "#2", "third": "#3", "3rd": "#3"} | {
    "fourth": "#4",
    "4th": "#4",
    "last": "L",
}
_NTH_DAY: Final = rf"(?P<nth{{0}}>{'|'.join(_NTH)})\s+(?P<of_month{{0}}>{'|'.join(_WEEKDAYS)})"
_OF_A_MONTH: Final = r"(?:of|in)\s+(?:a|each|every)\s+month"
_OF_THE_MONTH: Final = r"(?:of|in)\s+(?:a|the|each|every)\s+month"
_MONTH_END: Final = r"(?:at|on|by)\s+the\s+end\s+of\s+{0}\s+month"
_DAY_OF_MONTH: Final = r"(?P<date{0}>first|last|\d{{1,2}}(?:st|nd|rd|th))(?:\s+day)?"
_DATE: Final = rf"the\s+{_DAY_OF_MONTH}"
_TIME: Final = (
    r"at\s+(?:(?P<named{0}>noon|midnight)|(?P<hour{0}>\d{{1,2}})(?:[:.](?P<minute{0}>[0-5]\d))?"
    r"(?:\s*(?P<half{0}>am|pm)|\s+o'clock)?(?:\s+in\s+the\s+(?P<part{0}>morning|afternoon|evening)|\s+at\s+(?P<dark{0}>night))?)"
)
_PART: Final = r"(?:\s+(?P<part>morning|afternoon|evening|night)s?)?"
_IN_REQUEST: Final = (
    rf"(?:{_EVERY}\s+{_NTH_DAY.format(1)}\s+{_OF_THE_MONTH}|on\s+the\s+{_NTH_DAY.format(2)}\s+{_OF_THE_MONTH}"
    rf"|the\s+{_NTH_DAY.format(3)}\s+{_OF_A_MONTH}|(?P<end>{_MONTH_END.format(_EVERY)})"
    rf"|{_EVERY}\s+month\s+on\s+{_DATE.format(1)}|on\s+{_DATE.format(2)}\s+of\s+{_EVERY}\s+month"
    rf"|{_EVERY}\s+{_DAY_OF_MONTH.format(3)}\s+{_OF_THE_MONTH}"
    rf"|{_EVERY}\s+(?P<word>{_WORDS})|{_EVERY}\s+(?P<days1>{_DAY}(?:{_AND}{_DAY})*)"
    rf"|on\s+(?P<plural>{_PLURALS})s|on\s+(?P<days2>{_DAY}s(?:{_AND}{_DAY}s)*))"
)
"""The days in a request, where other words stand around them: a date or a day alone could be a part of the work."""
_ALONE: Final = (
    rf"(?:(?:(?:on\s+)?the\s+|{_EVERY}\s+)?{_NTH_DAY.format(1)}\s+{_OF_THE_MONTH}"
    rf"|(?P<end>{_MONTH_END.format('(?:each|every|the)')})|(?:{_EVERY}\s+month|monthly)\s+on\s+{_DATE.format(1)}|(?:on\s+)?{_DATE.format(2)}\s+of\s+(?:the|each|every)\s+month"
    rf"|{_EVERY}\s+{_DAY_OF_MONTH.format(3)}\s+{_OF_THE_MONTH}"
    rf"|{_EVERY}\s+(?P<word>{_WORDS})|(?:{_EVERY}\s+|on\s+)?(?P<days1>{_DAY}s?(?:{_AND}{_DAY}s?)*)"
    rf"|(?:on\s+)?(?P<plural>{_PLURALS})s|(?P<adverb>{'|'.join(_ADVERBS)}))"
)
"""The days of a clock, where nothing else is said."""
_STEPS_IN_REQUEST: Final = re.compile(rf",?\s*\b{_STEP}{_ENDS}", re.IGNORECASE)
_DAYS_IN_REQUEST: Final = re.compile(
    rf",?\s*\b(?:{_TIME.format(1)}\s+)?{_IN_REQUEST}{_PART}(?:\s+{_TIME.format(2)})?{_ENDS}", re.IGNORECASE
)
_SKIP: Final = (
    rf"{_EVERY}\s+(?:other|second|(?P<skip>third|\d{{1,2}}|{'|'.join(_COUNTS)}))\s+"
    rf"(?P<skipped>day|week|month|{'|'.join(_WEEKDAYS)})s?(?!\s+(?:of|in)\s)"
)
_SKIPS_IN_REQUEST: Final = re.compile(
    rf",?\s*\b(?:{_TIME.format(1)}\s+)?{_SKIP}(?:\s+{_TIME.format(2)})?{_ENDS}", re.IGNORECASE
)
_SKIPS_ALONE: Final = re.compile(rf"(?:{_TIME.format(1)}\s+)?{_SKIP}(?:\s+{_TIME.format(2)})?", re.IGNORECASE)
_STEPS_ALONE: Final = re.compile(rf"(?:hourly|{_STEP})", re.IGNORECASE)
_DAYS_ALONE: Final = re.compile(rf"(?:{_TIME.format(1)}\s+)?{_ALONE}{_PART}(?:\s+{_TIME.format(2)})?", re.IGNORECASE)
_EXCEPT_WEEKDAYS: Final = re.compile(
    rf",?\s*\b(?:except|but\s+not|not|without)\s+(?:(?:on|at|for|the)\s+){{0,2}}"
    rf"(?P<off>weekends?|{_DAY}s?(?:{_AND}{_DAY}s?)*){_ENDS}",
    re.IGNORECASE,
)
"""Days of the week that a rhythm leaves out: *every day at 8 except weekends*. Dates are those of `days_off`."""
_DAY_FIELDS: Final = {"*": range(7), "1-5": range(1, 6)}
_MONTH_DAYS: Final = 31


@dataclass(frozen=True)
class Rhythm:
    """The words without their rhythm, and the five fields of a schedule (docs/schedules.md).

    `nearly` says how the fields differ from the words, where five fields cannot say them: *every other day*.
    `misspelt`: the rest is near a recipe, and does not run as it was typed. `except_days` are the dates that the words
    leave out, as they were typed.
    """

    rest: str
    cron: str
    nearly: str = ""
    misspelt: bool = False
    except_days: str = ""


def rhythm_in(words: str) -> Rhythm | None:
    """Return the rhythm that words name, or None if they name none or only that."""
    # One blank between words, so that no long run of blanks is searched from each of its signs.
    words, off = _without_weekdays(clock_in_english(" ".join(words.split())))
    match = _SKIPS_IN_REQUEST.search(words) or _STEPS_IN_REQUEST.search(words) or _DAYS_IN_REQUEST.search(words)
    if match is None:
        return None
    first, behind = split_exception_at_start(words[match.end() :])
    rest, last = split_exception_at_end(f"{words[: match.start()]} {behind}")
    rest, days = rest.strip(" ,.;:!?"), ", ".join(filter(None, (first, last)))
    if match.re is _SKIPS_IN_REQUEST:
        cron, nearly = _of_skips(match)
    else:
        stepped = match.re is _STEPS_IN_REQUEST
        cron, nearly = _of_steps(match) if stepped else (_of_days(match), "")
        nearly = nearly if stepped else _doubt(match, cron)
    if off and cron:
        left = _on_other_days(cron, off)
        nearly = nearly or ("" if left else f"no clock leaves out {quoted(off)} of these days; this one does not")
        cron = left or cron
    return Rhythm(rest, cron, nearly, except_days=days) if rest and cron else None


def _without_weekdays(words: str) -> tuple[str, str]:
    """Return words without the days of the week that they except, and these days; none where they except none."""
    match = _EXCEPT_WEEKDAYS.search(words)
    return (f"{words[: match.start()]} {words[match.end() :]}".strip(), match["off"]) if match else (words, "")


def _on_other_days(cron: str, off: str) -> str:
    """Return a clock without some days of the week; empty where it goes by days of the month, or none is left."""
    *fields, day = cron.split(" ")
    text = off.casefold()
    without = {number for number, name in enumerate(_WEEKDAYS) if name in text} | (
        {0, 6} if "weekend" in text else set()
    )
    goes = _DAY_FIELDS.get(day) or [int(one) for one in day.split(",") if one.isdigit()]
    left = [number for number in goes if number not in without]
    if not left or fields[2] != "*":
        return ""
    field = "1-5" if left == [1, 2, 3, 4, 5] else ",".join(map(str, left))
    return " ".join((*fields, field))


def nearly_in(words: str) -> Rhythm | None:
    """Return the rhythm nearest to a clock in words that five fields cannot say, such as *every other day*."""
    rhythm = rhythm_in(f"it {words}")
    if rhythm is None and (alone := _DAYS_ALONE.fullmatch(_plain(words))):
        return Rhythm("it", cron, doubt) if (doubt := _doubt(alone, cron := _of_days(alone))) else None
    return rhythm if rhythm is not None and rhythm.nearly and rhythm.rest == "it" else None


def clock_in(words: str) -> str:
    """Return the five fields of a clock that is said in words and nothing else; empty if it is none."""
    words, off = _without_weekdays(_plain(words))
    cron = _clock_in(words)
    return _on_other_days(cron, off) if cron and off else cron


def _plain(words: str) -> str:
    return clock_in_english(" ".join(words.split()).strip(" ,.;:!?"))


def _clock_in(words: str) -> str:
    if steps := _STEPS_ALONE.fullmatch(words):
        cron, nearly = _of_steps(steps)
        return "" if nearly else cron
    if skips := _SKIPS_ALONE.fullmatch(words):
        cron, nearly = _of_skips(skips)
        return "" if nearly else cron
    match = _DAYS_ALONE.fullmatch(words)
    cron = _of_days(match) if match else ""
    return "" if match and _doubt(match, cron) else cron


def _of_steps(match: re.Match[str]) -> tuple[str, str]:
    """Return a clock such as *every five minutes*, and how it differs where the steps divide no hour or no day."""
    count_word = (match["count"] or "1").casefold()
    count = int(count_word) if count_word.isdigit() else _COUNTS[count_word]
    most, one, whole = (60, "minute", "an hour") if match["unit"] else (24, "hour", "a day")
    if not 1 <= count <= most // 2:
        return "", ""
    step = f"*/{count}" if count > 1 else "*"
    cron = f"{step} * * * *" if match["unit"] else f"{int(match['past'] or 0)} {step} * * *"
    if most % count == 0:
        return cron, ""
    goes = f"goes off at {one} 0, {count}, {2 * count} and so on, and begins again with each {whole.split()[1]}"
    return cron, f"{count} does not divide {whole}; this one {goes}"


def _of_skips(match: re.Match[str]) -> tuple[str, str]:
    """Return a clock such as *every two months*, and how it differs from what was said; empty without such a clock."""
    parts = _parts(match)
    skip = parts.get("skip", "2")
    count, unit = int(skip) if skip.isdigit() else {"third": 3, **_COUNTS}[skip], parts["skipped"]
    clocks = {"day": f"0 8 */{count} * *", "week": _FIELDS["week"], "month": f"0 8 1 */{count} *"}
    clocks |= {day: f"0 8 * * {number}" for number, day in enumerate(_WEEKDAYS)}
    if not 1 < count <= {"day": 15, "month": 12}.get(unit, 52):
        return "", ""
    cron = _at(clocks[unit], parts, 1 if parts.get("hour1") or parts.get("named1") else 2)
    if unit == "month" and 12 % count == 0:
        return cron, ""
    goes = {
        "day": f"goes off on day 1, {1 + count}, {1 + 2 * count} and so on, and begins again with each month",
        "month": f"goes off in month 1, {1 + count} and so on, and begins again with each year",
    }
    often = goes.get(unit, f"goes off every {unit.capitalize() if unit in _WEEKDAYS else unit}")
    return cron, f"no clock says {quoted(match[0].strip(' ,'))}; this one {often}"


def _of_days(match: re.Match[str]) -> str:
    """Return the clock of days and of a time of day, empty if there are no such days or no such time."""
    parts = _parts(match)
    if at := next((at for at in (1, 2, 3) if parts.get(f"of_month{at}")), 0):
        weekday, nth = parts[f"of_month{at}"], _NTH[parts[f"nth{at}"]]
        cron = f"0 8 * * {_WEEKDAYS.index(weekday)}{nth}"
    elif parts.get("end"):
        cron = "0 8 L * *"
    elif date := parts.get("date1") or parts.get("date2") or parts.get("date3"):
        day = {"first": "1", "last": "L"}.get(date) or str(int(date[:-2]))
        cron = f"0 8 {day} * *" if day == "L" or 1 <= int(day) <= _MONTH_DAYS else ""
    elif days := parts.get("days1") or parts.get("days2"):
        numbers = sorted({number for number, name in enumerate(_WEEKDAYS) if name in days})
        cron = f"0 8 * * {','.join(map(str, numbers))}"
    else:
        word = parts.get("word") or parts.get("plural") or _ADVERBS[parts["adverb"]]
        cron = _FIELDS[word]
    if part := parts.get("part"):
        cron = f"{_FIELDS[part].rsplit(' ', 3)[0]} {cron.split(' ', 2)[2]}" if cron else ""
    at = 1 if parts.get("hour1") or parts.get("named1") else 2
    return _at(cron, parts, at) if cron else ""


def _doubt(match: re.Match[str], cron: str) -> str:
    """Return why a clock may not be the one that is meant: a half of the day against its part, or a night of two days.

    Empty where there is no doubt.
    """
    parts = _parts(match)
    at = 1 if parts.get("hour1") else 2
    part, words = _part_of(parts, at), quoted(match[0].strip(" ,"))
    if not cron or part not in _SPANS:
        return ""
    minute, hour, *days = cron.split(" ")
    if parts.get(f"half{at}") and int(hour) not in _SPANS[part]:
        return f"{words} names a time that is not in the {part}; this one goes off at {int(hour)}:{int(minute):02}"
    if parts.get("part") == "night" and days != ["*"] * 3 and int(hour) in range(7):
        return (
            f"{words} may mean the day that is named or the one after it; name the day alone. This one is on that day"
        )
    return ""


def _parts(match: re.Match[str]) -> dict[str, str]:
    return {name: text.casefold() for name, text in match.groupdict().items() if text}


def _part_of(parts: dict[str, str], at: int) -> str:
    """Return the part of the day that is said with a time, or is the day that is said; empty for none."""
    part = parts.get("part") or parts.get(f"part{at}") or parts.get(f"dark{at}") or parts.get("word")
    return part or _ADVERBS.get(parts.get("adverb", ""), "")


def _at(cron: str, parts: dict[str, str], at: int) -> str:
    """Return a clock with the time of day that is said first or last, empty if there is no such time."""
    days = cron.split(" ", 2)[2]
    if time_name := parts.get(f"named{at}"):
        return f"0 {12 if time_name == 'noon' else 0} {days}"
    if f"hour{at}" not in parts:
        return cron
    hour, half = int(parts[f"hour{at}"]), parts.get(f"half{at}")
    if half and not 1 <= hour <= 12:
        return ""
    part = _part_of(parts, at)
    hours: int | None = hour if hour < 24 else None
    if half:
        hours = hour % 12 + (12 if half == "pm" else 0)
    elif part in _HOURS:
        hours = _HOURS[part].get(hour)
    return "" if hours is None else f"{int(parts.get(f'minute{at}', 0))} {hours} {days}"


_NUMBERS: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)
NUMBER_WORDS: Final = {word: number for number, word in enumerate(_NUMBERS)}
_DURATION: Final = re.compile(
    r"(?:the last |last |past )?([0-9]{1,9}|[a-z]+)?\s*(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?|w|weeks?)"
)
_UNIT_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_UNITS: Final = frozenset({"hour", "minute", "day", "week"})
_CLOCK_12: Final = re.compile(r"(?P<hour>1[0-2]|0?[1-9])(?::(?P<minute>[0-5][0-9]))? ?(?P<half>am|pm)")
_YEAR: Final = re.compile(r"(?:19|20)[0-9]{2}")
_DAY_DIGITS: Final = re.compile(r"((?:19|20)[0-9]{2})([0-9]{2})([0-9]{2})")
_HOUR: Final = re.compile(r"[01]?[0-9]|2[0-3]")


def seconds_in(text: str) -> int | None:
    """Return the seconds of a duration in words: *15m*, *the last two hours*; None for anything else."""
    match = _DURATION.fullmatch(text.casefold())
    count = (match[1] or "1") if match else ""
    number = int(count) if count.isdigit() else {"a": 1, "an": 1, **NUMBER_WORDS}.get(count)
    return None if match is None or number is None else number * _UNIT_S[match[2][0]]


def moment_in(text: str) -> tuple[str, str]:
    """Return a moment in words as the parameter of a recipe keeps it, and the fault of words that are none.

    A number alone is no moment, but for a year and a day written as eight digits: a device would take it as seconds.
    """
    words = text.casefold().split()
    while len(words) > 1 and words[0] in ("the", "last", "past"):
        words = words[1:]
    if len(words) > 1 and words[-1] == "ago":
        words = words[:-1]
    if len(words) == 2 and (words[0] in NUMBER_WORDS or words[0] in ("a", "an")):
        words[0] = str(NUMBER_WORDS.get(words[0], 1))
    elif len(words) == 1 and words[0] in _UNITS:
        words = ["1", words[0]]
    elif (clock := _CLOCK_12.fullmatch(" ".join(words))) is not None:
        words = [f"{int(clock['hour']) % 12 + 12 * (clock['half'] == 'pm'):02}:{clock['minute'] or '00'}"]
    moment = " ".join(words)
    if _YEAR.fullmatch(moment):
        moment = f"{moment}-01-01"
    elif (day := _DAY_DIGITS.fullmatch(moment)) is not None:
        moment = "-".join(day.groups())
    elif moment.isdigit():
        return "", f"is a number alone: say {moment}:00 or {moment}h" if _HOUR.fullmatch(
            moment
        ) else "is a number alone"
    try:
        return coerce("since", moment), ""
    except ParamRefused:
        return "", "is not a moment such as 22:00, yesterday, 2h or 2026-01-31"
