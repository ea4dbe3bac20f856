"""Requests that people make and no recipe carries out: restarts of devices, deletions, comparisons, lists by date.

Owns the patterns of such words and the sentence about each, with requests that work here. Pure; it starts nothing, and
must not be asked about words that a recipe takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from starloom.planner.fleet import FleetSnapshot
from starloom.planner.requests.clauses import ARTICLES, plain_word, word_set

_PLACES: Final = word_set("computer machine device pc laptop notebook server system phone desktop box host whole again")
_SEASONS: Final = "spring|summer|autumn|fall|winter|year|month|week|weekend|night|christmas|holidays?"
_RESTART: Final = re.compile(r"(?:restart|reboot|shut ?down|power off|switch off|turn off)\b(?P<rest>.*)")
_DELETE: Final = re.compile(r"(?:delete|remove|erase|wipe|clean up|get rid of)\b")
_COMPARE: Final = re.compile(r"(?:compare|diff)\b")
_PROGRAMS: Final = re.compile(
    r".*\b(?:programs?|processes|process|apps?|applications?)\b.*\b(?:memory|ram|cpu|processor)\b"
)
_BY_DATE: Final = re.compile(
    rf"(?:find|search|show|list|which|where)\b.*\b(?:from|of|in|since|before|after)\s+(?:(?:last|this)\s+(?:{_SEASONS})|"
    r"(?:19|20)\d\d)\b"
)


@dataclass(frozen=True)
class _Gap:
    """A kind of request, and the sentence about it; `{one}` is the device that the words name, `{two}` are two."""

    fits: Callable[[str, FleetSnapshot], bool]
    sentence: str


def _of_a_device(said: str, fleet: FleetSnapshot) -> bool:
    """Tell whether words restart a device and no service of it."""
    found = _RESTART.match(said)
    if found is None:
        return False
    rest = found["rest"]
    for name in sorted((device.name.casefold() for device in fleet.devices), key=len, reverse=True):
        rest = rest.replace(name, " ")
    return all(plain_word(word) in _PLACES | ARTICLES for word in rest.split())


def _like(pattern: re.Pattern[str]) -> Callable[[str, FleetSnapshot], bool]:
    return lambda said, _fleet: pattern.match(said) is not None


def _compares(said: str, fleet: FleetSnapshot) -> bool:
    """Tell whether words compare devices, or folders of them; other comparisons are work for a model."""
    return _COMPARE.match(said) is not None and any(device.name.casefold() in said for device in fleet.devices)


_GAPS: Final = (
    _Gap(
        _of_a_device,
        "no recipe restarts a whole device. *restart nginx on {one}* restarts one service, and *run systemctl reboot "
        "on {one}* runs that command where its owner has granted it",
    ),
    _Gap(
        _like(_DELETE),
        "no recipe deletes files. *largest files on {one}* and *find duplicates on {one}* show what takes room, and "
        "*find duplicates on {one} and put the extra ones into the trash* asks first",
    ),
    _Gap(
        _compares,
        "no recipe compares folders or devices. *find duplicates on {two}* shows the files that are equal, and *run "
        "uptime on {two}* marks where the output of a command differs",
    ),
    _Gap(
        _like(_PROGRAMS),
        "no recipe lists programs. *how is {one}* tells its memory, and *run ps aux on {one}* lists its programs where "
        "its owner has granted that command",
    ),
    _Gap(
        _like(_BY_DATE),
        "no recipe finds files by date. *find IMG_2025 on {one}* finds them by words of their names, with the date of "
        "each",
    ),
)


def gap_in(words: str, fleet: FleetSnapshot) -> str:
    """Return the sentence about words that no recipe carries out, with the devices that they name; empty if unknown."""
    said = " ".join(words.casefold().replace("please ", "").split()).strip(" .!?")
    if not fleet.devices:
        return ""
    for gap in _GAPS:
        if gap.fits(said, fleet):
            one, two = _devices(said, fleet)
            return gap.sentence.format(one=one, two=two)
    return ""


def _devices(said: str, fleet: FleetSnapshot) -> tuple[str, str]:
    """Return the device that words name, or the first one; and two of them, the named first."""
    ordered = sorted(fleet.devices, key=lambda device: (device.demo, not device.online, device.name))
    named = [device.name for device in ordered if device.name.casefold() in said]
    names = list(dict.fromkeys([*named, *(device.name for device in ordered)]))
    return names[0], " and ".join(names[:2])
