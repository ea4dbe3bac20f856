"""Devices that a group over devices left out, with the reason: the first sentence of an answer names them.

A device is left out if the group's selector matches it, it had joined when the group expanded, and it is no item of the
group. A device without any of the tools is not matched. Never decides which devices are items; `groups` does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from starloom.core.placement.device_groups.off_devices import is_off, reported, since_words
from starloom.core.placement.feasible import asked_for, selects
from starloom.core.state.model import Constellation, Fleet
from starloom_protocol.records.entities import Device, Selector, ToolOffer
from starloom_protocol.text.wording import few, listed
from starloom_protocol.vocabulary import GroupState

DEMONSTRATION: Final = "demonstration only"
_NAMED_MOST: Final = 4


def demonstration(fleet: Fleet, selector: Selector, asked: Collection[str]) -> list[Device]:
    """Return the matching demonstration devices that were left out because a real device matches."""
    if not any(not fleet.devices[name].demo for name in asked if name in fleet.devices):
        return []
    return [
        device
        for device in _matching_but_not_asked(fleet, selector, asked)
        if device.demo and not is_off(device) and selects(selector, device, fleet.tools.get(device.id, {}))
    ]


def clause(constellation: Constellation, fleet: Fleet, now_ms: int) -> str:
    """Return the end of an answer's first sentence, which names the devices left out; empty if there are none."""
    by_why: dict[str, dict[str, None]] = {}
    done = (record.device for record in constellation.tasks.values() if record.state == "succeeded")
    busy = {device for device in done if device is not None}
    names_at_work = {fleet.devices[device].name for device in busy if device in fleet.devices}
    for name, why in _not_asked(constellation, fleet, now_ms):
        # A demonstration device that a list passed over may have done another task.
        if why != DEMONSTRATION or name not in names_at_work:
            by_why.setdefault(why, {})[name] = None
    clauses = [f"{_listed(list(names))} ({why})" for why, names in by_why.items()]
    return f"; not asked: {', '.join(clauses)}" if clauses else ""


def nobody_asked(constellation: Constellation) -> bool:
    """Whether each device of each list over devices was off, so that the answer knows nothing."""
    lists = _lists_over_devices(constellation)
    return bool(lists) and all(
        constellation.children.get(root) and len(reported(constellation, root)) == len(constellation.children[root])
        for root in lists
    )


def _lists_over_devices(constellation: Constellation) -> dict[str, Selector]:
    """Return the groups that make a task for each device, with the devices that they ask."""
    selectors: dict[str, Selector] = {}
    for root in constellation.families:
        spec = constellation.specs.get(root)
        if spec is not None and spec.for_each is not None and spec.for_each.devices is not None:
            selectors[root] = asked_for(spec, spec.for_each.devices)
    return selectors


def seen_and_unseen(constellation: Constellation, fleet: Fleet) -> tuple[list[str], set[str]]:
    """Return which groups have a result of which device, and which have none of a device that fits, as GROUP/DEVICE."""
    seen: list[str] = []
    unseen: set[str] = set()
    for root, selector in _lists_over_devices(constellation).items():
        members = list(constellation.families[root])
        asked = _items(constellation, root)
        for device in _matching_but_not_asked(fleet, selector, asked):
            if not device.demo:
                unseen.update(f"{member}/{device.id}" for member in members)
        for member in members:
            for child in constellation.children.get(member, {}):
                device_id = constellation.specs[child].key or ""
                if device_id not in fleet.devices or fleet.devices[device_id].revoked:
                    continue
                if constellation.record(child).state == "succeeded":
                    seen.append(f"{member}/{device_id}")
                else:
                    unseen.add(f"{member}/{device_id}")
    return seen, unseen


def _listed(names: list[str]) -> str:
    return few(names, _NAMED_MOST) if len(names) > _NAMED_MOST else listed(names)


def _not_asked(constellation: Constellation, fleet: Fleet, now_ms: int) -> Iterator[tuple[str, str]]:
    for root in constellation.families:
        spec, record = constellation.specs.get(root), constellation.groups.get(root)
        for_each = spec.for_each if spec is not None else None
        if spec is None or for_each is None or for_each.devices is None:
            continue
        if record is None or record.state is GroupState.WAITING:
            continue
        for member in constellation.families[root]:
            for item in reported(constellation, member):
                device = fleet.devices.get(item.key)
                name = device.name if device is not None else item.key
                yield name, f"off {since_words(item.off_since_ms, now_ms)}"
        expanded_ms = _expanded_ms(constellation, root)
        if expanded_ms is not None and not for_each.times and for_each.source is None:
            asked, selector = _items(constellation, root), asked_for(spec, for_each.devices)
            for device in _matching_but_not_asked(fleet, selector, asked):
                if device.joined_ms <= expanded_ms:
                    yield from _with_reason(fleet, selector, asked, device, expanded_ms, now_ms)


def _expanded_ms(constellation: Constellation, root: str) -> int | None:
    moments = (version.at_ms for version in constellation.versions.values() if version.trigger == root)
    return next(moments, None)


def _items(constellation: Constellation, root: str) -> set[str]:
    prefix = f"{root}/"
    return {item.key for key, item in constellation.items.items() if key.startswith(prefix)}


def _matching_but_not_asked(fleet: Fleet, selector: Selector, asked: Collection[str]) -> Iterable[Device]:
    """Yield devices that the selector matches and that were not asked, even if their tools cannot be used now."""
    for device in sorted(fleet.devices.values(), key=lambda device: device.name):
        if device.id in asked or device.revoked:
            continue
        if selects(selector, device, _all_usable(fleet.tools.get(device.id, {}))):
            yield device


def _all_usable(tools: Mapping[str, ToolOffer]) -> dict[str, ToolOffer]:
    return {name: replace(tool, unavailable=None) if tool.unavailable else tool for name, tool in tools.items()}


def _with_reason(
    fleet: Fleet, selector: Selector, asked: Collection[str], device: Device, expanded_ms: int, now_ms: int
) -> Iterator[tuple[str, str]]:
    """Yield the device with its reason; a demonstration device only if that is its only reason."""
    if device.demo and any(not fleet.devices[name].demo for name in asked if name in fleet.devices):
        if device in demonstration(fleet, selector, asked):
            yield device.name, DEMONSTRATION
        return
    if is_off(device):
        yield device.name, f"off {since_words(device.link_since_ms, now_ms)}"
        return
    lacking = _lacking(fleet, selector, device)
    if lacking:
        yield device.name, lacking
    elif device.link_since_ms > expanded_ms:
        yield device.name, "off when this began"
    else:
        yield device.name, "could not take part when this began"


def _lacking(fleet: Fleet, selector: Selector, device: Device) -> str:
    tools = fleet.tools.get(device.id, {})
    grants = fleet.offers[device.id].grants if device.id in fleet.offers else ()
    tool_names = [*selector.tools, *(tool for part in selector.any for tool in part.tools)]
    for name in tool_names:
        tool = tools.get(name)
        if tool is not None and tool.grant is not None and tool.grant not in grants:
            return f"has not granted {tool.grant}"
    return next((f"cannot do {name} now" for name in tool_names if name in tools and tools[name].unavailable), "")
