"""Requests that a device signs with its own key, outside a connection: to leave this hub, to be upgraded.

A device acts for itself only: its id is made from its key, and the signature covers this hub and the device's nonce.
"""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import TypeVar

from fastapi import APIRouter, Request

from starloom.core.state import inputs
from starloom.edge.access.credentials import new_id
from starloom.edge.access.refusals import DeviceRefusal
from starloom.edge.agents.hub_keys import public_key, verifies
from starloom.edge.hub import Hub
from starloom.edge.routes.bodies import SignedBody
from starloom.edge.routes.fleet.agent_wheels import Wheels
from starloom.edge.web.problems import Problem, accepted
from starloom.edge.web.replies import JsonReply, json_reply
from starloom_protocol.api.fleet import LeftHub, OfferedAgent, SignedAnswer
from starloom_protocol.records.entities import Device
from starloom_protocol.vocabulary import Code
from starloom_protocol.wire.channel import LEAVE, UPGRADE, answer_bytes, request_bytes

DOOR = "signed"

_Said = TypeVar("_Said")


class Signed:
    """The routes of signed requests."""

    def __init__(self, hub: Hub, wheels: Wheels, requirements: Path | None) -> None:
        self._hub = hub
        self._wheels = wheels
        self._requirements = requirements

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route("/agent/leave", self.leave, methods=["POST"])
        router.add_api_route("/agent/upgrade", self.upgrade, methods=["POST"])

    async def leave(self, request: Request, body: SignedBody) -> JsonReply[SignedAnswer[LeftHub]]:
        """Remove a device that asks for it with its key; a repeated request gets the same answer."""
        device = self._device(request, LEAVE, body)
        item = inputs.DeviceControlled(
            action="leave", by=f"device:{device.id}", device=device.id, id=new_id(), scope="device"
        )
        accepted(await self._hub.inbox.ask(item))
        return self._answer(LEAVE, body, {"left": True, "name": device.name})

    async def upgrade(self, request: Request, body: SignedBody) -> JsonReply[SignedAnswer[OfferedAgent]]:
        """Name the agent that this hub hands out, with the hash of each file, for the device to install on its own."""
        device = self._device(request, UPGRADE, body)
        if device.revoked:
            raise Problem(
                Code.DEVICE_REVOKED,
                f"{device.name} was revoked, so this hub hands it no agent",
                hint="Leave the hub (starloom-agent leave), then join with a fresh line of `starloom enroll`.",
            )
        files = await self._wheels.listing()
        if self._requirements is None:
            raise Problem(
                Code.NOT_FOUND,
                "this hub was installed without the list of the agent's packages",
                hint="Install the hub from its wheel or run it from a checkout.",
            )
        pins = hashlib.sha256(await asyncio.to_thread(self._requirements.read_bytes)).hexdigest()
        return self._answer(UPGRADE, body, {"name": device.name, "requirements": pins, "wheels": files})

    def _device(self, request: Request, action: str, body: SignedBody) -> Device:
        """Return the device that signed the request.

        Raises:
            Problem: no device of this fleet did; one reason for all cases, so that it does not reveal which ids exist.
        """
        hub = self._hub
        device = hub.fleet.devices.get(body.device)
        key = public_key(device.key) if device is not None else None
        signed = request_bytes(action, hub=hub.key.text, device=body.device, nonce=body.nonce)
        if device is not None and key is not None and verifies(key, body.signature, signed):
            return device
        address = request.client.host if request.client else ""
        wait_s = hub.limits.failed(DOOR, address)
        code = Code.RATE_LIMITED if wait_s else Code.BAD_SIGNATURE
        reason = "no device of this hub has signed this request for it"
        claimed = "" if wait_s else body.device
        hub.refusals.note(
            DeviceRefusal(
                at_ms=hub.now_ms(), door=action, address=address, code=code, reason=reason, who=claimed, enrollment=""
            )
        )
        hint = "Only the device itself can ask this, on the hub that it has joined."
        raise Problem(code, reason, hint=hint, status=0 if wait_s else 403, retry_after_s=wait_s)

    def _answer(self, action: str, body: SignedBody, answer: _Said) -> JsonReply[SignedAnswer[_Said]]:
        key = self._hub.key
        signed = answer_bytes(action, hub=key.text, device=body.device, nonce=body.nonce, answer=answer)
        return json_reply({"answer": answer, "signature": key.sign(signed)})
