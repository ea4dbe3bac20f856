"""Feasible devices: those that could do a task, now or once they are back or free, and the reasons against others.

Keeps the list of a demand right as devices change. Chooses none: `selection` does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from starloom.core.placement.device_conditions import (
    courtesy_words,
    full_disk_words,
    has_full_disk,
    is_spared,
    refused_words,
)
from starloom.core.state.model import Constellation, Demand, Feasible, Fleet, Shard
from starloom.core.state.queues import ANY
from starloom.core.state.task_needs import Needs, needs_in, withheld
from starloom_protocol.records.entities import Device, Selector, TaskSpec, ToolOffer
from starloom_protocol.stream.authors import who
from starloom_protocol.tools.hub_tools import HUB_TOOLS
from starloom_protocol.tools.profiles import TAB_OS, held_back_words, is_held_back
from starloom_protocol.vocabulary import (
    NO_NOTICES,
    NOTICES,
    REPEATABLE,
    DeviceLink,
    Reason,
)

_NEAREST = (None, Reason.BUSY, Reason.DEVICE_AWAY, Reason.DEVICE_ASIDE, Reason.MISSING_SECRET, Reason.MISSING_GRANT)
"""The obstacles between a task and a device, least first; any other reason means that the device cannot do it."""

NOTIFY = "notify"
WHOLE_LOAD: Final = 1000
"""The load of a device without a free slot; a device that is spared ranks behind all loads."""
OUTSIDE: Final = "is not what the plan asks for"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One device considered for a task: whether it fits, and the reason in words."""

    device: str
    fits: bool
    reason: Reason | None
    words: str


def selects(selector: Selector, device: Device, tools: Mapping[str, ToolOffer]) -> bool:
    """Tell whether a device matches a selector, connected and free or not; a tool counts if it can be used now."""
    if selector.id is not None and device.id != selector.id:
        return False
    if selector.name is not None and device.name != selector.name and selector.name not in device.former_names:
        return False
    if selector.os is not None and device.os != selector.os:
        return False
    if any(label not in device.labels for label in selector.labels):
        return False
    if any(tool not in tools or tools[tool].unavailable is not None for tool in selector.tools):
        return False
    return not selector.any or any(selects(part, device, tools) for part in selector.any)


def judge_device(fleet: Fleet, device: Device, tool: str, selector: Selector, needs: Needs | None = None) -> Candidate:
    """Tell whether a device could do this work, now or once it is back or free; `needs` are the work's secrets."""
    offered = fleet.tools.get(device.id, {})
    if device.revoked:
        return Candidate(device.id, False, Reason.NO_CAPABLE_DEVICE, "was revoked")
    if not selects(selector, device, offered):
        return Candidate(device.id, False, Reason.NO_CAPABLE_DEVICE, _unlike_words(selector, device, offered))
    offer = offered.get(tool)
    if offer is None:
        return Candidate(device.id, False, Reason.NO_CAPABLE_DEVICE, f"does not offer {tool}")
    if is_held_back(offer, device.profile_most):
        # No grant helps here, so none is named, whether the owner has tried one or not.
        words = f"cannot do {tool}: {held_back_words(device.profile_most, device.name)}"
        return Candidate(device.id, False, Reason.NO_CAPABLE_DEVICE, words)
    # A missing grant makes a tool unavailable too; it is reported first, because a command line mends it.
    if (
        offer.grant is not None
        and offer.grant not in fleet.offers[device.id].grants
        and not is_beyond_grants(device, offer)
    ):
        words = offer.unavailable or f"{offer.grant} is not granted; on the device: starloom-agent grant {offer.grant}"
        return Candidate(device.id, False, Reason.MISSING_GRANT, words)
    if offer.unavailable is not None:
        return Candidate(device.id, False, Reason.NO_CAPABLE_DEVICE, f"cannot do {tool} now: {offer.unavailable}")
    if is_kept_from(device, selector):
        return Candidate(device.id, False, Reason.DEVICE_ASIDE, "takes only work that names it")
    if needs is not None:
        missing = withheld(needs, device, tool)
        if missing is not None:
            return Candidate(device.id, False, *missing)
    if device.link is not DeviceLink.ONLINE:
        away = "is asleep" if device.link is DeviceLink.SUSPENDED else "is off or out of reach"
        word = refused_words(device) or away
        return Candidate(device.id, False, Reason.DEVICE_AWAY, word)
    if device.draining:
        why = f": {device.drain_reason}" if device.drain_reason else ""
        return Candidate(device.id, False, Reason.DEVICE_ASIDE, f"is being drained{why}")
    if device.condition:
        if has_full_disk(device):
            return Candidate(device.id, False, Reason.DEVICE_ASIDE, f"{full_disk_words(device)}: free some space there")
        if courtesy := courtesy_words(device):
            return Candidate(device.id, False, Reason.DEVICE_ASIDE, f"takes no new work, because {courtesy}")
    if device.quarantined and not (device.probing and offer.repeatability in REPEATABLE):
        why = f": {device.aside}" if device.aside else " after faults"
        return Candidate(device.id, False, Reason.DEVICE_ASIDE, f"is set aside{why}")
    slots = fleet.offers[device.id].slots
    if fleet.used.get(device.id, 0) >= slots:
        return Candidate(device.id, False, Reason.BUSY, f"is busy ({slots} of {slots} slots)")
    return Candidate(device.id, True, None, "fits")


def asked_for(spec: TaskSpec, selector: Selector) -> Selector:
    """Return the devices that a list over devices means: `{}` is every device that can do the call of its task."""
    is_call = spec.device is None and spec.tool is not None and spec.tool not in HUB_TOOLS
    return Selector(tools=[spec.tool or ""]) if selector == ANY and is_call else selector


def is_kept_from(device: Device, selector: Selector) -> bool:
    """Tell whether a device is reserved, and this work does not name it."""
    return device.reserved and not is_named(selector, device)


def is_named(selector: Selector, device: Device) -> bool:
    """Tell whether a selector says the id or a name of a device, in itself or in one of its parts."""
    if selector.id == device.id or selector.name == device.name or selector.name in device.former_names:
        return True
    return any(is_named(part, device) for part in selector.any)


def _unlike_words(selector: Selector, device: Device, offered: Mapping[str, ToolOffer]) -> str:
    """Return how a device differs from a selector: the first tool that it lacks, where it lacks only tools."""
    if selects(msgspec.structs.replace(selector, tools=[]), device, offered):
        for tool in selector.tools:
            offer = offered.get(tool)
            if offer is None:
                return f"does not offer {tool}"
            if offer.unavailable is not None:
                return f"cannot do {tool} now: {offer.unavailable}"
    if selects(msgspec.structs.replace(selector, labels=[]), device, offered):
        return f"does not have the label {next(label for label in selector.labels if label not in device.labels)}"
    return OUTSIDE


def unknown_labels(selector: Selector, devices: Iterable[Device]) -> tuple[list[str], list[str]]:
    """Return the labels of a selector that no device has, and those that devices have."""
    labels = {label for device in devices if not device.revoked for label in device.labels}
    return [label for label in selector.labels if label not in labels], sorted(labels)


def is_beyond_grants(device: Device, offer: ToolOffer) -> bool:
    """Tell whether a device lacks something that no grant gives, such as systemd: its reason names no grant.

    The reason of a tab names a switch.
    """
    if is_held_back(offer, device.profile_most):
        return True
    is_tab = device.os == TAB_OS
    return offer.unavailable is not None and not is_tab and (offer.grant or "") not in offer.unavailable


def _could(fleet: Fleet, device: Device, tool: str, selector: Selector, needs: Needs | None) -> bool:
    return judge_device(fleet, device, tool, selector, needs).reason in (None, Reason.BUSY)


def nearest(reasons: Collection[Reason | None]) -> Reason | None:
    """Return the least obstacle between a task and a device; None if one is free."""
    return next((reason for reason in _NEAREST if reason in reasons), Reason.NO_CAPABLE_DEVICE)


def offering(fleet: Fleet, tool: str) -> list[Device]:
    """Return the devices that offer a tool; most of a large fleet may not, and is not looked at."""
    return [fleet.devices[device] for device in fleet.tool_sets.offering(tool) if device in fleet.devices]


def able(fleet: Fleet, tool: str, selector: Selector, needs: Needs | None = None) -> list[str]:
    """Return the devices that could do this work when free; demonstration devices only if no real one can."""
    fits = [device for device in offering(fleet, tool) if _could(fleet, device, tool, selector, needs)]
    real = [device for device in fits if not device.demo]
    devices = fits if selector != ANY or not real else real
    if tool == NOTIFY:
        # Somebody has to see it; where nobody could, the first one says so.
        devices = [device for device in devices if not is_blind(fleet, device)] or devices
    return [device.id for device in devices]


def is_blind(fleet: Fleet, device: Device) -> bool:
    """Tell whether a device says that it has nothing to show a notice on."""
    offer = fleet.offers.get(device.id)
    return offer is not None and offer.facts.get(NOTICES) == NO_NOTICES


def is_able(shard: Shard, constellation: Constellation, spec: TaskSpec) -> bool:
    """Tell whether a device could do a task when free; a queued task's demand knows it."""
    key = shard.queued.get((constellation.name, spec.id))
    demand = shard.demands.get(key) if key is not None else None
    if demand is not None:
        return bool(capable(shard.fleet, demand))
    needs = needs_in(shard.access, constellation, spec)
    return is_able_for(shard.fleet, spec.tool or "", spec.device or ANY, needs)


def is_able_for(fleet: Fleet, tool: str, selector: Selector, needs: Needs | None = None) -> bool:
    """Tell whether a device could do this work when free; looks no further than the first one."""
    return any(_could(fleet, device, tool, selector, needs) for device in offering(fleet, tool))


def elsewhere(shard: Shard, constellation: Constellation, spec: TaskSpec, device: str) -> list[str]:
    """Return the other devices that could do a task when free."""
    needs = needs_in(shard.access, constellation, spec)
    return [other for other in able(shard.fleet, spec.tool or "", spec.device or ANY, needs) if other != device]


def capable(fleet: Fleet, demand: Demand) -> list[Feasible]:
    """Return the devices that could do the work of this demand when free, cached until one of them changes."""
    secrets = demand.needs.access.secrets_revision if demand.needs is not None else 0
    if demand.fleet_seen != fleet.revision or demand.secrets_seen != secrets:
        if demand.fleet_seen < 0 or demand.secrets_seen != secrets or not _is_current(fleet, demand):
            _rebuild(fleet, demand)
        demand.fleet_seen, demand.secrets_seen = fleet.revision, secrets
    return demand.feasible


def _is_current(fleet: Fleet, demand: Demand) -> bool:
    """Tell whether the list of a demand is still right; only the devices that changed since are looked at."""
    if fleet.reordered > demand.fleet_seen:
        return False
    changed = fleet.changed
    for identity in reversed(changed):
        if changed[identity] <= demand.fleet_seen:
            break
        device, place = fleet.devices.get(identity), demand.places.get(identity)
        fits = device is not None and _could(fleet, device, demand.tool, demand.selector, demand.needs)
        if fits is (place is None):
            return False
        if device is not None and place is not None:
            item = demand.feasible[place]
            if (fleet.offers[identity].slots, _is_spared(device)) != (item.slots, item.is_spared):
                return False
    return True


def _rebuild(fleet: Fleet, demand: Demand) -> None:
    """Make the list of a demand from all devices that offer its tool."""
    devices = [fleet.devices[device] for device in able(fleet, demand.tool, demand.selector, demand.needs)]
    devices.sort(key=lambda device: (device.name, device.id))
    demand.feasible = []
    for place, device in enumerate(devices):
        is_last = _is_spared(device)
        idle_rank = place + (WHOLE_LOAD * len(devices) if is_last else 0)
        demand.feasible.append(Feasible(device.id, fleet.offers[device.id].slots, is_last, idle_rank))
    demand.spares = any(item.is_spared for item in demand.feasible)
    demand.people = frozenset(who(device.let_in_by) for device in devices)
    demand.free_seen = -1
    demand.places = {item.device: place for place, item in enumerate(demand.feasible)}
    demand.paced.clear()


def _is_spared(device: Device) -> bool:
    return bool(device.condition) and is_spared(device)
