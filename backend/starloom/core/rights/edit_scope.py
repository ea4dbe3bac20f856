"""The scope of edits: a plan after an edit must stay within the one before in devices, effects, grants, places, flows.

Pure. A re-plan may be caused by text of an attacker, so it gets no new power: each added or changed task may do on a
device only what the plan already did there, in the same places, and values may pass only between devices between which
they already did.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starloom.core.rights.call_effects import (
    ASKING,
    effects_of_call,
    named_offers,
    offers_in,
    places_of,
    repeats_effects,
    ways_of,
    work_of,
)
from starloom.core.rights.consent import may_run_on
from starloom.core.rights.envelope import devices_of
from starloom.core.state.model import Constellation, Fleet
from starloom_protocol.records.entities import Dependency, TaskSpec
from starloom_protocol.tools.hub_tools import HUB_TOOLS, controls_devices
from starloom_protocol.vocabulary import Effect, Gate

_SAME_WAY = ("inputs", "device", "for_each", "person")


@dataclass(frozen=True, slots=True)
class _Power:
    """The power of a plan on one device: effects and grants, and the places that it changes."""

    kinds: frozenset[Effect | str]
    places: frozenset[str]

    def __or__(self, other: _Power) -> _Power:
        return _Power(self.kinds | other.kinds, self.places | other.places)


def wider_than_approved(
    fleet: Fleet, constellation: Constellation, before: Mapping[str, TaskSpec], flows: Mapping[str, Dependency]
) -> list[str]:
    """Return, in words, the power of the present plan beyond `before` and `flows`; empty if there is none."""
    allowed = _power(fleet, before)
    calls = {work_of(way) for spec in before.values() if not spec.look for way in ways_of(spec)}
    wider: list[str] = []
    changed: dict[str, None] = {}
    for name, spec in constellation.specs.items():
        old = before.get(name)
        if old is spec or (old is not None and same_work(old, spec)):
            continue
        changed[name] = None
        for way in ways_of(spec):
            wider += _beyond(fleet, way, constellation.specs, allowed, calls)
    ways = _ways(fleet, before, flows)
    for key, edge in constellation.deps.items():
        if edge.gate is not Gate.DATA or (key in flows and edge.target not in changed and edge.source not in changed):
            continue
        new = sorted(_ways(fleet, constellation.specs, {key: edge}) - ways)
        wider += [f"values would go from {_name(fleet, a)} to {_name(fleet, b)}" for a, b in new if a != b]
    return list(dict.fromkeys(wider))


def same_work(old: TaskSpec, new: TaskSpec) -> bool:
    """Tell whether a task does the same as before, on the same devices, with values from the same tasks."""
    return work_of(old) == work_of(new) and all(getattr(old, name) == getattr(new, name) for name in _SAME_WAY)


def _beyond(
    fleet: Fleet,
    spec: TaskSpec,
    specs: Mapping[str, TaskSpec],
    allowed: Mapping[str, _Power],
    calls: set[tuple[Any, ...]],
) -> list[str]:
    if spec.goal is not None:
        return [f"the goal {spec.id} would get another envelope"]
    if spec.tool is None:
        return []
    if spec.tool in HUB_TOOLS:
        return [f"{spec.id} would call {spec.tool}, which controls a device"] if controls_devices(spec.tool) else []
    devices = may_run_on(fleet, spec, specs)
    if not devices:
        return [f"no device offers {spec.tool} for {spec.id}"]
    wider: list[str] = []
    turns = repeats_effects(spec, offers_in(fleet))
    if turns:
        wider.append(f"{spec.id} would call {spec.tool} up to {turns} times, and it does more than read")
    for device in devices:
        power, name = _power_on(fleet, device, spec), _name(fleet, device)
        given = allowed.get(device)
        if given is None:
            wider.append(f"{spec.id} would use {name}")
            continue
        new = sorted(str(kind) for kind in power.kinds - given.kinds)
        places = sorted(place for place in power.places if not _covered(place, given.places))
        if new:
            wider.append(f"{spec.id} would {', '.join(new)} on {name}")
        elif places:
            wider.append(f"{spec.id} would change {', '.join(places)} on {name}")
        elif power.kinds & ASKING and (work_of(spec) not in calls or spec.inputs):
            wider.append(f"{spec.id} would call {spec.tool} with arguments that nobody approved")
    return wider


def _covered(place: str, given: frozenset[str]) -> bool:
    """Tell whether a place is one that the plan changed before, or is below one."""
    if place in given:
        return True
    below = ".." not in place.replace("\\", "/").split("/")
    return below and any(one and place.startswith(f"{one.rstrip('/')}/") for one in given)


def _power(fleet: Fleet, specs: Mapping[str, TaskSpec]) -> dict[str, _Power]:
    """Return the power of a plan on each device."""
    found: dict[str, _Power] = {}
    for spec in specs.values():
        if spec.tool is None or spec.key is not None or spec.look:
            continue
        for way in ways_of(spec):
            for device in may_run_on(fleet, way, specs):
                power = _power_on(fleet, device, way)
                found[device] = found[device] | power if device in found else power
    return found


def _power_on(fleet: Fleet, device: str, spec: TaskSpec) -> _Power:
    offers = fleet.tools[device]
    offer = offers[spec.tool or ""]
    grants = frozenset(one.grant for one in named_offers(spec, offers) if one.grant is not None)
    return _Power(effects_of_call(offer, spec, offers_in(fleet)) | grants, places_of(offer, spec))


def _ways(fleet: Fleet, specs: Mapping[str, TaskSpec], deps: Mapping[str, Dependency]) -> set[tuple[str, str]]:
    """Return every pair of devices between which values may pass."""
    ways: set[tuple[str, str]] = set()
    reach: dict[str, list[str]] = {}
    for edge in deps.values():
        if edge.gate is not Gate.DATA:
            continue
        for end in (edge.source, edge.target):
            if end not in reach:
                spec = specs.get(end)
                reach[end] = _where(fleet, spec, specs)
        ways.update((a, b) for a in reach[edge.source] for b in reach[edge.target])
    return ways


def _where(fleet: Fleet, spec: TaskSpec | None, specs: Mapping[str, TaskSpec]) -> list[str]:
    if spec is None or not (spec.tool or spec.goal):
        return []
    if spec.goal is not None:
        return devices_of(fleet, spec)
    return list(dict.fromkeys(device for way in ways_of(spec) for device in may_run_on(fleet, way, specs)))


def _name(fleet: Fleet, device: str) -> str:
    found = fleet.devices.get(device)
    return found.name if found is not None else device
