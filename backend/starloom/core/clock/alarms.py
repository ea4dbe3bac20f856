"""Alarms of a schedule: the end of a firing raises one, ends it, or could not see whether the trouble lasts.

Only a look that found it well ends an alarm, and each device that looked when it was raised must have looked since. A
device that was removed, or that the schedule asks no longer, holds none. Decides no notice; `schedules` does.
"""

from __future__ import annotations

from typing import Any

from starloom.core.placement.device_groups.left_out import looks, nobody_asked
from starloom.core.placement.device_groups.off_devices import since_words
from starloom.core.state.model import Constellation, Fleet
from starloom_protocol.records.entities import Answer
from starloom_protocol.records.schedules import Firing
from starloom_protocol.text.wording import few
from starloom_protocol.vocabulary import ConstellationState

_NAMED_MOST = 4


def is_watch(constellation: Constellation) -> bool:
    """Whether the plan of a firing has a sentence that tells of trouble."""
    return any(one.alarm for one in constellation.head.sentences)


def judged(before: Firing | None, constellation: Constellation, fleet: Fleet) -> dict[str, Any]:
    """Return the fields of a firing that tell of its alarm, by those of the firing before it."""
    alarm, looked = (before.alarm, before.looked) if before is not None else (False, [])
    blind, seen_ms = (before.blind, before.seen_ms) if before is not None else (False, 0)
    answer: Answer | None = constellation.tables["answer"].get("")
    if constellation.head.state is not ConstellationState.SUCCEEDED or answer is None:
        return {"alarm": alarm, "blind": blind, "looked": looked, "seen_ms": seen_ms}
    if not is_watch(constellation):
        return {}
    saw_nothing = nobody_asked(constellation)
    seen, unseen = looks(constellation, fleet)
    if not answer.alarm and (saw_nothing or _says_nothing(constellation, answer)):
        return {"alarm": alarm, "blind": True, "looked": looked, "seen_ms": seen_ms}
    still = [one for one in looked if one in unseen]
    holds = sorted({*seen, *still}) if answer.alarm else still
    waits = bool(still) and not answer.alarm
    return {
        "alarm": answer.alarm or (alarm and waits),
        "blind": alarm and waits,
        "looked": holds if answer.alarm or alarm else [],
        "seen_ms": seen_ms if alarm and waits else constellation.head.ended_ms,
    }


def _says_nothing(constellation: Constellation, answer: Answer) -> bool:
    """Whether the plan has a sentence for when it is well, and neither that nor another one holds."""
    return not answer.stated and any(not one.alarm for one in constellation.head.sentences)


def not_known(now: Firing, constellation: Constellation, fleet: Fleet, at_ms: int) -> str:
    """Return in words who could not look, and since when."""
    since = since_words(now.seen_ms, at_ms) if now.seen_ms else "yet"
    if nobody_asked(constellation) or not now.looked:
        return f"not known: nobody could look {since}. "
    names = sorted({fleet.name_of(one.partition("/")[2]) for one in now.looked})
    return f"not known whether it is well again: {few(names, _NAMED_MOST)} could not look {since}. "
