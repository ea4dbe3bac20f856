"""The ends in the fleet of a restored history: gone and reserved devices, used join codes, permissions taken back."""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.fleet import devices
from starloom.core.state.inputs import ENDED, EndedRights
from starloom.core.state.work import Put, Work
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind


def end_rights(work: Work, ended: EndedRights) -> None:
    """End them by the events that they have at any other time; idempotent."""
    fleet = work.shard.fleet
    for name, how in ended.devices.items():
        device = fleet.devices.get(name)
        if device is not None and not device.revoked:
            devices.revoke(work, device, ENDED, left=how == "left")
    for name in ended.reserved:
        device = fleet.devices.get(name)
        if device is not None:
            devices.reserve(work, device, note=ENDED)
    for name in ended.enrollments:
        code = fleet.enrollments.get(name)
        if code is not None and code.state in ("open", "asking"):
            denied = replace(code, state="denied", reason=ENDED)
            puts: list[Put] = [("enrollment", name, denied)]
            work.emit(fleet, EventKind.ENROLLMENT_DENIED, name, puts, note=ENDED, by=ENGINE)
    for name in ended.standing:
        if name in fleet.standing:
            work.emit(fleet, EventKind.STANDING_REVOKED, name, [("standing", name, None)], note=ENDED, by=ENGINE)
