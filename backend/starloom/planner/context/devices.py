"""The devices of a model's context: alike ones in one line, and the words for sets of them.

Pure and bounded. The lines carry no state that changes by the minute; `away` does, for the end of the context. A line
has names, systems, labels, profiles and names of grants; never an id, an address, a folder or a host.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Final

from starloom.planner.context.relevance import content_words
from starloom.planner.fleet import DeviceSnapshot, FleetSnapshot
from starloom.planner.quoting import plain, quoted
from starloom_protocol.text.wording import few

NAME_CHARS: Final = 200
LABELS_MOST: Final = 8
GRANTS_MOST: Final = 20
NAMES_MOST: Final = 6
MEANT_MOST: Final = 12
_MARKED_LEAST: Final = 4
_RUN_LEAST: Final = 4
_NUMBERED: Final = re.compile(r"(.*?)(\d{1,9})(\D*)", re.DOTALL)
GRANT: Final = re.compile(r"[a-z][a-z0-9_.:-]{0,63}")
"""The form of a grant's name; another is not shown."""


@dataclass(frozen=True)
class Alike:
    """Devices with the same system, labels, profile and grants, all reserved or none; a mark names a large set."""

    devices: tuple[DeviceSnapshot, ...]
    mark: str = ""


class Devices:
    """The devices of one fleet, and how lines of the context name them."""

    def __init__(self, fleet: FleetSnapshot) -> None:
        self._all = fleet.devices

    @cached_property
    def groups(self) -> tuple[Alike, ...]:
        """The sets of devices that are alike, in the order of their first names."""
        alike: dict[object, list[DeviceSnapshot]] = {}
        for device in sorted(self._all, key=lambda device: device.name):
            key = (device.os, device.labels, device.profile, device.demo, device.reserved, tuple(_grants(device)))
            alike.setdefault(key, []).append(device)
        groups, marked = [], 0
        for members in alike.values():
            large = len(members) >= _MARKED_LEAST
            marked += large
            groups.append(Alike(tuple(members), f"group {marked}" if large else ""))
        return tuple(groups)

    def lines(self, room: int, left_out: list[str]) -> list[str]:
        """Return the lines that fit; those that do not are counted in `left_out`."""
        lines: list[str] = []
        count = 0
        for group in self.groups:
            line = _line(group, room)
            size = len(line.encode()) + 1
            if size > room:
                break
            lines.append(line)
            count += len(group.devices)
            room -= size
        if count < len(self._all):
            left_out.append(
                f"{len(self._all) - count} of {len(self._all)} devices are not listed; labels, a system or tools "
                "select them, too."
            )
        return lines

    def who(self, devices: Collection[DeviceSnapshot]) -> str:
        """Return the words for a set of devices: all, all but some, groups by their marks, or names."""
        if not devices:
            return "none"
        ids = {device.id for device in devices}
        missing = [device for device in self._all if device.id not in ids]
        if not missing and len(self._all) > 1:
            return "all"
        if len(missing) <= len(self._all) // 4 and len(missing) <= NAMES_MOST:
            return f"all but {_names_of(missing)}"
        parts = []
        for group in self.groups:
            inside = {device.id for device in group.devices}
            if group.mark and inside <= ids:
                parts.append(group.mark)
                ids -= inside
        rest = [device for device in devices if device.id in ids]
        return ", ".join([*parts, *([_names_of(rest)] if rest else [])])

    def on_every(self, devices: Collection[DeviceSnapshot]) -> bool:
        """Whether these are all devices."""
        return len(devices) == len(self._all)

    def away(self) -> str:
        """Return one line about the devices that are not online; empty if all are."""
        off = [device for device in self._all if not device.online]
        return f"Offline now, their tasks wait: {self.who(off)}" if off else ""

    def hint_of(self, words: str) -> str:
        """Return one line with the devices that the words name; empty if they name none."""
        content = content_words(words)
        devices = [device for device in self._all if device.words & content]
        if not devices or len(devices) == len(self._all):
            return ""
        return f"The words may mean: {few([quoted(item.name, NAME_CHARS) for item in devices], MEANT_MOST)}"


def _grants(device: DeviceSnapshot) -> list[str]:
    """Return the names of its grants; those of single MCP servers stand with the tools."""
    return sorted(name for name in device.grants if GRANT.fullmatch(name) and not name.startswith(("agent:", "mcp:")))


def _line(group: Alike, room: int) -> str:
    first = group.devices[0]
    parts = [plain(first.os, 32) or "unknown system"]
    if first.labels:
        parts.append(f"labels {', '.join(quoted(label, 40) for label in first.labels[:LABELS_MOST])}")
    parts.append(f"profile {first.profile}")
    grants = _grants(first)
    if grants:
        parts.append(f"grants {' '.join(grants[:GRANTS_MOST])}")
    if first.demo:
        parts.append("for demonstration only")
    if first.reserved:
        parts.append("reserved: only where the person names it")
    about = "; ".join(parts)
    mark = f" ({len(group.devices)} devices, {group.mark})" if group.mark else ""
    names = _names(group.devices, room - len(about.encode()) - len(mark) - 8)
    return f"- {names}{mark}: {about}"


def _names(devices: Sequence[DeviceSnapshot], room: int) -> str:
    """Return the names that fit, those that are numbered through as their first and last."""
    parts: list[str] = []
    count = 0
    for run in _runs([device.name for device in devices]):
        names = [quoted(name, NAME_CHARS) for name in run]
        text = f"{names[0]} to {names[-1]}" if len(run) >= _RUN_LEAST else ", ".join(names)
        room -= len(text.encode()) + 2
        if room < 0 and parts:
            return f"{', '.join(parts)} and {len(devices) - count} more"
        parts.append(text)
        count += len(run)
    return ", ".join(parts)


def _runs(names: Sequence[str]) -> Iterable[list[str]]:
    """Yield the names in order; those with one stem and consecutive numbers of the same width together."""
    ordered = sorted(names, key=_stem)
    for _, same in groupby(ordered, key=lambda name: _stem(name)[:2]):
        run: list[str] = []
        for name in same:
            if run and _stem(name)[2] != _stem(run[-1])[2] + 1:
                yield from _short(run)
                run = []
            run.append(name)
        yield from _short(run)


def _short(run: list[str]) -> Iterable[list[str]]:
    if len(run) >= _RUN_LEAST:
        yield run
    else:
        yield from ([name] for name in run)


def _stem(name: str) -> tuple[str, tuple[str, int], int]:
    match = _NUMBERED.fullmatch(name)
    if match is None:
        return name, ("", 0), 0
    return match[1], (match[3], len(match[2])), int(match[2])


def _names_of(devices: Sequence[DeviceSnapshot]) -> str:
    return few([quoted(device.name, NAME_CHARS) for device in devices], NAMES_MOST)
