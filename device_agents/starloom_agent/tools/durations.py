"""Reads durations as people write them in plans: seconds as a number, or `90s`, `15m`, `2h`, `3d`, `1w`."""

from __future__ import annotations

import re

from starloom_agent.tools.interface import ToolFailed
from starloom_protocol.vocabulary import Code

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_FORM = re.compile(r"(\d{1,9})\s*([smhdw]?)", re.ASCII)


def seconds_of(value: str | int) -> int:
    """Return whole seconds.

    Raises:
        ToolFailed: `bad_arguments` for anything that is not a duration.
    """
    if isinstance(value, int):
        if value < 0:
            raise ToolFailed(Code.BAD_ARGUMENTS, f"{value} is not a duration: it is below zero", effect=False)
        return value
    found = _FORM.fullmatch(value.strip().lower())
    if found is None:
        raise ToolFailed(
            Code.BAD_ARGUMENTS,
            f"{value!r} is not a duration; write seconds as a number, or 90s, 15m, 2h, 3d, 1w",
            effect=False,
        )
    return int(found[1]) * _SECONDS[found[2] or "s"]
