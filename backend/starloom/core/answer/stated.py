"""The plan's own sentence for its answer, filled with values of the results.

A plan may give sentences (`sentence`); the first whose condition holds and whose values are there opens the answer of a
constellation that succeeded. Its `alarm` says that the answer tells of trouble. Texts from devices stand in quotes on
one line, names of devices excepted, so none can pass for the sentence itself, and a number beyond all use is not shown.
A plan that a model has edited loses its sentences: they may claim work that the model took out.
"""

from __future__ import annotations

import re
from typing import Any, Final

from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.tasks.gates import fact, successes
from starloom.core.state.tasks.roles import successor
from starloom_protocol.records.entities import SentenceSpec
from starloom_protocol.records.specs import SentenceValue
from starloom_protocol.stream.authors import is_model
from starloom_protocol.text.wording import PLACEHOLDER, listed, number_words, quoted, size_words
from starloom_protocol.values import MISSING, holds, parse

_TEXT_CHARS_MOST: Final = 80
_DEVICES_MOST: Final = 4
_NUMBER_MOST: Final = 2**53
"""A larger one is exact in no result, and a device may send one with a thousand digits."""
_QUOTES: Final = "'`´‘‚‛′‵‹›ʹʻʼʽʾʿˈˊˋ՚׳᾽᾿῾❛❜ꞌ＇｀"
_APOSTROPHE: Final = re.compile(rf"(?<=[^\W_])[{_QUOTES}’](?=[^\W_])")
_QUOTE: Final = re.compile(rf"[{_QUOTES}]|(?<![^\W_])’|’(?![^\W_])")
"""A quotation mark in a text of a device would look like the end of the quotation around it.

An apostrophe within a word does not and stays.
"""
_HOURS_IN_MINUTES_BELOW: Final = 2
_HOURS_MOST: Final = 48
"""A time below two hours is shown in minutes, one of more than two days in days."""


def stated(constellation: Constellation, fleet: Fleet) -> str | None:
    """Return the sentence without its full stop; None if the plan gives none that holds."""
    if _edited_by_model(constellation):
        return None
    for sentence in constellation.head.sentences:
        text = _filled(constellation, fleet, sentence)
        if text is not None:
            return text.removesuffix(".")
    return None


def tells_of_trouble(constellation: Constellation, fleet: Fleet) -> bool:
    """Tell whether the first sentence that fits is an alarm.

    One whose own condition holds is an alarm also where its values cannot be shown: a device that sends a value of
    another kind cannot suppress a sentence about all devices.
    """
    if _edited_by_model(constellation):
        return False
    for sentence in constellation.head.sentences:
        if sentence.alarm and sentence.condition is not None and _holds(constellation, sentence):
            return True
        if _filled(constellation, fleet, sentence) is not None:
            return sentence.alarm
    return False


def _edited_by_model(constellation: Constellation) -> bool:
    return any(version.number > 1 and is_model(version.author) for version in constellation.versions.values())


def _filled(constellation: Constellation, fleet: Fleet, sentence: SentenceSpec) -> str | None:
    if not _holds(constellation, sentence):
        return None
    texts: dict[str, str] = {}
    for name, value in sentence.values.items():
        text = _value_text(constellation, fleet, value)
        if text is None:
            return None
        texts[name] = text
    # One pass: a value that looks like a placeholder stays as it is.
    return PLACEHOLDER.sub(lambda match: texts[match[1]], sentence.text)


def _holds(constellation: Constellation, sentence: SentenceSpec) -> bool:
    if sentence.condition is None:
        return True
    value = _value(constellation, sentence.source or "", sentence.condition.output)
    expected = sentence.condition.value
    return holds(sentence.condition.op, value, None if expected is None else parse(expected))


def _tasks(constellation: Constellation, source: str) -> list[str]:
    """Return the tasks whose results are that of a task, of its successor, or of a group."""
    if source not in constellation.specs:
        return []
    return successes(constellation, successor(constellation, source))


def _value(constellation: Constellation, source: str, output: str) -> Any:
    tasks = _tasks(constellation, source)
    return fact(constellation, tasks[-1], output) if tasks else MISSING


def _value_text(constellation: Constellation, fleet: Fleet, spec: SentenceValue) -> str | None:
    """Return a value in words; None where it is missing or of another kind."""
    if spec.show == "device":
        return _devices(constellation, fleet, spec.source)
    if spec.show == "count" and not spec.output and spec.source in constellation.groups:
        return _with_noun(len(_tasks(constellation, spec.source)), spec.noun)
    value = _value(constellation, spec.source, spec.output)
    match spec.show:
        case "count":
            return _with_noun(len(value), spec.noun) if isinstance(value, list) else None
        case "bytes":
            return size_words(int(value)) if _is_number(value) else None
        case "percent":
            return f"{value:g} %" if _is_number(value) else None
        case "duration":
            return _duration(int(value)) if _is_number(value) else None
        case _ if spec.noun:
            return _with_noun(value, spec.noun) if isinstance(value, int) and _is_number(value) else None
        case _:
            return _plain(fleet, value)


def _duration(seconds: int) -> str:
    """Return a time in seconds as whole minutes, hours or days."""
    hours = seconds / 3600
    if hours < _HOURS_IN_MINUTES_BELOW:
        return _with_noun(round(seconds / 60), "minute")
    return _with_noun(round(hours), "hour") if hours <= _HOURS_MOST else _with_noun(round(hours / 24), "day")


def _with_noun(count: int, noun: str) -> str:
    one, _, many = noun.partition("/")
    return f"{count:,} {one if count == 1 else many or f'{one}s'}" if noun else f"{count:,}"


def _plain(fleet: Fleet, value: Any) -> str | None:
    if _is_number(value):
        return f"{value:,}" if isinstance(value, int) else number_words(value)
    if not isinstance(value, str) or not value:
        return None
    if any(device.name == value for device in fleet.devices.values()):
        return value
    text = value if len(value) <= _TEXT_CHARS_MOST else value[: _TEXT_CHARS_MOST - 1] + "…"
    return quoted(_QUOTE.sub('"', _APOSTROPHE.sub("’", text)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _NUMBER_MOST


def _devices(constellation: Constellation, fleet: Fleet, source: str) -> str | None:
    devices = (constellation.tasks[task].device for task in _tasks(constellation, source))
    names = list(dict.fromkeys(fleet.name_of(device) for device in devices if device is not None))
    if not names:
        return None
    return listed(names) if len(names) <= _DEVICES_MOST else f"{len(names)} devices"
