"""What a slot of a phrase takes from words, by its type: a device by name or class, a path, a number, a command ...

Pure. A slot either takes its words wholly or says why not; it never guesses between two devices.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starloom.planner.fleet import DeviceSeen, FleetView, singular
from starloom_protocol.plan import ParamDoc

_ARTICLES = frozenset({"a", "an", "the", "my", "our", "this", "that"})
_EVERY = frozenset({"all", "every", "each", "both"})
_PLACES = frozenset({"device", "machine", "computer", "box", "one", "node", "host"})
_DEVICE_WORDS_MOST = 6
_DEVICES_NAMED_MOST = 8
_BETWEEN = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+", re.IGNORECASE)
_EVERYWHERE = frozenset({"everywhere", "everything", "them", "all"})
# class word -> the labels and parts of names that mean it, and operating systems that are it
_CLASSES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "phone": (
        frozenset({"phone", "mobile", "handy", "smartphone", "cellphone", "cell"}),
        frozenset({"android", "ios"}),
    ),
    "tablet": (frozenset({"tablet", "ipad"}), frozenset()),
    "server": (frozenset({"server", "vps", "nas", "cloud"}), frozenset()),
    "laptop": (frozenset({"laptop", "notebook", "macbook"}), frozenset()),
    "desktop": (frozenset({"desktop", "pc", "computer", "workstation", "desk"}), frozenset()),
    "mac": (frozenset({"mac", "macbook", "imac"}), frozenset({"macos", "darwin"})),
    "windows": (frozenset({"windows"}), frozenset({"windows"})),
    "linux": (frozenset({"linux"}), frozenset({"linux"})),
}
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER_WORDS = {word: number for number, word in enumerate(_NUMBERS)}
_DURATION = re.compile(
    r"(?:the last |last |past )?(\d+|[a-z]+)?\s*(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?|w|weeks?)"
)
_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_TRUE, _FALSE = frozenset({"yes", "true", "on"}), frozenset({"no", "false", "off"})


@dataclass(frozen=True)
class Taken:
    """What a slot made of words: a value, or why there is none, with the devices to choose from.

    `wanted` is how many of them the words ask for (*two machines*), 0 where they do not count.
    """

    value: Any = None
    reason: str = ""
    choices: tuple[str, ...] = ()
    wanted: int = 0

    @property
    def filled(self) -> bool:
        return not self.reason


def take(words: str, param: ParamDoc, fleet: FleetView) -> Taken:
    """Return what a parameter takes from words. `words` are as typed, without surrounding space."""
    text = words.strip()
    if not text:
        return Taken(reason="it is empty")
    if param.type == "device":
        return take_device(text, param, fleet)
    return _TAKERS.get(param.type, _take_text)(_unquoted(text))


def _unquoted(text: str) -> str:
    for mark in ('"', "'", "`", "“”", "‘’"):
        if len(text) >= 2 and text[0] == mark[0] and text[-1] == mark[-1]:
            return text[1:-1]
    return text


# -- devices


def take_device(text: str, param: ParamDoc, fleet: FleetView) -> Taken:
    """Return `{name}` for one device, `{any: [{name}, ...]}` for several named together."""
    text = _unquoted(text)
    parts = [part for part in _BETWEEN.split(text.strip()) if part]
    if 1 < len(parts) <= _DEVICES_NAMED_MOST:
        return _together([take_device(part, param, fleet) for part in parts])
    words = [word for word in text.casefold().split() if word not in _ARTICLES]
    named = fleet.by_name.get(text.casefold()) or fleet.by_name.get(" ".join(words))
    if named is not None:
        return Taken({"name": named.name})
    if not words:
        return Taken(reason="it names no device")
    if len(words) > _DEVICE_WORDS_MOST:
        return Taken(reason=f"there is no device like {text}")
    able = fleet.able(param.needs)
    every = words[0] in _EVERY or words[-1] in _EVERYWHERE
    kind_words = [word for word in words if word not in _EVERY and word not in _EVERYWHERE and word != "of"]
    if not kind_words or (every and all(singular(word) in _PLACES for word in kind_words)):
        return _several(able)
    kind = singular(" ".join(kind_words))
    many = every or kind != " ".join(kind_words)
    if many and kind in _PLACES:
        return _several(able)
    counted = _NUMBER_WORDS.get(kind_words[0], int(kind_words[0]) if kind_words[0].isdigit() else 0)
    if counted > 1 and len(kind_words) > 1:
        return _so_many(counted, " ".join(kind_words[1:]), able)
    found = _of_class(kind, able)
    if many:
        return _several(found) if found else Taken(reason=f"there are no {' '.join(kind_words)} here")
    if len(found) == 1:
        return Taken({"name": found[0].name})
    if found:
        names = tuple(device.name for device in found)
        return Taken(reason=f"{text} may be {' or '.join(names)}", choices=names)
    return Taken(reason=f"there is no device like {text}", choices=tuple(device.name for device in able))


def _together(parts: list[Taken]) -> Taken:
    """Return the devices of `laptop and the server` as one; the first that is not found says why."""
    names: dict[str, None] = {}
    for part in parts:
        if not part.filled:
            return part
        names.update(dict.fromkeys(item["name"] for item in part.value.get("any", [part.value])))
    found = [{"name": name} for name in names]
    return Taken({"any": found} if len(found) > 1 else found[0])


def _so_many(count: int, words: str, able: Sequence[DeviceSeen]) -> Taken:
    """Return `two machines` where there are just two that can; among more, a person chooses."""
    kind = singular(words)
    found = [device for device in able if not device.demo] or list(able) if kind in _PLACES else _of_class(kind, able)
    names = tuple(device.name for device in found)
    if len(found) == count:
        return Taken({"any": [{"name": name} for name in names]})
    return Taken(
        reason=f"{words} may be {', '.join(names) or 'none'}; name {count} of them", choices=names, wanted=count
    )


def _of_class(kind: str, devices: Sequence[DeviceSeen]) -> list[DeviceSeen]:
    named = _CLASSES.get(_class_of(kind), (frozenset({kind}), frozenset[str]()))
    words, systems = named[0] | {kind}, named[1]
    fitting = [device for device in devices if not words.isdisjoint(device.words) or device.os.casefold() in systems]
    if not fitting and _class_of(kind) in ("desktop", "laptop"):
        # A computer that nobody labelled: the only real one that is not clearly something else.
        fitting = [device for device in devices if not device.demo and not _is_other_class(device)]
        fitting = fitting if len(fitting) == 1 else []
    real = [device for device in fitting if not device.demo]
    return real or fitting


def _class_of(word: str) -> str:
    return next((name for name, (words, _) in _CLASSES.items() if word == name or word in words), word)


def _is_other_class(device: DeviceSeen) -> bool:
    others = _CLASSES["phone"][0] | _CLASSES["tablet"][0] | _CLASSES["server"][0]
    return not device.words.isdisjoint(others) or device.os.casefold() in _CLASSES["phone"][1]


def _several(devices: Sequence[DeviceSeen]) -> Taken:
    chosen = [device for device in devices if not device.demo] or devices
    if not chosen:
        return Taken(reason="no device here can do it")
    if len(chosen) == 1:
        return Taken({"name": chosen[0].name})
    return Taken({"any": [{"name": device.name} for device in chosen]})


# -- everything else


def _take_text(text: str) -> Taken:
    return Taken(text)


def _take_path(text: str) -> Taken:
    words = text.split()
    while len(words) > 1 and words[0].casefold() in (*_ARTICLES, "folder"):
        words = words[1:]
    if len(words) > 1 and words[-1].casefold() == "folder":
        words = words[:-1]
    return Taken(" ".join(words))


def _take_integer(text: str) -> Taken:
    if re.fullmatch(r"[+-]?\d{1,15}", text):
        return Taken(int(text))
    number = _NUMBER_WORDS.get(text.casefold())
    return Taken(number) if number is not None else Taken(reason=f"{text} is not a whole number")


def _take_number(text: str) -> Taken:
    if re.fullmatch(r"[+-]?\d{1,15}\.\d{1,15}", text):
        return Taken(float(text))
    whole = _take_integer(text)
    return whole if whole.filled else Taken(reason=f"{text} is not a number")


def _take_boolean(text: str) -> Taken:
    word = text.casefold()
    return Taken(word in _TRUE) if word in _TRUE | _FALSE else Taken(reason=f"{text} is neither yes nor no")


def _take_duration(text: str) -> Taken:
    found = _DURATION.fullmatch(text.casefold())
    if found is None:
        return Taken(reason=f"{text} is not a duration such as 15m, 2h or 3 days")
    count = found[1] or "1"
    number = int(count) if count.isdigit() else {"a": 1, "an": 1, **_NUMBER_WORDS}.get(count)
    if number is None:
        return Taken(reason=f"{text} is not a duration such as 15m, 2h or 3 days")
    return Taken(number * _UNIT_S[found[2][0]])


def _take_date(text: str) -> Taken:
    found = re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", text)
    return Taken(text) if found else Taken(reason=f"{text} is not a date such as 2026-01-31")


def _take_url(text: str) -> Taken:
    if re.fullmatch(r"https?://[^\s/]+(/\S*)?", text):
        return Taken(text)
    if re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+(:\d{1,5})?(/\S*)?|localhost(:\d{1,5})?(/\S*)?", text.casefold()):
        return Taken(f"https://{text}")
    return Taken(reason=f"{text} is not an address")


def _take_hosts(text: str) -> Taken:
    hosts = [host for host in re.split(r"[\s,]+|\band\b", text) if host]
    if hosts and all(
        re.fullmatch(r"[A-Za-z0-9._:-]+", host) and ("." in host or host == "localhost") for host in hosts
    ):
        return Taken(hosts)
    return Taken(reason=f"{text} does not name hosts")


def _take_argv(text: str) -> Taken:
    try:
        words = shlex.split(text)
    except ValueError as error:
        return Taken(reason=f"{text} is not a command: {error}")
    if not words or any(char in text for char in "|;&<>$\n"):
        return Taken(reason=f"{text} needs a shell; give one program and its arguments")
    return Taken(words)


_TAKERS: dict[str, Callable[[str], Taken]] = {
    "argv": _take_argv,
    "boolean": _take_boolean,
    "date": _take_date,
    "duration": _take_duration,
    "hosts": _take_hosts,
    "integer": _take_integer,
    "number": _take_number,
    "path": _take_path,
    "text": _take_text,
    "url": _take_url,
}
