"""Progress that programs report: lines of their output, each a JSON object, such as `{"loss": 0.31}`.

Owns the limits of what is read, and how often the engine hears of it. Listens only to tasks whose plan has a rule on
progress. A line is read only where the log of the attempt is taken, so another device's word never counts.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from starloom.edge.live.views import StopRules
from starloom_protocol.values import canonical
from starloom_protocol.wire.frames import LeaseRef, LogChunk

LINE_CHARS_MOST: Final = 4096
"""An object with a few numbers has some hundred characters; a longer line is output, and is not parsed."""
TEXT_CHARS_MOST: Final = 200
"""A text in a progress line is a label for a person; a longer one would not fit beside its task."""
NUMBER_MOST: Final = 2**53
"""A larger whole number has no exact form in JSON; a fraction of any finite size is taken."""
ATTEMPTS_MOST: Final = 2_000
"""The attempts whose output is followed at once; of more the one that was silent longest begins again."""
EVERY_S: Final = 1.0
PART: Final = 20
"""An attempt is reported at most once a second, and never more often than a 20th of its time so far."""
_ERRORS: Final = "err"


@dataclass(frozen=True, slots=True)
class Report:
    """The newest value, as canonical text, and how many lines had one since the report before."""

    value: str
    lines: int


@dataclass(slots=True)
class _Output:
    """The output of one attempt so far. Times are of the monotonic clock; `rest` is an unfinished line."""

    began_s: float
    told_s: float = -math.inf
    next_offset: int = 0
    rest: str = ""
    value: str = ""
    lines: int = 0


class ProgressLines:
    """The output of attempts whose tasks have a rule on progress. `faults` counts refused lines, by reason."""

    def __init__(self, rules: StopRules, monotonic_s: Callable[[], float], faults: dict[str, int]) -> None:
        self._rules = rules
        self._monotonic_s = monotonic_s
        self._faults = faults
        self._outputs: OrderedDict[LeaseRef, _Output] = OrderedDict()

    def __len__(self) -> int:
        return len(self._outputs)

    def take(self, frame: LogChunk) -> Report | None:
        """Return the report to the engine after this piece of output; None if there is nothing, or not yet."""
        name = self._rules.name_of(frame.at)
        if name is None:
            return None
        now_s = self._monotonic_s()
        output = self._outputs.setdefault(frame.at, _Output(now_s))
        self._outputs.move_to_end(frame.at)
        while len(self._outputs) > ATTEMPTS_MOST:
            self._outputs.popitem(last=False)
        gap = frame.offset != output.next_offset
        output.next_offset = frame.offset + len(frame.text.encode("utf-8", "replace"))
        if frame.stream == _ERRORS:
            return None
        if gap:
            # The rest of a line that was lost must not be joined with another one.
            output.rest = ""
        *lines, output.rest = (output.rest + frame.text).split("\n")
        for line in lines:
            self._line(output, line, name)
        if len(output.rest) > LINE_CHARS_MOST:
            self._count("progress_line_too_long")
            output.rest = "-"  # so that what is left of the line is no object
        if not output.lines or now_s - output.told_s < max(EVERY_S, (now_s - output.began_s) / PART):
            return None
        report = Report(output.value, output.lines)
        output.lines, output.told_s = 0, now_s
        return report

    def _count(self, fault: str) -> None:
        self._faults[fault] = self._faults.get(fault, 0) + 1

    def _line(self, output: _Output, line: str, name: str) -> None:
        if not line.startswith("{"):
            return
        if len(line) > LINE_CHARS_MOST:
            self._count("progress_line_too_long")
            return
        try:
            # Neither NaN nor a number out of range is JSON.
            fields = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
            return
        if name not in fields:
            return
        if not _is_told(fields[name]):
            self._count("progress_no_value")
            return
        output.value = canonical(fields[name])
        output.lines += 1


def _is_told(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return abs(value) <= NUMBER_MOST
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str) and len(value) <= TEXT_CHARS_MOST
