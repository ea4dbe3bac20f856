"""Whether a plan after an edit stays within the plan that was approved: devices, effects, grants, flows. Pure.

A re-plan may have been caused by text that an attacker wrote, so it gets no new power: each added or changed task may
do on a device only what the plan already did there, and values may go only where they already went.
"""

from __future__ import annotations

from collections.abc import Mapping

from starloom.core.conduct import effects_of_call
from starloom.core.consent import may_run_on
from starloom.core.model import Constellation, Fleet
from starloom_protocol.entities import Dependency, TaskSpec
from starloom_protocol.vocabulary import RISKY_EFFECTS, Effect, Gate

_ASKING = RISKY_EFFECTS | {Effect.REACH}
_SAME_WORK = ("tool", "args", "inputs", "device", "person")


def wider_than_approved(
    fleet: Fleet, constellation: Constellation, before: Mapping[str, TaskSpec], flows: Mapping[str, Dependency]
) -> list[str]:
    """Return in words what the plan as it is now may do beyond `before` with its dependencies; empty if nothing."""
    allowed = _power(fleet, before)
    calls = {(spec.tool, spec.args) for spec in before.values()}
    wider: list[str] = []
    changed: dict[str, None] = {}
    for name, spec in constellation.specs.items():
        old = before.get(name)
        if old is not None and all(getattr(old, field) == getattr(spec, field) for field in _SAME_WORK):
            continue
        changed[name] = None
        wider += _beyond(fleet, spec, constellation.specs, allowed, calls)
    ways = _ways(fleet, before, flows)
    for key, edge in constellation.deps.items():
        if edge.gate is not Gate.DATA or (key in flows and edge.target not in changed and edge.source not in changed):
            continue
        new = sorted(_ways(fleet, constellation.specs, {key: edge}) - ways)
        wider += [f"values would go from {_name(fleet, a)} to {_name(fleet, b)}" for a, b in new if a != b]
    return list(dict.fromkeys(wider))


def _beyond(
    fleet: Fleet,
    spec: TaskSpec,
    specs: Mapping[str, TaskSpec],
    allowed: Mapping[str, frozenset[Effect | str]],
    calls: set[tuple[str | None, str]],
) -> list[str]:
    if spec.tool is None:
        return []
    devices = may_run_on(fleet, spec, specs)
    if not devices:
        return [f"no device offers {spec.tool} for {spec.id}"]
    wider: list[str] = []
    for device in devices:
        powers = _powers_on(fleet, device, spec)
        new = sorted(str(power) for power in powers - allowed.get(device, frozenset()))
        if device not in allowed:
            wider.append(f"{spec.id} would use {_name(fleet, device)}")
        elif new:
            wider.append(f"{spec.id} would {', '.join(new)} on {_name(fleet, device)}")
        elif powers & _ASKING and ((spec.tool, spec.args) not in calls or spec.inputs):
            wider.append(f"{spec.id} would call {spec.tool} with arguments that nobody approved")
    return wider


def _power(fleet: Fleet, specs: Mapping[str, TaskSpec]) -> dict[str, frozenset[Effect | str]]:
    """Return, by device, the effects and grants that a plan has there."""
    found: dict[str, frozenset[Effect | str]] = {}
    for spec in specs.values():
        if spec.tool is None or spec.key is not None:
            continue
        for device in may_run_on(fleet, spec, specs):
            found[device] = found.get(device, frozenset()) | _powers_on(fleet, device, spec)
    return found


def _powers_on(fleet: Fleet, device: str, spec: TaskSpec) -> frozenset[Effect | str]:
    offer = fleet.tools[device][spec.tool or ""]
    grant = frozenset((offer.grant,)) if offer.grant is not None else frozenset()
    return frozenset(effects_of_call(offer, spec)) | grant


def _ways(fleet: Fleet, specs: Mapping[str, TaskSpec], deps: Mapping[str, Dependency]) -> set[tuple[str, str]]:
    """Return every pair of devices between which values may go."""
    ways: set[tuple[str, str]] = set()
    reach: dict[str, list[str]] = {}
    for edge in deps.values():
        if edge.gate is not Gate.DATA:
            continue
        for end in (edge.source, edge.target):
            if end not in reach:
                spec = specs.get(end)
                reach[end] = may_run_on(fleet, spec, specs) if spec is not None and spec.tool else []
        ways.update((a, b) for a in reach[edge.source] for b in reach[edge.target])
    return ways


def _name(fleet: Fleet, device: str) -> str:
    found = fleet.devices.get(device)
    return found.name if found is not None else device
