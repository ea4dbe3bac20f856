"""Values, places and origins of findings as people read them: no Python, no pointer before the words. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from starloom_protocol.vocabulary import DeviceFact

_SECONDS: Final = re.compile(r"-?[1-9][0-9]{0,10}")
_STEP: Final = re.compile(r"([^.\[\]]+)|\[([0-9]{1,9})\]")
_ROW: Final = re.compile(r"[0-9]{1,9}")
"""A caller names the fields of what it sends: longer numbers and digits of other scripts count no rows."""
_NUMBER: Final = re.compile(r"([0-9]{1,18})")
_LISTS: Final = {
    "tasks": "Row",
    "dependencies": "Link",
    "rules": "Rule",
    "result": "Answer part",
    "operations": "Operation",
    "phrases": "Phrase",
    "faults": "Fault",
    "steps": "Step",
    "checks": "check",
    "edit": "operation",
}
"""Names of lists -> the name of one item."""
_LEFT_OUT: Final = frozenset({"args", "body", "plan", "params"})
"""Steps that name a container, and not its content."""
VALUE_CHARS_MOST: Final = 200
_SIZE_MOST: Final = 10**21
"""A result may have a number that no float holds."""
PLACEHOLDER: Final = re.compile(r"\{([A-Za-z0-9_][A-Za-z0-9_.-]{0,63})\}")
"""The place of a value in a plan's sentence: its name in braces."""

_AGENT_LINE: Final = re.compile(r"(?:'[^']*starloom-agent(?:\.exe)?'|\S*starloom-agent(?:\.exe)?) ")
"""A line of a terminal that begins with the agent's program."""


def is_agent_line(text: str) -> bool:
    """Return whether a way to give a grant is a line to type on the device, rather than words: a page has switches."""
    return _AGENT_LINE.match(text) is not None


def moment(at_ms: int) -> str | None:
    """Return RFC 3339 text of hub time; 0 is no time."""
    if not at_ms:
        return None
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def utc_words(at_ms: int) -> str:
    """Return hub time as a sentence of the hub has it, which each client shows in its reader's own zone."""
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def quoted(value: object) -> str:
    """Return a value in quotes, as it was typed, in one line; nothing in it moves a terminal."""
    text = value if isinstance(value, str) else value_words(value)
    return "'" + "".join(one if one.isprintable() else " " if one in "\n\r\t" else "?" for one in text) + "'"


def escaped(text: str) -> str:
    """Return a text as one line, in which a sign that ends it, or moves or colours a terminal, is written out."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def value_words(value: Any) -> str:
    """Return a JSON value in words: yes, no, nothing, a number or text as it is, else as JSON."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str | int | float):
        return str(value)[:VALUE_CHARS_MOST]
    return json.dumps(value, ensure_ascii=False, default=str)[:VALUE_CHARS_MOST]


def natural_order(name: str) -> tuple[tuple[int, str], ...]:
    """Return a key that puts `read-2` and `nas2` before `read-10` and `nas10`."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in _NUMBER.split(name))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 task, 2 tasks."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence: a, b and c."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""


def few(words: Sequence[str], most: int) -> str:
    """Return the first words of a list, and how many there are beside: a, b, c and 4 more."""
    more = len(words) - most
    return ", ".join(words[:most]) + (f" and {more} more" if more > 0 else "")


def number_words(value: float) -> str:
    """Return a number with a fraction as people read it: six digits, and from a thousand on every cent of an amount."""
    return f"{value:,.6g}" if abs(value) < 1000 else f"{round(value, 2):,.15g}"


def size_words(count: int) -> str:
    """Return a number of bytes for people."""
    count = max(-_SIZE_MOST, min(count, _SIZE_MOST))
    amount = float(count)
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if amount < 1000 or unit == "TB":
            return f"{count} byte{'' if count == 1 else 's'}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    raise AssertionError("the last unit returns")


def place_words(place: str, tasks: Sequence[str] = ()) -> str:
    """Return a place of a document in words: `plan.tasks[1].args.folder` is *Row 2, folder*; empty for the whole.

    With the ids of its `tasks` in their order it is *Task train (row 2), folder*.
    """
    parts: list[str] = []
    before = ""
    for name, number in _STEP.findall(place.removeprefix("/").replace("/", ".")):
        if number or (before and _ROW.fullmatch(name)):
            item = _LISTS.get(before, before.replace("_", " ").rstrip("s"))
            parts = parts[:-1] if parts and parts[-1] == before.replace("_", " ") else parts
            row = int(number or name)
            task = tasks[row] if not parts and before == "tasks" and row < len(tasks) else ""
            parts.append(f"Task {task} (row {row + 1})" if task else f"{item} {row + 1}".strip())
        elif name not in _LEFT_OUT or name == place:
            parts.append(name.replace("_", " "))
        before = name or before
    words = ", ".join(parts)
    return words[:1].upper() + words[1:]


def found_by(task: str, by: str, device: str, *, stranger: bool) -> str:
    """Return the task of a finding, the goal `by` which it was published, and the name of its device, if it has one."""
    goal = f" (of {by})" if by != task else ""
    where = f" on {device}" if device else ""
    return f"{task}{goal}{where}" + (" (a stranger may have written it)" if stranger else "")


_SHORT_MS: Final = 100
"""Below it one decimal tells nothing: *0.0 s* looks like no time at all."""


def seconds(milliseconds: int) -> str:
    """Return a duration for people."""
    total = milliseconds / 1000
    if 0 < milliseconds < _SHORT_MS:
        return "under 0.1 s"
    if total < 60:
        return f"{total:.1f} s"
    minutes, rest = divmod(round(total), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def clock_words(ahead_s: int) -> str:
    """Return where a clock stands beside the hub's, as `1 h 0 min ahead of the hub's`."""
    minutes = max(1, round(abs(ahead_s) / 60))
    hours, days = divmod(minutes, 60)[0], minutes // 1440
    span = f"{days} d {hours % 24} h" if days else f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"
    return f"{span} {'ahead of' if ahead_s > 0 else 'behind'} the hub's"


def clock_sentence(condition: Mapping[str, str]) -> str:
    """Return what is wrong with the clock of a device and what follows, without a subject; empty if it is right."""
    ahead = condition.get(DeviceFact.CLOCK, "")
    if not _SECONDS.fullmatch(ahead):
        return ""
    off = "times of its files and logs are off by as much, and so is what a request finds there by its age"
    return f"has a clock that is {clock_words(int(ahead))}: {off}"
