"""Values that people type: `k=v`, `k:=JSON`, durations. Raises a `Problem` for invalid ones."""

from __future__ import annotations

import json
import re
from typing import Any

from starloom.client.problems import usage
from starloom_protocol.text.wording import quoted

_DURATION = re.compile(r"(\d+)\s*(s|m|h|d)?")
_UNIT_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


def parameters(texts: list[str]) -> dict[str, Any]:
    """Return parameters by name: `k=text` is text, `k:=JSON` any JSON value.

    Raises:
        Problem: one is neither, or names something twice.
    """
    values: dict[str, Any] = {}
    for item in texts:
        name, equals, value = item.partition("=")
        as_json = name.endswith(":")
        name = name.removesuffix(":")
        if not equals or not name:
            raise usage(f"{quoted(item)} is not k=v", "Write folder=Pictures, or count:=3 for a number.")
        if name in values:
            raise usage(f"the parameter {name} is given twice", "Give it once.")
        if not as_json:
            values[name] = value
            continue
        try:
            values[name] = json.loads(value)
        except ValueError as error:
            raise usage(f"the value of {name} is not JSON: {error}", f"Write {name}=TEXT for plain text.") from error
    return values


def json_or_text(text: str) -> Any:
    """Return the JSON value that a text is, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def duration_s(text: str) -> int:
    """Return seconds of `90`, `90s`, `30m`, `2h` or `7d`.

    Raises:
        Problem: it is none of these, or zero.
    """
    match = _DURATION.fullmatch(text.strip())
    total = int(match[1]) * _UNIT_S[match[2] or ""] if match else 0
    if total <= 0:
        raise usage(f"{quoted(text)} is not a duration", "Write for example 90s, 30m, 2h or 7d.")
    return total
