"""The words of one world in the texts of a model: its days, addresses, devices and folder, by name and back. Pure.

Another world has another day, other ports and other ids. A recording has their names in the form `@{today}`, so that a
reply fits the world in which it is said again, and a difference of two prompts is one of the product.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from starloom.planner.context.cards import scrubbed
from starloom_protocol.text.scrubbing import MASK

_NAME: Final = re.compile(r"@\{([a-z.-]+)\}")
_MADE: Final = (
    (re.compile(r"\b[a-z]-[a-z2-7]{16,}(?:/[0-9]+)?"), "@id"),
    (re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?=@\{)"), "@weekday, "),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"), "@time"),
    (re.compile(r"(@\{(?:today|yesterday|tomorrow)\}[T ])\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?"), r"\1@time"),
    (re.compile(r"((?:age|took|elapsed|waited)_m?s\\*\":\s?)[\d.]+"), r"\1@time"),
    (re.compile(r"\b1[5-9]\d{8}(?:\d{3})?(?:\.\d+)?\b"), "@time"),
)
"""Texts that no two runs have alike: ids, times of the clock, durations."""


class WorldWords:
    """The words of a world by name, such as `today`, `site.srv-a`, `device.desk` and `root`."""

    def __init__(self, words: Mapping[str, str]) -> None:
        self._words = {name: text for name, text in words.items() if text}
        names: dict[str, str] = {}
        for name, text in self._words.items():
            names.setdefault(text, name)
        self._names = names
        # The longest first: a port is a part of an address.
        texts = sorted(names, key=lambda text: (-len(text), text))
        self._texts = re.compile("|".join(rf"(?<!\d){re.escape(text)}(?!\d)" for text in texts) or r"(?!)")

    def named(self, text: str) -> str:
        """Return a text with names in the places of the world's words."""
        return self._texts.sub(lambda match: f"@{{{self._names[match[0]]}}}", text)

    def filled(self, text: str) -> str:
        """Return a text with the world's words in the places of their names."""
        return _NAME.sub(lambda match: self._words.get(match[1], match[0]), text)


def compared(texts: Sequence[str]) -> list[str]:
    """Return the lines of a prompt by which it is compared with another, secrets masked.

    Of a result its task, tool, state and the names of its fields count, in any order: the hub chooses devices and
    takes results as they come, so that values and order differ from run to run.
    """
    lines: list[str] = []
    results: list[str] = []
    for line in "\n".join(texts).splitlines():
        result = _result(line)
        if result:
            results.append(result)
            continue
        lines += sorted(results)
        results = []
        lines.append(_plain(line))
    return [*lines, *sorted(results)]


def _plain(line: str) -> str:
    text = str(scrubbed(line))
    for pattern, name in _MADE:
        text = pattern.sub(name, text)
    return text


def _result(line: str) -> str:
    """Return the part of a result that counts; empty where a line is none."""
    if not line.startswith("{"):
        return ""
    try:
        result = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return ""
    if set(result) == {"sentence"}:
        return "{sentence}"
    if not {"task", "state"} <= set(result):
        return ""
    return _plain(
        " ".join(["{result}", *(str(result.get(name, "")) for name in ("task", "tool", "state")), *sorted(result)])
    )


def same(recorded: str, now: str) -> bool:
    """Tell whether two lines are equal; a mask in the recorded one stands for any text."""
    if recorded == now:
        return True
    first, *middle = recorded.split(MASK)
    if not middle or not now.startswith(first):
        return False
    # Part by part, each where it comes first: a pattern with many gaps takes a time without a bound.
    *middle, last = middle
    at = len(first)
    for part in middle:
        begin = now.find(part, at)
        if begin < 0:
            return False
        at = begin + len(part)
    return now.endswith(last) and len(now) - len(last) >= at
