"""Alarms of a schedule: the end of a firing raises one, ends it, or could not see whether the trouble lasts.

Only a look that found it well ends an alarm, and each device that looked when it was raised must have looked since. A
device that was removed, or that the schedule no longer asks, keeps no alarm going. Decides no notice; `schedules` does.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from starloom.core.placement.device_groups.left_out import nobody_asked, seen_and_unseen
from starloom.core.placement.device_groups.off_devices import since_words
from starloom.core.state.model import Constellation, Fleet
from starloom_protocol.records.entities import Answer
from starloom_protocol.records.schedules import Firing
from starloom_protocol.text.wording import few
from starloom_protocol.vocabulary import ConstellationState

_NAMED_MOST = 4


class AlarmState(NamedTuple):
    """The fields of a firing that tell of its alarm."""

    alarm: bool
    """There is trouble, or it is not known whether the trouble of an earlier firing is over."""
    blind: bool
    """This firing could not tell."""
    looked: list[str]
    """The looks, as GROUP/DEVICE, that must find it well before the alarm ends."""
    seen_ms: int
    """The end of the last firing that could tell."""


NO_ALARM: Final = AlarmState(alarm=False, blind=False, looked=[], seen_ms=0)


def is_watch(constellation: Constellation) -> bool:
    """Whether the plan of a firing has a sentence that tells of trouble."""
    return any(one.alarm for one in constellation.head.sentences)


def alarm_after(last: Firing | None, constellation: Constellation, fleet: Fleet) -> AlarmState:
    """Return the alarm after the end of a firing, given the `last` firing before it."""
    before = AlarmState(last.alarm, last.blind, last.looked, last.seen_ms) if last is not None else NO_ALARM
    answer: Answer | None = constellation.tables["answer"].get("")
    if constellation.head.state is not ConstellationState.SUCCEEDED or answer is None:
        return before
    if not is_watch(constellation):
        return NO_ALARM
    seen, unseen = seen_and_unseen(constellation, fleet)
    if not answer.alarm and (nobody_asked(constellation) or _says_nothing(constellation, answer)):
        return before._replace(blind=True)
    unconfirmed = [look for look in before.looked if look in unseen]
    if answer.alarm:
        looked = sorted({*seen, *unconfirmed})
        return AlarmState(alarm=True, blind=False, looked=looked, seen_ms=constellation.head.ended_ms)
    if before.alarm and unconfirmed:
        return before._replace(blind=True, looked=unconfirmed)
    return NO_ALARM._replace(seen_ms=constellation.head.ended_ms)


def _says_nothing(constellation: Constellation, answer: Answer) -> bool:
    """Whether the plan has a sentence for when it is well, and neither that nor another one holds."""
    return not answer.stated and any(not one.alarm for one in constellation.head.sentences)


def not_known(now: Firing, constellation: Constellation, fleet: Fleet, at_ms: int) -> str:
    """Return in words who could not look, and since when."""
    since = since_words(now.seen_ms, at_ms) if now.seen_ms else "yet"
    if nobody_asked(constellation) or not now.looked:
        return f"not known: nobody could look {since}. "
    names = sorted({fleet.name_of(look.partition("/")[2]) for look in now.looked})
    return f"not known whether it is well again: {few(names, _NAMED_MOST)} could not look {since}. "
