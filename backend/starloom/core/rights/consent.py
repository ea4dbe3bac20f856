"""Consent of a person to a plan or a schedule, and whether a later plan goes beyond it. Pure; never asks a person.

A consent is bound to the hash of a plan and to its reach on the fleet of that day: devices, the grants of their owners,
effects. The same plan is no longer approved on a fleet where it reaches further. A schedule is bound to the devices
that its plan names, whether it needed a consent or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from starloom.core.placement.feasible import selects
from starloom.core.rights.call_effects import ways_of
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.queues import ANY
from starloom_protocol.records.entities import Device, Selector, TaskSpec
from starloom_protocol.records.schedules import Consent
from starloom_protocol.text.wording import listed
from starloom_protocol.vocabulary import Effect, Repeatability

APPROVAL: Final = "approval"
"""The kind of the question about a plan as a whole."""
ALLOW, DENY, ALWAYS = "allow", "deny", "always"
FIRST: Final = "approve-plan"
"""The name of the first question about a plan."""


def is_unapproved(constellation: Constellation) -> bool:
    """Tell whether a plan was asked about and nobody has allowed it."""
    questions = constellation.questions.values() if FIRST in constellation.questions else ()
    return bool(questions) and not any(one.kind == APPROVAL and one.answer in (ALLOW, ALWAYS) for one in questions)


def consent_to(
    fleet: Fleet, specs: Iterable[TaskSpec], effects: Sequence[Effect], *, plan_hash: str, by: str, at_ms: int
) -> Consent:
    """Return the consent to a plan with its reach over the present fleet."""
    tasks = list(specs)
    by_id = {spec.id: spec for spec in tasks}
    devices: dict[str, None] = {}
    grants: dict[str, None] = {}
    affected: set[str] = set()
    for way in (way for spec in tasks for way in ways_of(spec)):
        if way.tool is None or way.key is not None:
            continue
        for device in may_run_on(fleet, way, by_id):
            devices[device] = None
            tool = fleet.tools[device][way.tool]
            if tool.grant is not None:
                grants[tool.grant] = None
            if tool.effects or tool.grant is not None or tool.repeatability is not Repeatability.PURE:
                affected.add(device)
    return Consent(
        at_ms=at_ms,
        by=by,
        computing=sorted(devices.keys() - affected),
        devices=sorted(devices),
        effects=sorted(effects),
        grants=sorted(grants),
        hash=plan_hash,
    )


def may_run_on(fleet: Fleet, spec: TaskSpec, specs: Mapping[str, TaskSpec]) -> list[str]:
    """Return the devices, connected or not, to which a call of a plan could be given."""
    return devices_for_tool(fleet, spec.tool or "", selector_of(spec, specs))


def selector_of(spec: TaskSpec, specs: Mapping[str, TaskSpec]) -> Selector:
    """Return the selector of the devices to which a task, or its family, may go."""
    if spec.device is not None:
        # The children of a group over devices go there, too, whatever device their item is.
        return spec.device
    root = specs.get(spec.family or spec.id, spec)
    if spec.for_each is not None and root.for_each is not None and root.for_each.devices is not None:
        return root.for_each.devices
    return ANY


def devices_for_tool(fleet: Fleet, tool: str, selector: Selector) -> list[str]:
    """Return the devices, connected or not, that could be given this work, by the preference of placement."""
    devices = [
        device
        for device in fleet.devices.values()
        if not device.revoked
        and tool in fleet.tools.get(device.id, {})
        and selects(selector, device, fleet.tools[device.id])
    ]
    real = [device for device in devices if not device.demo]
    return [device.id for device in (real if selector == ANY and real else devices)]


def named_devices(fleet: Fleet, specs: Iterable[TaskSpec]) -> dict[str, str]:
    """Return the ids of the devices that a plan names, by name; names that no device has are left out."""
    tasks = list(specs)
    by_id = {spec.id: spec for spec in tasks}
    ways = (way for spec in tasks for way in ways_of(spec))
    devices = (one for way in ways for one in _devices_by_name(fleet, selector_of(way, by_id)))
    return {name: device.id for name, device in devices}


def _devices_by_name(fleet: Fleet, selector: Selector) -> Iterator[tuple[str, Device]]:
    device = fleet.named(selector.name) if selector.name is not None else None
    if selector.name is not None and device is not None:
        yield selector.name, device
    by_id = fleet.devices.get(selector.id or "")
    if by_id is not None:
        yield by_id.name, by_id
    for part in selector.any:
        yield from _devices_by_name(fleet, part)


def moved_names(bound: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return, in words, the names that mean other devices than those to which a schedule is bound."""
    names = sorted(name for name, device in now.items() if bound.get(name, device) != device)
    return [_another_device_words(names)] if names else []


def _another_device_words(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"the name {names[0]} now belongs to another device than the one that was approved"
    return f"the names {listed(names)} now belong to other devices than those that were approved"


def beyond(consent: Consent, now: Consent, fleet: Fleet) -> list[str]:
    """Return, in words, the ways in which `now` goes beyond a consent; empty if it covers everything."""
    wider: list[str] = []
    if now.hash != consent.hash:
        wider.append("the plan has changed")
    devices = [device for device in now.devices if device not in consent.devices]
    names = [fleet.devices[device].name if device in fleet.devices else device for device in devices]
    approved = {fleet.devices[device].name for device in consent.devices if device in fleet.devices}
    if others := [name for name in names if name in approved]:
        wider.append(_another_device_words(others))
    if new := [name for name in names if name not in approved]:
        wider.append(f"it may now use {', '.join(new)}")
    grants = [grant for grant in now.grants if grant not in consent.grants]
    if grants:
        wider.append(f"it now needs {', '.join(grants)}")
    effects = [effect for effect in now.effects if effect not in consent.effects]
    if effects:
        wider.append(f"it may now {', '.join(effects)}")
    return wider
