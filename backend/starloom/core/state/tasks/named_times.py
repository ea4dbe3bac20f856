"""The time that a plan or a result names for a task: read, bounded, in milliseconds of hub time.

A result is text of a stranger: only one form of a time is taken, and one later than the plan allows is none.
"""

from __future__ import annotations

from datetime import UTC, datetime

from starloom.core.state.model import Constellation
from starloom.core.state.tasks.gates import fact, successes
from starloom.core.state.tasks.turns import begins_ms
from starloom_protocol.records.specs import Moment
from starloom_protocol.text.times import time_ms
from starloom_protocol.values import MISSING


class NoMoment(Exception):
    """A result does not name a time at which the task may begin; the words say why."""


def has_moment(constellation: Constellation, task: str) -> bool:
    """Tell whether a task may have to wait for a time after its gates are open."""
    return constellation.specs[task].not_before is not None or begins_ms(constellation, task) > 0


def named_ms(constellation: Constellation, moment: Moment, now_ms: int) -> int:
    """Return the time that the plan or a result names, in milliseconds of hub time.

    Raises:
        NoMoment: it names none, one later than allowed, or a past one where that fails.
    """
    if moment.at:
        value: object = moment.at
        where = "the time of the plan"
    else:
        tasks = successes(constellation, moment.source)
        value = fact(constellation, tasks[-1], moment.output) if tasks else MISSING
        where = f"{moment.output or 'the result'} of {moment.source}"
    at_ms = _read(value, moment, where)
    if at_ms > now_ms + moment.within_s * 1000:
        raise NoMoment(f"{where} is {_time_words(at_ms)}, which is more than {moment.within_s} s ahead")
    if at_ms < now_ms and moment.past == "fail":
        raise NoMoment(f"{where} is {_time_words(at_ms)}, which has passed")
    return at_ms


def _read(value: object, moment: Moment, where: str) -> int:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            datetime.fromtimestamp(value, UTC)
        except (OverflowError, OSError, ValueError) as error:
            raise NoMoment(f"{where} is no number of seconds since 1970") from error
        return int(value * 1000)
    if not isinstance(value, str):
        raise NoMoment(f"{where} is no time")
    try:
        return time_ms(value, moment.zone)
    except ValueError as error:
        raise NoMoment(f"{where} is {error}") from error


def _time_words(at_ms: int) -> str:
    try:
        return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, OSError, ValueError):
        return "a time outside of the calendar"
