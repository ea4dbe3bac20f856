"""Routes of vital figures: the lines of devices over the last hour, and the work of devices since a moment."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from starloom.edge.access.guard import V1
from starloom.edge.agents.vital_lines import ASKED_MAX
from starloom.edge.hub import Hub
from starloom.edge.live.failed_work import FailedWork
from starloom.edge.web.problems import Problem
from starloom.edge.web.replies import JsonReply, json_reply
from starloom_protocol.api.service import Items
from starloom_protocol.records.fleet import DeviceWork, Vitals
from starloom_protocol.vocabulary import Code, ConstellationState

Devices = Annotated[
    list[str] | None, Query(max_length=ASKED_MAX, description="ids or names; without any: the first ones by name")
]


class VitalRoutes:
    """`/vitals` and `/device-work`."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._failed = FailedWork(hub.reads, hub.headlines)

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(V1 + "/vitals", self.vitals, methods=["GET"])
        router.add_api_route(V1 + "/device-work", self.work, methods=["GET"])

    def _ids_of(self, devices: list[str] | None) -> list[str]:
        """Return ids; of a fleet all that are in it, by name."""
        fleet = self._hub.fleet
        if not devices:
            present = (device for device in fleet.devices.values() if not device.revoked)
            return [device.id for device in sorted(present, key=lambda device: (device.name, device.id))]
        ids = []
        for text in devices:
            device = fleet.device(text)
            if device is None:
                raise Problem(Code.NOT_FOUND, f"there is no device {text[:64]}", hint="See `starloom devices`.")
            ids.append(device.id)
        return ids

    async def vitals(self, device: Devices = None) -> JsonReply[Vitals]:
        """Show load, memory, disk, battery and latency of devices over the last hour, as this hub has heard them."""
        return json_reply(self._hub.vitals.of(self._ids_of(device)))

    async def work(
        self, since_ms: Annotated[int, Query(ge=0, le=2**53)], device: Devices = None
    ) -> JsonReply[Items[DeviceWork]]:
        """Count the constellations asked for since a moment that had work on each device, by their state now."""
        ids = self._ids_of(device)[:ASKED_MAX]
        counts = await self._hub.reads.device_work(ids, since_ms)
        failing = [name for name, states in counts.items() if states.get(ConstellationState.FAILED)]
        failed = await self._failed.count(failing, since_ms) if failing else {}
        items = [
            DeviceWork(
                constellations={ConstellationState(state): count for state, count in counts.get(name, {}).items()},
                device=name,
                failed_here=failed.get(name, 0),
            )
            for name in ids
        ]
        return json_reply({"items": items, "next": None})
