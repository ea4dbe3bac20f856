"""Courtesy in words: why a device takes no new work or is taken last, by its condition as it reports it.

Owns the sentences of every cause. Repeats no text of a device but a time of day that looks like one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from starloom_protocol.vocabulary import Courtesy, CourtesyCause, DeviceFact

LOW_PERCENT: Final = 20
_CAUSES: Final = {
    CourtesyCause.BATTERY: "it runs on its battery",
    CourtesyCause.IN_USE: "somebody sits at it",
    CourtesyCause.QUIET_HOURS: "its quiet hours have begun",
}
_OWN_CAUSE: Final = "its owner wants it so"
_TIME_OF_DAY: Final = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d", re.ASCII)


def no_work_words(condition: Mapping[str, str]) -> str:
    """Return why a device takes no new work by the rule of its owner; empty if it does."""
    return _cause(condition) if condition.get(DeviceFact.COURTESY) == Courtesy.NO else ""


def taken_last_words(condition: Mapping[str, str]) -> str:
    """Return why a device is taken last; empty if it is not."""
    ruled = condition.get(DeviceFact.COURTESY)
    if ruled in (Courtesy.YES, Courtesy.LESS, Courtesy.NO):
        return _cause(condition) if ruled == Courtesy.LESS else ""
    if condition.get(DeviceFact.OWNER_PRESENT) == "true":
        return "its owner is at it"
    battery = condition.get(DeviceFact.BATTERY, "").rstrip("% ")
    low = battery.isdecimal() and int(battery) < LOW_PERCENT and condition.get(DeviceFact.CHARGING) != "true"
    return f"its battery has {battery} % left" if low else ""


def courtesy_sentence(condition: Mapping[str, str]) -> str:
    """Return how a device takes new work now, without a subject and a full stop; empty if it takes any."""
    if no_work := no_work_words(condition):
        return f"takes no new work, because {no_work}"
    last = taken_last_words(condition)
    return f"takes new work only where no other device is free, because {last}" if last else ""


def _cause(condition: Mapping[str, str]) -> str:
    # A device may state a cause that this release does not know.
    why = condition.get(DeviceFact.COURTESY_WHY, "")
    until = condition.get(DeviceFact.COURTESY_UNTIL, "")
    if why == CourtesyCause.QUIET_HOURS and _TIME_OF_DAY.fullmatch(until):
        return f"its quiet hours last until {until} by its clock"
    return next((words for cause, words in _CAUSES.items() if cause == why), _OWN_CAUSE)
