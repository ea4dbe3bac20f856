"""The types of a recipe's parameters: the accepted forms, files or command lines, and the resulting values.

Owns one function a type; a text is taken for every type but `argv`, which is never a string for a shell.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import ValidationError

from starloom_protocol.plan.language.fault_list import kind_word, shown
from starloom_protocol.plan.language.models import SelectorDoc
from starloom_protocol.tools.ages import AGE, is_written
from starloom_protocol.values import name_fault

_WHOLE: Final = re.compile(r"[-+]?[0-9]{1,15}")
_DURATION: Final = re.compile(r"([0-9]{1,9})(s|m|min|h|d)?")
_UNIT_S: Final = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, None: 1}
_HOST: Final = re.compile(
    r"(?=.{1,253}(?::|$))[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?::[0-9]{1,5})?|\[?[0-9A-Fa-f:]{2,45}\]?"
)
_EXACT_MAX: Final = 2**53 - 1


class ParamRefused(Exception):
    """A value is not of its parameter's type; `reason` goes on from the parameter's name."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


def coerce(kind: str, value: Any) -> Any:
    """Return the value as its type keeps it: a selector, a number, seconds, a list of texts ...

    Raises:
        ParamRefused: if it is not of that type.
    """
    return PARAM_TYPES[kind](value)


def placeholder(kind: str, name: str) -> Any:
    """Return a value of a type, to check a recipe without its user's values."""
    stand_ins: dict[str, Any] = {
        "device": {"name": f"a-{name}"},
        "integer": 1,
        "number": 1,
        "boolean": True,
        "url": "https://example.org/",
        "duration": 60,
        "date": "2026-01-31",
        "hosts": ["example.org"],
        "argv": ["uptime"],
        "since": "1h",
    }
    return stand_ins.get(kind, "text")


def _text_of(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise ParamRefused(f"must be {what}, not {kind_word(value)}")
    return value


def _device(value: Any) -> Any:
    if isinstance(value, str):
        fault = name_fault(value)
        if fault:
            raise ParamRefused(f"must be a device: {fault}")
        return {"name": value}
    try:
        SelectorDoc.model_validate(value)
    except ValidationError as error:
        raise ParamRefused("must be the name of a device or a selector", "For example `laptop`.") from error
    if not value:
        raise ParamRefused("must name a device", "For example `laptop`.")
    return value


def _path(value: Any) -> str:
    text = _text_of(value, "a path")
    if not text or "\0" in text or len(text) > 4096:
        raise ParamRefused("must be a path of 1 to 4096 characters")
    return text


def _text(value: Any) -> str:
    text = _text_of(value, "a text")
    if "\0" in text or len(text) > 16_384:
        raise ParamRefused("must be a text of at most 16,384 characters")
    return text


def _integer(value: Any) -> int:
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _EXACT_MAX:
        raise ParamRefused(f"must be a whole number, not {shown(value)}")
    return value


def _number(value: Any) -> int | float:
    number = value
    if isinstance(value, str):
        try:
            number = int(value) if _WHOLE.fullmatch(value.strip()) else float(value.replace("_", " "))
        except ValueError:
            number = None
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
        raise ParamRefused(f"must be a number, not {shown(value)}")
    return number


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in ("true", "yes", "on", "1"):
        return True
    if word in ("false", "no", "off", "0"):
        return False
    raise ParamRefused(f"must be true or false, not {shown(value)}")


def _url(value: Any) -> str:
    text = _text_of(value, "an address")
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError as error:
        raise ParamRefused(f"must be an address: {error}") from error
    if parts.scheme not in ("http", "https") or not host or not text.isprintable() or " " in text:
        raise ParamRefused(f"must be an address, not {shown(text)}", "It starts with http:// or https://.")
    return text


def _duration(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10**9:
        return value
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ParamRefused(f"must be a duration, not {shown(value)}", "Write seconds, or 90s, 10m, 2h, 7d.")
    return int(match.group(1)) * _UNIT_S[match.group(2)]


def _date(value: Any) -> str:
    text = _text_of(value, "a date")
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise ParamRefused(f"must be a date, not {shown(text)}", "Write it as 2026-01-31.") from error


def _since(value: Any) -> str:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else value
    if isinstance(text, str) and is_written(text.strip(), AGE):
        return text.strip()
    raise ParamRefused(f"must be a moment, not {shown(value)}", "Write 22:00, yesterday, 2026-01-31, or 90s, 2h, 3d.")


def _file(value: Any) -> str:
    text = _text_of(value, "words of a file's name")
    if not text.strip() or "\0" in text or len(text) > 1024:
        raise ParamRefused("must be words of a file's name, 1 to 1024 characters", "For example `invoice` or `*.pdf`.")
    return text


def _choice(value: Any) -> str:
    return _text_of(value, "one of its values")


def _service(value: Any) -> str:
    text = _text_of(value, "the name of a service")
    if not text.strip() or not text.isprintable() or text.startswith("-") or len(text) > 256:
        raise ParamRefused(f"must be the name of a service, not {shown(text)}", "For example `nginx`.")
    return text


def _hosts(value: Any) -> list[str]:
    items = re.split(r"[\s,]+", value.strip()) if isinstance(value, str) else value
    if not isinstance(items, list) or not items or len(items) > 1000:
        raise ParamRefused(f"must be one or more hosts, not {shown(value)}")
    for item in items:
        if not isinstance(item, str) or not _HOST.fullmatch(item):
            raise ParamRefused(f"must be hosts, and {shown(item)} is none", "For example example.org or 10.0.0.7:8080.")
    return list(items)


def _argv(value: Any) -> list[str]:
    items = value
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            items = json.loads(value)
        except ValueError as error:
            raise ParamRefused(f"must be a list of words: {error}") from error
    if (
        not isinstance(items, list)
        or not items
        or not all(isinstance(item, str) and "\0" not in item for item in items)
    ):
        raise ParamRefused("must be a list of words, never a line for a shell", 'Write it as ["uptime", "-p"].')
    if not items[0]:
        raise ParamRefused("must name a program first")
    return list(items)


PARAM_TYPES: Final[dict[str, Callable[[Any], Any]]] = {
    "argv": _argv,
    "boolean": _boolean,
    "choice": _choice,
    "date": _date,
    "device": _device,
    "duration": _duration,
    "file": _file,
    "files": _file,
    "hosts": _hosts,
    "integer": _integer,
    "number": _number,
    "path": _path,
    "service": _service,
    "since": _since,
    "text": _text,
    "url": _url,
}
