"""The ends in the fleet of a restored history: gone and reserved devices, used join codes, permissions taken back."""

from __future__ import annotations

from starloom.core.fleet import devices, pairing
from starloom.core.state.inputs import ENDED, EndedRights
from starloom.core.state.work import Work
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind


def end_rights(work: Work, ended: EndedRights) -> None:
    """End each right by the event that ends it at any other time; safe to repeat."""
    fleet = work.shard.fleet
    for name, ending in ended.devices.items():
        device = fleet.devices.get(name)
        if device is not None and not device.revoked:
            devices.revoke(work, device, ENDED, left=ending == "left")
    for name in ended.reserved:
        device = fleet.devices.get(name)
        if device is not None:
            devices.reserve(work, device, note=ENDED)
    pairing.end_codes(work, ended.enrollments, ENDED, by=ENGINE)
    for name in ended.standing:
        if name in fleet.standing:
            work.emit(fleet, EventKind.STANDING_REVOKED, name, [("standing", name, None)], note=ENDED, by=ENGINE)
