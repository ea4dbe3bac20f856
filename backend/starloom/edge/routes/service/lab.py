"""Routes of the lab, available only with `--lab`: faults, their start and end, scenarios and their runs.

The hub breaks nothing. A program of the lab that runs simulated devices asks for orders here by long poll, carries
them out by real means, and reports when each began and ended. A program holds its devices while it keeps asking; this
is not stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request

from starloom.core.state import inputs
from starloom.edge.access.credentials import new_id
from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub, LabDesk
from starloom.edge.live import entity_json
from starloom.edge.routes.bodies import FaultReport, LabHold, LabNote, NewFault, NewRun
from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import Problem, accepted
from starloom.edge.web.replies import JsonReply, Repeats, json_reply
from starloom_protocol.api.lab import (
    BreakableDevice,
    FaultAfter,
    FaultRow,
    Faults,
    FaultWhole,
    Noted,
    OrderRow,
    Orders,
    RunRow,
    ScenarioRow,
)
from starloom_protocol.api.service import Items
from starloom_protocol.records.entities import Device
from starloom_protocol.records.lab import BY_S, FAULT_MAX_S, OPEN_FAULT_STATES, FaultKind, FaultTarget, LabFault
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import Code

WAIT_MAX_S = 30.0
ABSENT_AFTER_S = 5.0
"""A holder asks again at once after each answer; one that is late by so much is gone, and holds nothing."""
_F = V1 + "/lab/faults"
_S = V1 + "/lab/scenarios"
Can = dict[FaultTarget, list[FaultKind]]


@dataclass(frozen=True, slots=True)
class _Held:
    can: Can
    until_s: float


class Holders:
    """The simulated devices that a program of the lab runs, as long as it asks for orders."""

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._runners: dict[str, _Held] = {}

    def hold(self, devices: dict[str, Can], for_s: float) -> None:
        until_s = self._monotonic_s() + for_s
        for device, can in devices.items():
            self._runners[device] = _Held(can, until_s)

    def can(self, device: str) -> Can | None:
        """Return the faults possible for a device, None if no program runs it now."""
        runner = self._runners.get(device)
        if runner is None:
            return None
        if runner.until_s < self._monotonic_s():
            del self._runners[device]
            return None
        return runner.can


class LabRoutes:
    """Everything under `/lab`."""

    def __init__(self, hub: Hub, repeats: Repeats) -> None:
        self._hub = hub
        self._repeats = repeats
        self._holders = Holders(hub.monotonic_s)

    def add_to(self, router: APIRouter) -> None:
        if not self._hub.settings.lab:
            return
        router.add_api_route(_F, self.faults, methods=["GET"])
        router.add_api_route(_F, self.ask, methods=["POST"], status_code=201)
        router.add_api_route(_F + "/{fault}", self.fault, methods=["GET"])
        router.add_api_route(_F + "/{fault}", self.heal, methods=["DELETE"])
        router.add_api_route(_F + "/{fault}/{report}", self.reported, methods=["POST"])
        router.add_api_route(V1 + "/lab/orders", self.orders, methods=["POST"])
        router.add_api_route(V1 + "/lab/notes", self.note, methods=["POST"], status_code=201)
        router.add_api_route(_S, self.scenarios, methods=["GET"])
        router.add_api_route(_S + "/{scenario}/runs", self.start, methods=["POST"], status_code=201)
        router.add_api_route(_S + "/{scenario}/runs/{run}", self.run, methods=["GET"])
        router.add_api_route(_S + "/{scenario}/runs/{run}", self.stop, methods=["DELETE"])

    async def faults(self) -> JsonReply[Faults]:
        """List the simulated devices with what can be broken of each now, and the faults that last or did."""
        fleet = self._hub.fleet
        simulated = [device for device in fleet.devices.values() if device.demo and not device.revoked]
        faults = sorted(fleet.lab_faults.values(), key=lambda fault: (-fault.asked_ms, fault.id))
        return json_reply(
            {
                "devices": [self._breakable(device) for device in sorted(simulated, key=lambda device: device.name)],
                "items": [self._shape(fault) for fault in faults],
                "for_s_most": FAULT_MAX_S,
                "next": None,
            }
        )

    def _breakable(self, device: Device) -> BreakableDevice:
        can = self._holders.can(device.id)
        why = None if can is not None else "no program of the lab runs it now"
        return {"id": device.id, "name": device.name, "can": can or {}, "why_not": why}

    async def ask(self, request: Request, body: NewFault) -> JsonReply[FaultRow]:
        """Break something of a simulated device for some seconds; a real device is refused."""

        async def make() -> JsonReply[FaultRow]:
            hub, caller = self._hub, caller_of(request)
            device = hub.fleet.device(body.device)
            identity = device.id if device is not None else body.device
            can = self._holders.can(identity)
            target = FaultTarget(body.target)
            size_s = BY_S.get(body.kind, 0.0) if body.by_s is None else body.by_s
            if body.kind is FaultKind.DELAY and not 0 < size_s <= FAULT_MAX_S:
                raise Problem(Code.BAD_REQUEST, f"a delay is more than 0 and at most {FAULT_MAX_S:g} s")
            if body.kind not in BY_S and body.by_s is not None:
                raise Problem(Code.BAD_REQUEST, f"{body.kind} has no size; leave out by_s")
            item = inputs.LabFaultAsked(
                able=can is not None and body.kind in can.get(target, ()),
                device=identity,
                fault="f-" + new_id(),
                for_ms=round(body.for_s * 1000),
                held=can is not None,
                kind=body.kind,
                size_ms=round(size_s * 1000),
                target=target,
                **caller.signed(),
            )
            accepted(await hub.inbox.ask(item))
            return json_reply(self._shape(self._find(item.fault)), 201)

        return await self._repeats.once(request, make)

    async def fault(self, fault: str) -> JsonReply[FaultWhole]:
        """Show one fault and the work that it affected: the events, and how often each task was begun."""
        record = self._find(fault)
        names = {device.id: device.name for device in self._hub.fleet.devices.values()}
        report = await self._desk().report(record, names, self._hub.now_ms())
        return json_reply({**self._shape(record), "report": report})

    async def heal(self, request: Request, fault: str) -> JsonReply[FaultRow]:
        """End a fault early; the lab reports when it is over."""
        caller, record = caller_of(request), self._find(fault)
        item = inputs.LabFaultHealAsked(fault=record.id, **caller.signed())
        accepted(await self._hub.inbox.ask(item))
        return json_reply(self._shape(self._find(fault)))

    def _find(self, identity: str) -> LabFault:
        fault = self._hub.fleet.lab_faults.get(identity)
        if fault is None:
            raise Problem(Code.NOT_FOUND, f"there is no fault {identity[:64]}")
        return fault

    def _shape(self, fault: LabFault) -> FaultRow:
        device = self._hub.fleet.devices.get(fault.device)
        return {
            "id": fault.id,
            "target": fault.target,
            "kind": fault.kind,
            "device": fault.device,
            "device_name": device.name if device is not None else fault.device,
            "for_s": fault.for_ms / 1000,
            "by_s": fault.size_ms / 1000 if fault.kind in BY_S else None,
            "state": fault.state,
            "healing": fault.healing,
            "by": fault.by,
            "note": fault.note,
            "constellations": fault.constellations,
            "asked_at": entity_json.iso(fault.asked_ms),
            "began_at": entity_json.iso(fault.began_ms),
            "ended_at": entity_json.iso(fault.ended_ms),
        }

    async def orders(
        self, request: Request, body: LabHold, wait_s: Annotated[float, Query(ge=0, le=WAIT_MAX_S)] = 0
    ) -> JsonReply[Orders]:
        """Hold simulated devices, and wait for orders to break or heal them that are not among `seen`."""
        self._holders.hold(body.devices, wait_s + ABSENT_AFTER_S)
        seen = frozenset(body.seen)
        items = self._orders(body, seen)
        if items or not wait_s:
            return json_reply({"items": items})
        fanout = self._hub.fanout
        with fanout.watch(FLEET, caller_of(request).token, request.receive) as changed:
            try:
                async with asyncio.timeout(wait_s):
                    while not (items := self._orders(body, seen)) and not (fanout.ending or changed.left):
                        await changed.wait()
                        changed.clear()
            except TimeoutError:
                items = []
        self._holders.hold(body.devices, ABSENT_AFTER_S)
        return json_reply({"items": items})

    def _orders(self, body: LabHold, seen: frozenset[str]) -> list[OrderRow]:
        items: list[OrderRow] = []
        for fault in self._hub.fleet.lab_faults.values():
            if fault.device not in body.devices or fault.state not in OPEN_FAULT_STATES:
                continue
            order = f"{fault.id}:heal" if fault.healing else fault.id
            if order not in seen:
                items.append({"order": order, **self._shape(fault)})
        return items

    async def reported(
        self, request: Request, fault: str, report: Literal["began", "ended"], body: FaultReport
    ) -> JsonReply[FaultAfter]:
        """Report that a fault began, ended or failed."""
        caller, record = caller_of(request), self._find(fault)
        if body.failed and report == "began":
            raise Problem(Code.BAD_REQUEST, "what began has not failed; say that it ended")
        item: inputs.LabFaultBegan | inputs.LabFaultEnded
        if report == "began":
            item = inputs.LabFaultBegan(by="lab", fault=record.id, id=new_id(), note=body.note, scope=caller.role)
        else:
            item = inputs.LabFaultEnded(
                by="lab", failed=body.failed, fault=record.id, id=new_id(), note=body.note, scope=caller.role
            )
        outcome: FaultAfter = accepted(await self._hub.inbox.ask(item))
        return json_reply(outcome)

    async def note(self, request: Request, body: LabNote) -> JsonReply[Noted]:
        """Note in a constellation's log what a scenario did to hub, worker, Redis, or a device of its installation."""
        caller = caller_of(request)
        noted = inputs.FaultNoted(
            by="lab", constellation=body.constellation, id=new_id(), note=body.note, scope=caller.role
        )
        value: Noted = accepted(await self._hub.inbox.ask(noted))
        return json_reply(value, 201)

    def _desk(self) -> LabDesk:
        if self._hub.lab is None:
            raise Problem(Code.NOT_FOUND, "this hub has no lab", hint="Start it with `starloom up --lab`.")
        return self._hub.lab

    async def scenarios(self) -> JsonReply[Items[ScenarioRow]]:
        """List the scenarios that came with Starloom, each with its latest run."""
        return json_reply({"items": await self._desk().scenarios(), "next": None})

    async def start(self, request: Request, scenario: str, body: NewRun | None = None) -> JsonReply[RunRow]:
        """Carry out a scenario in an installation of its own on the hub's machine; one runs at a time."""

        async def make() -> JsonReply[RunRow]:
            try:
                run = await self._desk().start(scenario, body.seed if body is not None else None)
            except RuntimeError as busy:
                raise Problem(Code.SCENARIO_BUSY, str(busy)) from busy
            except KeyError as unknown:
                raise _unknown(scenario) from unknown
            return json_reply(run, 201)

        return await self._repeats.once(request, make)

    async def run(self, scenario: str, run: str) -> JsonReply[RunRow]:
        """Show a run: its story as far as it has come, and its verdict once there is one."""
        try:
            return json_reply(self._desk().run(scenario, run))
        except KeyError as unknown:
            raise _unknown(scenario, run) from unknown

    async def stop(self, scenario: str, run: str) -> JsonReply[RunRow]:
        """End a run and everything that it started; one that has ended stays as it is."""
        try:
            return json_reply(await self._desk().stop(scenario, run))
        except KeyError as unknown:
            raise _unknown(scenario, run) from unknown


def _unknown(scenario: str, run: str = "") -> Problem:
    subject = f"run {run[:64]} of the scenario {scenario[:64]}" if run else f"scenario {scenario[:64]}"
    hint = "A hub that was started again remembers no runs." if run else "`GET /api/v1/lab/scenarios` lists them."
    return Problem(Code.NOT_FOUND, f"there is no {subject}", hint=hint)
