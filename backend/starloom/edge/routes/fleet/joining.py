"""Joining of devices, before they have any right: join.py, its packages, and the redeeming of a join code.

Everything here is anonymous and limited by address. A wrong code never reaches the engine; every refusal says why.
"""

from __future__ import annotations

import base64
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, Response

from starloom.core.state import inputs
from starloom.edge.access.credentials import code_hash, new_id
from starloom.edge.access.rate_limits import others_words
from starloom.edge.access.refusals import DeviceRefusal
from starloom.edge.agents.hub_keys import public_key
from starloom.edge.hub import Hub
from starloom.edge.routes.bodies import Join
from starloom.edge.routes.fleet.agent_wheels import Wheels
from starloom.edge.web.problems import Problem, accepted
from starloom.edge.web.replies import JsonReply, json_reply
from starloom_protocol.api.fleet import JoinState, WheelRow
from starloom_protocol.records.entities import Enrollment
from starloom_protocol.tools.profiles import exceeds
from starloom_protocol.vocabulary import Code, Profile
from starloom_protocol.wire.session import WORDS_HEADER, WORDS_ONCE, device_id, short_words

_REASONS = {
    "denied": "the owner denied it",
    "expired": "the code is too old",
    "used": "the code was used already",
}


class Joining:
    """Everything under `/agent`."""

    def __init__(self, hub: Hub, wheels: Wheels, join_script: Path | None, requirements: Path | None) -> None:
        self._hub = hub
        self._wheels = wheels
        self._join_script = join_script
        self._requirements = requirements

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route("/agent/join", self.join, methods=["POST"])
        router.add_api_route("/agent/join.py", self.script, methods=["GET"], include_in_schema=False)
        router.add_api_route("/agent/join/{enrollment}", self.state, methods=["GET"])
        router.add_api_route("/agent/requirements.txt", self.requirements, methods=["GET"], include_in_schema=False)
        router.add_api_route("/agent/wheels.json", self.wheels, methods=["GET"], include_in_schema=False)
        router.add_api_route("/agent/wheels/{file}", self.wheel, methods=["GET"], include_in_schema=False)

    def _unknown(self, request: Request, door: str, problem: Problem) -> Problem:
        """Return the refusal of something that this hub does not know, which may be a guess."""
        address = request.client.host if request.client else ""
        wait_s = self._hub.limits.failed(door, address)
        if not wait_s:
            return problem
        reason = f"{problem.reason}; so it was with {others_words(wait_s)}"
        return Problem(Code.RATE_LIMITED, reason, hint=problem.hint, retry_after_s=wait_s)

    async def join(self, request: Request, body: Join) -> JsonReply[JoinState]:
        """Redeem a join code with the device's own key; a refusal is shown to the owner too."""
        try:
            return await self._redeem(request, body)
        except Problem as problem:
            enrollment = self._hub.fleet.enrollment_of(code_hash(body.code))
            self._hub.refusals.note(
                DeviceRefusal(
                    at_ms=self._hub.now_ms(),
                    door="join",
                    address=request.client.host if request.client else "",
                    code=problem.code,
                    reason=problem.reason,
                    # Names that guesses bring must not push the others out of the list.
                    who="" if problem.code is Code.RATE_LIMITED else body.name,
                    enrollment=enrollment.id if enrollment is not None else "",
                )
            )
            raise

    async def _redeem(self, request: Request, body: Join) -> JsonReply[JoinState]:
        hub = self._hub
        key = public_key(body.key)
        if key is None:
            raise Problem(Code.BAD_REQUEST, "key is not an Ed25519 public key in base64 (32 bytes)")
        hashed = code_hash(body.code)
        enrollment = hub.fleet.enrollment_of(hashed)
        device = device_id(key)
        if enrollment is None:
            raise self._unknown(request, "join", Problem(Code.BAD_CODE, "there is no such join code"))
        pairing = hub.fleet.pairing_of(enrollment, device)
        if pairing.device == device and pairing.state in ("asking", "approved"):
            return json_reply(self._shape(pairing))
        self._still_good(enrollment)
        repeats = request.headers.get(WORDS_HEADER) != WORDS_ONCE
        words = short_words(hub.key.raw, key, bytes.fromhex(hashed), repeats=repeats)
        item = inputs.EnrollmentAsked(
            by=f"device:{device}",
            device=device,
            enrollment=enrollment.id,
            id=new_id(),
            key=base64.b64encode(key).decode(),
            labels=body.labels,
            name=body.name,
            os=body.os,
            profile=self._profile(body.profile, enrollment.profile_most),
            scope="device",
            words=words,
        )
        accepted(await hub.inbox.ask(item))
        return json_reply(self._shape(hub.fleet.pairing_of(hub.fleet.enrollments[enrollment.id], device)), 202)

    def _profile(self, profile: Profile, most: Profile) -> Profile:
        if exceeds(profile, most):
            raise Problem(
                Code.FORBIDDEN,
                f"this code allows the profile {most} at most; {profile} was asked for",
                hint=f"Join with --profile {most}, or make another code.",
            )
        return profile

    def _still_good(self, enrollment: Enrollment) -> None:
        state = enrollment.state
        if state == "open" and self._hub.now_ms() >= enrollment.expires_ms:
            state = "expired"
        if state != "open":
            reason = _REASONS.get(state, "another device has used this code")
            if state == "used" and enrollment.devices > 1:
                reason = f"{enrollment.used} devices have used this code, as many as it was made for"
            raise Problem(Code.BAD_CODE, f"{reason}{': ' + enrollment.reason if enrollment.reason else ''}")

    def _shape(self, enrollment: Enrollment) -> JoinState:
        state = enrollment.state
        if state in ("open", "asking") and self._hub.now_ms() >= enrollment.expires_ms:
            state = "expired"
        shape: JoinState = {
            "enrollment": enrollment.id,
            "state": "approved" if state == "used" else state,
            "device": enrollment.device,
            "labels": enrollment.labels,
            "name": enrollment.name,
            "words": enrollment.words,
            "hub_key": self._hub.key.text,
            "owner": self._owner_name(enrollment),
            "profile_most": enrollment.profile_most,
        }
        if enrollment.reason or state in _REASONS:
            shape["reason"] = enrollment.reason or _REASONS.get(state, "")
        return shape

    def _owner_name(self, enrollment: Enrollment) -> str:
        owner = self._hub.access.principals.get(enrollment.owner)
        return owner.name if owner else ""

    async def state(self, request: Request, enrollment: str) -> JsonReply[JoinState]:
        """Show the state of a pairing; its id is a secret of the device that asked."""
        pairing = self._hub.fleet.enrollments.get(enrollment)
        if pairing is None or pairing.device is None:
            raise self._unknown(request, "join_poll", Problem(Code.NOT_FOUND, "there is no such pairing"))
        return json_reply(self._shape(pairing))

    async def script(self) -> Response:
        """Serve join.py: standard library only, short enough to be read."""
        if self._join_script is None:
            raise Problem(
                Code.NOT_FOUND,
                "this hub was installed without join.py",
                hint="Install starloom-agent on the device yourself and run `starloom-agent join URL CODE`.",
            )
        return FileResponse(self._join_script, media_type="text/x-python", filename="join.py")

    async def requirements(self) -> Response:
        """Name the packages that the agent needs: versions and hashes, as this hub was tested with."""
        if self._requirements is None:
            raise Problem(
                Code.NOT_FOUND,
                "this hub was installed without the list of the agent's packages",
                hint="Install the hub from its wheel or run it from a checkout.",
            )
        return FileResponse(self._requirements, media_type="text/plain")

    async def wheels(self) -> JsonReply[list[WheelRow]]:
        """List the wheels that join.py installs, with their hashes."""
        return json_reply(await self._wheels.listing())

    async def wheel(self, file: str) -> Response:
        """Serve one of the listed wheels."""
        path = await self._wheels.path_of(file)
        return FileResponse(path, media_type="application/octet-stream", filename=file)
