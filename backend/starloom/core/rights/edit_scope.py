"""The scope of edits: a plan after an edit must stay within the one before in devices, effects, grants, places, flows.

Pure. A re-plan may be caused by text of an attacker, so it gets no new power: each added or changed task may do on a
device only what the plan already did there, in the same places, and values may pass only between devices between which
they already did. A model may let another task count for a failed one only if that task is work of the same kind, was
made for this, and could not be weaker. All else is put to a person. Applies no edit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any, Final

import msgspec

from starloom.core.rights.call_effects import (
    ASKING,
    CHANGING,
    adds,
    effects_of_call,
    effects_of_task,
    named_offers,
    offers_in,
    places_of,
    repeats_effects,
    ways_of,
    work_of,
)
from starloom.core.rights.consent import devices_for_tool, may_run_on, selector_of
from starloom.core.rights.envelope import devices_of
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.queues import ANY
from starloom_protocol.records.edits import EditOperation, Supersede
from starloom_protocol.records.entities import Dependency, TaskSpec, encode_entity
from starloom_protocol.tools.hub_tools import HUB_TOOLS, controls_devices
from starloom_protocol.vocabulary import Code, Effect, Gate

_encode: Final = msgspec.json.Encoder().encode
_SAME_WAY = ("inputs", "device", "for_each", "person")


@dataclass(frozen=True, slots=True)
class _Power:
    """The power of a plan on one device: effects and grants, and the places that it changes."""

    kinds: frozenset[Effect | str]
    places: frozenset[str]

    def __or__(self, other: _Power) -> _Power:
        return _Power(self.kinds | other.kinds, self.places | other.places)


def wider_than_approved(
    fleet: Fleet,
    constellation: Constellation,
    before: Mapping[str, TaskSpec],
    flows: Mapping[str, Dependency],
    *,
    binds: bool = False,
) -> list[str]:
    """Return, in words, the power of the present plan beyond `before` and `flows`; empty if there is none.

    `binds`: an approval binds the devices of a call, so no changed call that needs one follows labels of its own.
    """
    approved = constellation.approved
    old_scope, new_scope = Scope(fleet, before, approved), Scope(fleet, constellation.specs, approved)
    changed: dict[str, TaskSpec] = {}
    for name, spec in constellation.specs.items():
        old = before.get(name)
        if old is not spec and (old is None or not same_work(old, spec)):
            changed[name] = spec
    wider: list[str] = []
    if changed:
        powers = old_scope.power()
        calls = {work_of(way) for spec in before.values() if not spec.look for way in ways_of(spec)}
        for spec in changed.values():
            for way in ways_of(spec):
                wider += _beyond(new_scope, way, powers, calls, binds=binds)
    new_edges = [
        edge
        for key, edge in constellation.deps.items()
        if edge.gate is Gate.DATA and (key not in flows or edge.target in changed or edge.source in changed)
    ]
    pairs = old_scope.device_pairs(flows.values()) if new_edges else set()
    for edge in new_edges:
        new_pairs = sorted(new_scope.device_pairs([edge]) - pairs)
        wider += [f"values would go from {fleet.name_of(a)} to {fleet.name_of(b)}" for a, b in new_pairs if a != b]
    return list(dict.fromkeys(wider))


class Scope:
    """The devices on which the calls of a plan may run, and their power there.

    Both are worked out once for all calls that differ in nothing that decides them: most tasks of a large plan call the
    same few tools, and each of these may run on many devices. `approved` has the devices that were approved for a tool
    and a selector; others that have its labels by now are none of these.
    """

    def __init__(
        self,
        fleet: Fleet,
        specs: Mapping[str, TaskSpec],
        approved: Mapping[tuple[str, bytes], frozenset[str]] = MappingProxyType({}),
    ) -> None:
        self.fleet = fleet
        self._specs = specs
        self._approved = approved
        self._where: dict[tuple[str, bytes], tuple[str, ...]] = {}
        self._by_args: dict[str, bool] = {}
        self._reached: dict[str, tuple[str, ...]] = {}

    def devices(self, way: TaskSpec) -> tuple[str, ...]:
        """Return the devices on which a call may run."""
        return self._where[self._place(way)]

    def power(self) -> dict[str, _Power]:
        """Return the power of the plan on each device."""
        powers: dict[str, _Power] = {}
        seen: set[tuple[Any, ...]] = set()
        for spec in self._specs.values():
            if spec.tool is None or spec.key is not None or spec.look:
                continue
            for way in ways_of(spec):
                place = self._place(way)
                deciding = place, *self._deciding(way)
                if deciding in seen:
                    continue
                seen.add(deciding)
                for device in self._where[place]:
                    power = _power_on(self.fleet, device, way)
                    powers[device] = powers[device] | power if device in powers else power
        return powers

    def device_pairs(self, edges: Iterable[Dependency]) -> set[tuple[str, str]]:
        """Return every pair of devices between which values may pass along edges of the plan."""
        pairs: set[tuple[str, str]] = set()
        seen: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()
        for edge in edges:
            if edge.gate is not Gate.DATA:
                continue
            ends = self._reach(edge.source), self._reach(edge.target)
            if ends not in seen:
                seen.add(ends)
                pairs.update(product(*ends))
        return pairs

    def _place(self, way: TaskSpec) -> tuple[str, bytes]:
        selector = selector_of(way, self._specs)
        place = way.tool or "", b"" if selector is ANY else _encode(selector)
        if place not in self._where:
            devices = devices_for_tool(self.fleet, place[0], selector)
            approved = self._approved.get((place[0], encode_entity(selector)))
            self._where[place] = tuple(one for one in devices if approved is None or one in approved)
        return place

    def is_bound(self, way: TaskSpec) -> bool:
        """Tell whether no label that changes leads a call to another device."""
        selector = selector_of(way, self._specs)
        return bool(selector.id or selector.name) or (way.tool or "", encode_entity(selector)) in self._approved

    def _deciding(self, way: TaskSpec) -> tuple[Any, ...]:
        """Return all that decides the power of a call on a device, beside its tool."""
        tool = way.tool or ""
        if tool not in self._by_args:
            offers = [tools[tool] for tools in self.fleet.tool_sets.different() if tool in tools]
            self._by_args[tool] = any(offer.effects_by or not CHANGING.isdisjoint(offer.effects) for offer in offers)
        if not self._by_args[tool] and not adds(way):
            return ()
        return work_of(way), tuple((item.name, item.source, item.output) for item in way.inputs)

    def _reach(self, task: str) -> tuple[str, ...]:
        """Return the devices to which values of a task may go."""
        if task not in self._reached:
            spec = self._specs.get(task)
            devices: Iterable[str] = ()
            if spec is not None and spec.goal is not None:
                devices = devices_of(self.fleet, spec)
            elif spec is not None and spec.tool:
                devices = dict.fromkeys(device for way in ways_of(spec) for device in self.devices(way))
            self._reached[task] = tuple(devices)
        return self._reached[task]


def same_work(old: TaskSpec, new: TaskSpec) -> bool:
    """Tell whether a task does the same as before, on the same devices, with values from the same tasks."""
    return work_of(old) == work_of(new) and all(getattr(old, name) == getattr(new, name) for name in _SAME_WAY)


def _beyond(
    scope: Scope, spec: TaskSpec, powers: Mapping[str, _Power], calls: set[tuple[Any, ...]], *, binds: bool
) -> list[str]:
    fleet = scope.fleet
    if spec.goal is not None:
        return [f"the goal {spec.id} would get another envelope"]
    if spec.tool is None:
        return []
    if spec.tool in HUB_TOOLS:
        return [f"{spec.id} would call {spec.tool}, which controls a device"] if controls_devices(spec.tool) else []
    devices = scope.devices(spec)
    if not devices:
        return [f"no device offers {spec.tool} for {spec.id}"]
    wider: list[str] = []
    turns = repeats_effects(spec, offers_in(fleet))
    if turns:
        wider.append(f"{spec.id} would call {spec.tool} up to {turns} times, and it does more than read")
    for device in devices:
        power, name = _power_on(fleet, device, spec), fleet.name_of(device)
        old_power = powers.get(device)
        if old_power is None:
            wider.append(f"{spec.id} would use {name}")
            continue
        kinds = sorted(str(kind) for kind in power.kinds - old_power.kinds)
        places = sorted(place for place in power.places if not _is_covered(place, old_power.places))
        if kinds:
            wider.append(f"{spec.id} would {', '.join(kinds)} on {name}")
        elif places:
            wider.append(f"{spec.id} would change {', '.join(places)} on {name}")
        elif power.kinds & ASKING and (work_of(spec) not in calls or spec.inputs):
            wider.append(f"{spec.id} would call {spec.tool} with arguments that nobody approved")
        elif power.kinds & ASKING and binds and not scope.is_bound(spec):
            wider.append(f"{spec.id} would go wherever labels lead it later, unless it names its device")
    return wider


def _is_covered(place: str, places: frozenset[str]) -> bool:
    """Tell whether a place is one that the plan changed before, or is below one."""
    if place in places:
        return True
    below = ".." not in place.replace("\\", "/").split("/")
    return below and any(one and place.startswith(f"{one.rstrip('/')}/") for one in places)


def _power_on(fleet: Fleet, device: str, spec: TaskSpec) -> _Power:
    offers = fleet.tools[device]
    offer = offers[spec.tool or ""]
    grants = frozenset(one.grant for one in named_offers(spec, offers) if one.grant is not None)
    return _Power(effects_of_call(offer, spec, offers_in(fleet)) | grants, places_of(offer, spec))


def needs_a_person(
    fleet: Fleet, constellation: Constellation, before: Mapping[str, TaskSpec], operations: Iterable[EditOperation]
) -> list[str]:
    """Return, in words, what of an applied edit a model may not say alone; `before` are the tasks before the edit."""
    reasons: list[str] = []
    for operation in operations:
        if isinstance(operation, Supersede):
            reasons += _beyond_one_successor(fleet, constellation, before, operation)
    judged = (name for name, spec in before.items() if spec.judge is not None and name not in constellation.specs)
    reasons += [f"{name} would go, and its result would not be judged" for name in judged]
    return list(dict.fromkeys(reasons))


def _beyond_one_successor(
    fleet: Fleet, constellation: Constellation, before: Mapping[str, TaskSpec], operation: Supersede
) -> list[str]:
    task, by = operation.task, operation.by
    if by is None:
        return [f"{task} would lose its successor and count by its own end again, which was decided otherwise"]
    if by in before:
        return [f"{by} was there before and was not made to do the work of {task}"]
    old, new = before[task], constellation.specs[by]
    record = constellation.record(task)
    if record.state == "cancelled" or record.code in (Code.DECLINED, Code.MARKED_FAILED):
        return [f"{task} was stopped by a decision, and {by} would do its work in spite of it"]
    if old.nested or new.nested or old.goal is not None or old.tool != new.tool or new.any_of:
        return [f"{by} would count for {task}, and is other work: {_work_words(new)} instead of {_work_words(old)}"]
    reasons = []
    if _list_terms(old, before) != _list_terms(new, constellation.specs):
        reasons.append(f"{by} would count for {task}, and is made for other items")
    offers = offers_in(fleet)
    changes = effects_of_task(old, offers) & CHANGING
    lacks = sorted(changes - effects_of_task(new, offers))
    if lacks:
        reasons.append(f"{by} would count for {task}, and does not {', '.join(lacks)}")
    if changes and not set(may_run_on(fleet, new, constellation.specs)) <= set(may_run_on(fleet, old, before)):
        reasons.append(f"{by} would count for {task}, and would change another device")
    return reasons


def _work_words(spec: TaskSpec) -> str:
    return spec.tool or ("a plan within the plan" if spec.nested else "a question to a person")


def _list_terms(spec: TaskSpec, specs: Mapping[str, TaskSpec]) -> tuple[object, ...] | None:
    """Return what a group is made over and how much of it must succeed; None for a single task."""
    if spec.for_each is None:
        return None
    root = specs.get(spec.family or spec.id, spec)
    items = root.for_each or spec.for_each
    terms = (items.source, items.output, items.devices, items.times, items.repeat, items.when_off)
    return *terms, spec.for_each.need, spec.for_each.need_count
