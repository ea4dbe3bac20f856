"""What must be true of the fleet: who lets a device in, what a revoked key is refused, and who answers for a device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom_protocol.records.entities import Device
from starloom_protocol.stream.authors import is_assistant
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import FLEET, Event
from starloom_protocol.vocabulary import ROLE_RANK, Role
from tests.sim.people.course import Course, Puts, begins
from tests.sim.people.owners import DeviceOwner
from tests.sim.people.site import PutBack


class FleetRules:
    """`answers` has each answer to a question of a device that a person gave, by device and action."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], set[tuple[bool, str]]] = {}

    def at(self, now: Course, event: Event, puts: Puts) -> Iterator[str]:
        if event.stream == FLEET:
            for key, record in puts.items():
                before = now.streams[FLEET].get(key)
                if isinstance(record, Device):
                    yield from _changed(now, event, before, record, puts)
            if event.kind == EventKind.DEVICE_ASK_ANSWERED:
                yield from self._answered(now, event, puts)
        devices = now.of_kind(FLEET, "device")
        for task, number, attempt in begins(now, event, puts):
            device, spec = devices.get(attempt.device), (now.streams.get(event.stream, {}) | puts)[f"spec/{task}"]
            if device is None or device.revoked:
                yield f"{event.stream}/{task}, attempt {number}, begins on {attempt.device}, which is not in the fleet"
            elif device.reserved and spec.device is None:
                yield f"{event.stream}/{task}, attempt {number}, begins on {device.name}, which is reserved"

    def _answered(self, now: Course, event: Event, puts: Puts) -> Iterator[str]:
        if is_assistant(event.by) or not now.has_right(event.by, Role.APPROVER):
            yield f"{event.by} answered {event.note} of {event.about}, and may not"
        asks: Any = puts[f"asks/{event.about}"]
        for ask in asks.open:
            if ask.answer:
                self.answers.setdefault((event.about, ask.action), set()).add((ask.answer == "allow", ask.answered_by))

    def after(self, now: Course, events: list[Event]) -> Iterator[str]:
        yield from ()

    def given(self, owners: dict[str, DeviceOwner], restores: list[PutBack]) -> Iterator[str]:
        """What came to a device as an answer is one that a person gave; a restore may have taken that away."""
        for device, owner in owners.items():
            yield from owner.violations
            for answer in owner.given:
                known = self.answers.get((device, answer.action), set())
                if (answer.allow, answer.by) not in known and not restores:
                    yield f"{device} was told that {answer.by} answered {answer.action} by {answer.allow}: {known}"


def _changed(now: Course, event: Event, before: Device | None, after: Device, puts: Puts) -> Iterator[str]:
    if before is None:
        yield from _joined(now, after, puts)
        return
    if before.revoked and not after.revoked:
        yield f"{after.id} was revoked, and is in the fleet again by {event.kind} of {event.by}"
    if (before.joined_ms, before.key, before.profile_most) != (after.joined_ms, after.key, after.profile_most):
        yield f"{after.id} has joined, and is made anew by {event.kind} of {event.by}"
    if after.reports < before.reports:
        yield f"{after.id} has sent report {before.reports}, and counts from {after.reports} again"
    if before.reserved and not after.reserved and event.kind != EventKind.DEVICE_SHARED:
        yield f"{after.id} is reserved no more after {event.kind}"


def _joined(now: Course, device: Device, puts: Puts) -> Iterator[str]:
    """A device comes in by a code that stood, of somebody who may add devices at that moment."""
    codes = [(key.removeprefix("enrollment/"), one) for key, one in puts.items() if key.startswith("enrollment/")]
    code = next((one for _name, one in codes if one.device == device.id), None)
    if code is None:
        yield f"{device.id} has joined by no code"
        return
    before: Any = now.of_kind(FLEET, "enrollment").get(code.id)
    if before is None or before.state not in ("open", "asking"):
        yield f"{device.id} has joined by the code {code.id}, which is {before and before.state}"
    maker = now.principals().get(code.owner)
    if maker is not None and (ROLE_RANK[maker.role] < ROLE_RANK[Role.OPERATOR] or now.is_over(code.token)):
        yield f"{device.id} has joined by the code {code.id} of {maker.name}, who may not add devices any more"
