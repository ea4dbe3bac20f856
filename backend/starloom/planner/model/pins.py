"""Pins: tasks that a model ties to a device that may not, or cannot, run their tool.

Pure. Owns the faults of such tasks and their ways out. A person's plan may wait for a grant; a model is told before
anybody is asked to approve what could not begin, since it may know another way or should name the grant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starloom.planner.fleet import DeviceSeen, FleetView
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Fault, TaskSpec
from starloom_protocol.vocabulary import Code

ABLE_NAMED: Final = 6


def pin_faults(plan: LoweredPlan, fleet: FleetView) -> list[Fault]:
    """Return a fault for each task whose one named device does not offer its tool, or is not allowed to run it."""
    by_key = {key: device for device in fleet.devices for key in (device.id, device.name)}
    faults = []
    for spec in plan.specs:
        pinned = spec.device.id or spec.device.name if spec.device is not None else None
        device = by_key.get(pinned or "")
        fault = _fault(spec, spec.tool, device, fleet) if device is not None and spec.tool is not None else None
        if fault is not None:
            faults.append(fault)
    return faults


def _fault(spec: TaskSpec, tool: str, device: DeviceSeen, fleet: FleetView) -> Fault | None:
    offer = device.tools.get(tool)
    if not device.tools or (offer is not None and not offer.unavailable):
        # A device that has never sent an offer may have the tool.
        return None
    others = _able(tool, fleet.devices)
    elsewhere = f"other devices that can: {', '.join(others)}" if others else "no device can"
    if offer is None:
        reason, way = f"{device.name} does not have {tool}", elsewhere
    elif offer.grant is not None and offer.grant not in device.grants:
        reason = f"the owner of {device.name} does not allow {offer.grant}, which {tool} needs"
        needs = f'{{"kind": "cannot", "needs": [{{"grant": "{offer.grant}", "device": NAME}}]}}'
        way = f"If it must be this device, answer {needs}; {elsewhere}"
    else:
        reason, way = f"{tool} cannot run on {device.name} now: {offer.unavailable}", elsewhere
    return Fault(code=Code.FORBIDDEN, hint=f"{way}.", place=f"plan, task {spec.id}, device", reason=reason)


def _able(tool: str, devices: Sequence[DeviceSeen]) -> list[str]:
    able = [device.name for device in devices if tool in device.tools and not device.tools[tool].unavailable]
    more = len(able) - ABLE_NAMED
    return [*able[:ABLE_NAMED], *([f"{more} more"] if more > 0 else [])]
