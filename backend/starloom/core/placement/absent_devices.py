"""Devices that a waiting task names and that cannot take it: since when, and what a move of the task would change.

Owns the words only: `selection` judges the devices, and nothing here moves a task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from starloom.core.placement.feasible import Candidate, is_named
from starloom.core.state.model import Fleet
from starloom_protocol.records.entities import Device, Selector, TaskSpec
from starloom_protocol.text.wording import few, utc_words
from starloom_protocol.tools.profiles import FILE_GRANTS, TAB_OS
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import DeviceLink

_TASKS_NAMED_MOST = 5
_PATHS = frozenset({"cwd", "folder", "path", "paths", "root", "under"})
"""Arguments that name files of the device on which a call runs."""


def away_words(fleet: Fleet, candidate: Candidate) -> str:
    """Return the reason of a device that is away, with the moment from which on."""
    device = fleet.devices[candidate.device]
    since = f"since {utc_words(device.link_since_ms)}"
    # The words of a page that is asleep, or of a refused agent, end with what to do: the moment is not part of that.
    return f"{candidate.words} ({since})" if device.os == TAB_OS or device.refused else f"{candidate.words} {since}"


def switch_on(fleet: Fleet, away: list[Candidate]) -> list[str]:
    """Return the first way out of waiting for devices that are off; others wake, or are let in, otherwise."""
    devices = [fleet.devices[item.device] for item in away]
    off = [device.name for device in devices if _is_off(device)]
    if not off:
        return []
    return [f"switch on {' or '.join(off[:3])}, and the task goes on"]


def _is_off(device: Device) -> bool:
    return device.link is DeviceLink.OFFLINE and device.os != TAB_OS and not device.refused


def gone_devices(fleet: Fleet, spec: TaskSpec) -> list[Device]:
    """Return the devices that a task names and that have left or were revoked, unless a present one has the name."""
    devices = []
    for selector in _parts(spec.device):
        matches = [device for device in fleet.devices.values() if is_named(selector, device)]
        if matches and all(device.revoked for device in matches):
            devices.append(max(matches, key=lambda device: device.link_since_ms))
    return devices


def lost_words(devices: Mapping[str, Device], specs: Iterable[TaskSpec]) -> list[str]:
    """Return a sentence for each gone device without which tasks of a plan can run nowhere, with these tasks."""
    tasks: dict[str, list[str]] = {}
    for spec in specs:
        each = spec.for_each
        selector = spec.device or (each.devices if each is not None else None)
        for device in _lost(devices, selector) if selector is not None and spec.group is None else ():
            tasks.setdefault(device.id, []).append(spec.id)
    return [
        f"{gone_words(devices[name])}, is gone: {few(names, _TASKS_NAMED_MOST)} cannot run"
        for name, names in tasks.items()
    ]


def _lost(devices: Mapping[str, Device], selector: Selector) -> list[Device]:
    """Return the gone devices that a selector names if it names no other."""
    if selector.id is not None or selector.name is not None:
        matches = [device for device in devices.values() if is_named(selector, device)]
        gone_too = matches and all(device.revoked for device in matches)
        return [max(matches, key=lambda device: device.link_since_ms)] if gone_too else []
    parts = [_lost(devices, part) for part in selector.any]
    return [device for part in parts for device in part] if all(parts) else []


def gone_words(device: Device) -> str:
    """Return that a device left, and when."""
    how = "left this hub" if device.left else "was revoked"
    return f"{device.name}, which {how} on {utc_words(device.link_since_ms)}"


def move_warning(fleet: Fleet, spec: TaskSpec) -> str:
    """Return what another device would do with the task's paths; empty for work that names no files of its device."""
    if not _of_files(fleet, spec):
        return ""
    names = " or ".join(dict.fromkeys(_display_name(fleet, selector) for selector in _parts(spec.device)))
    of = f", not those of {names}" if names else ""
    return f"Another device uses its own files under the same paths{of}."


def _of_files(fleet: Fleet, spec: TaskSpec) -> bool:
    tool = spec.tool or ""
    offers = (tools[tool] for tools in fleet.tools.values() if tool in tools)
    offer = next(offers, None)
    args = parse(spec.args)
    return (offer is not None and offer.grant in FILE_GRANTS) or (
        isinstance(args, dict) and not _PATHS.isdisjoint(args)
    )


def names_devices(selector: Selector | None) -> bool:
    """Tell whether a selector names devices, so that one that joins helps nothing."""
    return next(_parts(selector), None) is not None


def _parts(selector: Selector | None) -> Iterator[Selector]:
    """Yield the parts of a selector that name one device."""
    if selector is None:
        return
    if selector.id is not None or selector.name is not None:
        yield selector
    for part in selector.any:
        yield from _parts(part)


def _display_name(fleet: Fleet, selector: Selector) -> str:
    device = fleet.devices.get(selector.id or "")
    return device.name if device is not None else selector.name or selector.id or ""
