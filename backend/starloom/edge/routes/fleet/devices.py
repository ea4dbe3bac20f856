"""Routes of the fleet: devices, capabilities, enrollments as their owner sees them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from fastapi import APIRouter, Request

from starloom.core.answer.why import sleeps
from starloom.core.placement.pace import PaceIndex, index_over, slow_sentence
from starloom.core.state import inputs
from starloom.edge.access import credentials
from starloom.edge.access.guard import V1
from starloom.edge.access.refusals import DeviceRefusal
from starloom.edge.hub import Hub
from starloom.edge.live import entity_json
from starloom.edge.routes.bodies import CODE_LIFE_MOST_S, DeviceControl, Enroll, PatchDevice, Reasoned
from starloom.edge.routes.fleet.agent_wheels import Wheels
from starloom.edge.routes.fleet.browser_agent import open_again
from starloom.edge.routes.fleet.join_lines import ways
from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import Problem, accepted
from starloom.edge.web.replies import JsonReply, Repeats, json_reply
from starloom.process.computers import computers_of
from starloom_protocol.api.fleet import (
    Capability,
    DeviceDetail,
    DeviceRow,
    EnrollmentDetail,
    EnrollmentRow,
    Enrollments,
    NewEnrollment,
    RefusedRow,
)
from starloom_protocol.api.service import Items
from starloom_protocol.records.entities import Device, Enrollment, Offer
from starloom_protocol.text.wording import natural_order
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code, Effect

Action = Literal["drain", "resume", "reserve", "share", "revoke", "forget", "seen"]


class FleetRoutes:
    """Everything under `/devices`, `/capabilities` and `/enrollments`."""

    def __init__(self, hub: Hub, repeats: Repeats, wheels: Wheels) -> None:
        self._hub = hub
        self._repeats = repeats
        self._wheels = wheels

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(V1 + "/devices", self.devices, methods=["GET"])
        router.add_api_route(V1 + "/devices/{device}", self.device, methods=["GET"])
        router.add_api_route(V1 + "/devices/{device}", self.patch, methods=["PATCH"])
        router.add_api_route(V1 + "/devices/{device}/{action}", self.control, methods=["POST"])
        router.add_api_route(V1 + "/capabilities", self.capabilities, methods=["GET"])
        router.add_api_route(V1 + "/enrollments", self.enrollments, methods=["GET"])
        router.add_api_route(V1 + "/enrollments", self.enroll, methods=["POST"], status_code=201)
        router.add_api_route(V1 + "/enrollments/{enrollment}", self.enrollment, methods=["GET"])
        router.add_api_route(V1 + "/enrollments/{enrollment}/approve", self.approve, methods=["POST"])
        router.add_api_route(V1 + "/enrollments/{enrollment}/deny", self.deny, methods=["POST"])

    def _find(self, text: str) -> Device:
        found = self._hub.fleet.device(text)
        if found is None:
            present = (device.name for device in self._hub.fleet.devices.values() if not device.revoked)
            names = ", ".join(sorted(present)) or "none yet"
            raise Problem(
                Code.NOT_FOUND, f"there is no device {text[:64]}; there are: {names}", hint="See `starloom devices`."
            )
        return found

    def _devices(self, devices: Iterable[Device]) -> list[DeviceRow]:
        hub, fleet = self._hub, self._hub.fleet
        index, computers = index_over(fleet.paces), computers_of(hub.settings.home)
        return [
            entity_json.device_shape(
                device,
                fleet.offers.get(device.id),
                hub.links.running(device.id),
                fleet.health.get(device.id),
                _slow(index, device.id, fleet.offers.get(device.id)),
                computers.get(device.id, ""),
            )
            for device in devices
        ]

    async def devices(self, all: bool = False) -> JsonReply[Items[DeviceRow]]:  # noqa: A002
        """List the devices, those that are gone last; with `all` the forgotten ones, too."""
        listed = (device for device in self._hub.fleet.devices.values() if all or not device.forgotten)
        devices = sorted(listed, key=lambda device: (device.revoked, natural_order(device.name)))
        return json_reply({"items": self._devices(devices), "next": None})

    async def device(self, device: str) -> JsonReply[DeviceDetail]:
        """Show a device with its tools and their schemas, and why one is not available."""
        record = self._find(device)
        offer = self._hub.fleet.offers.get(record.id)
        hub = self._hub
        way_to_open = open_again(hub.settings.outside_url, hub.lan.state) if sleeps(record) else None
        running, health = hub.links.running(record.id), hub.fleet.health.get(record.id)
        slow = _slow(index_over(hub.fleet.paces), record.id, offer)
        keeping = computers_of(hub.settings.home).get(record.id, "")
        state = entity_json.device_state(record, offer, running, health, slow, keeping)
        return json_reply({**state, "tools": entity_json.tools_shape(offer), "open": way_to_open})

    async def patch(self, request: Request, device: str, body: PatchDevice) -> JsonReply[DeviceRow]:
        """Rename a device, or set its labels."""
        record = self._find(device)
        if body.name is not None:
            await self._control(request, record.id, "rename", "", body.name, labels=body.labels)
        elif body.labels is not None:
            await self._control(request, record.id, "label", "", canonical(body.labels))
        record = self._hub.fleet.devices.get(record.id, record)
        return json_reply(self._devices([record])[0])

    async def control(
        self, request: Request, device: str, action: Action, body: DeviceControl | None = None
    ) -> JsonReply[DeviceRow]:
        """Drain a device (with a deadline, movable work is moved), let it work again, or revoke it.

        A device that is reserved takes only work that names it, until it is shared again. `forget` takes a device that
        is gone out of the lists. `seen` acknowledges the work that the device remembers
        and this history lacks.
        """
        record, terms = self._find(device), body or DeviceControl()
        if terms.deadline_s is not None and action != "drain":
            raise Problem(Code.BAD_REQUEST, f"only a drain has a deadline, not {action}")
        deadline_s = -1 if terms.deadline_s is None else terms.deadline_s
        await self._control(request, record.id, action, terms.reason, "", deadline_s)
        record = self._hub.fleet.devices.get(record.id, record)
        return json_reply(self._devices([record])[0])

    async def _control(
        self,
        request: Request,
        device: str,
        action: str,
        reason: str,
        value: str,
        deadline_s: int = -1,
        labels: list[str] | None = None,
    ) -> None:
        caller = caller_of(request)
        controlled = inputs.DeviceControlled(
            action=action,
            deadline_s=deadline_s,
            device=device,
            labels=labels,
            reason=reason,
            value=value,
            **caller.signed(),
        )
        accepted(await self._hub.inbox.ask(controlled))

    async def capabilities(self) -> JsonReply[Items[Capability]]:
        """List tools by device: the offers of each device, their effects there, and why one is unavailable now.

        The effects of a tool are those it has on any device; a browser's may differ from a computer's.
        """
        fleet = self._hub.fleet
        items: list[Capability] = []
        for tool, devices in sorted(fleet.tools().items()):
            first = next(iter(devices.values()))
            items.append(
                {
                    "tool": tool,
                    "title": first.title,
                    "effects": [e for e in Effect if any(e in offer.effects for offer in devices.values())],
                    "repeatability": first.repeatability,
                    "grant": first.grant,
                    "devices": [
                        {
                            "id": identity,
                            "name": fleet.devices[identity].name,
                            "link": fleet.devices[identity].link,
                            "effects": list(offer.effects),
                            "unavailable": offer.unavailable,
                        }
                        for identity, offer in sorted(devices.items(), key=lambda pair: fleet.devices[pair[0]].name)
                    ],
                }
            )
        return json_reply({"items": items, "next": None})

    async def enrollments(self) -> JsonReply[Enrollments]:
        """List pairings, newest first."""
        enrollments = sorted(self._hub.fleet.enrollments.values(), key=lambda item: (-item.created_ms, item.id))
        refusals = [refused_shape(item) for item in self._hub.refusals.latest()[:50]]
        return json_reply(
            {"items": [self._shape(item) for item in enrollments[:200]], "next": None, "refused": refusals}
        )

    async def enroll(self, request: Request, body: Enroll) -> JsonReply[NewEnrollment]:
        """Make a join code: good once and for ten minutes unless asked otherwise; shown this once, with its line."""
        if body.devices > 1 and (body.replaces or body.name):
            raise Problem(Code.BAD_REQUEST, "a code for several devices neither names one nor takes the place of one")
        if body.ends_in_s > CODE_LIFE_MOST_S:
            most = f"{CODE_LIFE_MOST_S // 86_400}d"
            raise Problem(Code.BAD_REQUEST, "a join code is good for seven days at most", hint=f"Give {most} or less.")

        async def make() -> JsonReply[NewEnrollment]:
            hub, caller = self._hub, caller_of(request)
            code, now_ms = credentials.new_code(), hub.now_ms()
            enrollment = Enrollment(
                code_hash=credentials.code_hash(code),
                created_ms=now_ms,
                demo=body.demo,
                devices=body.devices,
                expires_ms=now_ms + (body.ends_in_s or hub.settings.enrollment_ttl_s) * 1000,
                id="e-" + credentials.new_id(),
                label=body.label,
                labels=sorted(dict.fromkeys(body.labels)),
                name=body.name,
                owner=caller.principal,
                preapproved=body.preapproved,
                profile_most=body.profile_most,
                replaces=self._find(body.replaces).id if body.replaces else "",
                token=caller.token,
            )
            item = inputs.EnrollmentOpened(enrollment=enrollment, **caller.signed())
            accepted(await hub.inbox.ask(item))
            if body.installs or not body.preapproved:
                self._wheels.prepare()
            return json_reply({**self._shape(enrollment), **ways(hub.settings.outside_url, code, hub.lan.state)}, 201)

        return await self._repeats.once(request, make, secret="a join code")

    def _shape(self, enrollment: Enrollment) -> EnrollmentRow:
        shape = entity_json.enrollment_shape(enrollment)
        if enrollment.state == "open" and self._hub.now_ms() >= enrollment.expires_ms:
            shape["state"] = "expired"
        return shape

    def _find_enrollment(self, identity: str) -> Enrollment:
        enrollment = self._hub.fleet.enrollments.get(identity)
        if enrollment is None:
            raise Problem(Code.NOT_FOUND, f"there is no enrollment {identity[:64]}", hint="See `starloom approvals`.")
        return enrollment

    async def enrollment(self, enrollment: str) -> JsonReply[EnrollmentDetail]:
        """Show the state of a pairing, the words to compare, and the devices refused with its code, with reasons."""
        record = self._find_enrollment(enrollment)
        refusals = [refused_shape(item) for item in self._hub.refusals.latest(record.id)]
        return json_reply({**self._shape(record), "refused": refusals})

    async def approve(
        self, request: Request, enrollment: str, body: Reasoned | None = None
    ) -> JsonReply[EnrollmentRow]:
        """Approve a device, after you have seen that the words on both screens are the same."""
        return await self._decide(request, enrollment, allow=True, reason=body.reason if body else "")

    async def deny(self, request: Request, enrollment: str, body: Reasoned | None = None) -> JsonReply[EnrollmentRow]:
        """Deny a device; it receives the reason."""
        return await self._decide(request, enrollment, allow=False, reason=body.reason if body else "")

    async def _decide(self, request: Request, enrollment: str, *, allow: bool, reason: str) -> JsonReply[EnrollmentRow]:
        caller = caller_of(request)
        record = self._find_enrollment(enrollment)
        item = inputs.EnrollmentDecided(allow=allow, enrollment=record.id, reason=reason, **caller.signed())
        accepted(await self._hub.inbox.ask(item))
        return json_reply(self._shape(self._find_enrollment(enrollment)))


def _slow(index: PaceIndex, device: str, offer: Offer | None) -> str:
    return slow_sentence(index, device, offer.tools if offer is not None else ())


def refused_shape(refusal: DeviceRefusal) -> RefusedRow:
    """Return a refusal as the API gives it."""
    return {
        "at": entity_json.iso(refusal.at_ms),
        "door": refusal.door,
        "address": refusal.address,
        "who": refusal.who,
        "code": refusal.code,
        "reason": refusal.reason,
        "times": refusal.times,
        "enrollment": refusal.enrollment,
    }
