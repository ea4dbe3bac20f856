"""Pairing: the codes with which devices join, and the answer of a person to a device that asks.

An `Enrollment` is a join code until a device uses it, and that device's request to join afterwards. A code for several
devices stays a code: each device that uses it makes an enrollment of its own (`code_of`). A code ends with the right of
its maker. A device that has joined is in `devices`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from starloom.core.fleet.devices import check_may_revoke, checked_labels, put_device, revoke
from starloom.core.placement import waiting
from starloom.core.state.inputs import EnrollmentAsked, EnrollmentDecided, EnrollmentOpened
from starloom.core.state.work import Put, Refusal, Work, fault
from starloom_protocol.records.entities import Device, Enrollment
from starloom_protocol.stream.authors import author_of
from starloom_protocol.stream.events import EventKind
from starloom_protocol.text.look_alikes import called_fault, device_name_fault, look_of
from starloom_protocol.vocabulary import Code, Profile, Role


def on_enrollment_opened(work: Work, item: EnrollmentOpened) -> None:
    """Keep a join code that a person made, for a further device or to replace one."""
    enrollment = item.enrollment
    _check_maker(work, enrollment)
    name_fault = called_fault(enrollment.label, most=63) if enrollment.label else None
    if name_fault is not None:
        raise Refusal(fault(Code.BAD_REQUEST, name_fault, "label"))
    before = _replaced_device(work, enrollment)
    if enrollment.replaces and before is None:
        raise Refusal(fault(Code.UNKNOWN_DEVICE, f"there is no device {enrollment.replaces} to replace", "replaces"))
    if before is not None:
        check_may_revoke(work, before, item)
    work.emit(work.shard.fleet, EventKind.ENROLLMENT_OPENED, enrollment.id, [("enrollment", enrollment.id, enrollment)])
    work.answer({"id": enrollment.id})


def _check_maker(work: Work, enrollment: Enrollment) -> None:
    """Refuse a code of somebody whose right to make it was taken while it was made.

    Raises:
        Refusal: `forbidden`.
    """
    access = work.shard.access
    token = access.tokens.get(enrollment.token)
    if access.right_was_taken(access.principals.get(enrollment.owner), enrollment.token) or (
        token is not None and token.revoked_ms
    ):
        raise Refusal(fault(Code.FORBIDDEN, "the right to add devices was taken meanwhile"))


def judge_codes(work: Work) -> None:
    """End the join codes of those whose right to make them was taken."""
    access, codes = work.shard.access, work.shard.fleet.enrollments.values()
    without_right = [code.id for code in codes if access.right_was_taken(access.principals.get(code.owner), code.token)]
    end_codes(work, without_right, "the person who made the code may no longer add devices")


def end_codes(work: Work, names: Iterable[str], why: str, *, by: str | None = None) -> None:
    """End join codes that are open, and the requests of devices that nobody has let in; safe to repeat."""
    for name in names:
        code = work.shard.fleet.enrollments.get(name)
        if code is not None and code.state in ("open", "asking"):
            _deny(work, code, why, why, by=by)


def _deny(work: Work, code: Enrollment, reason: str, note: str, *, by: str | None = None) -> None:
    denied = replace(code, state="denied", reason=reason)
    puts: list[Put] = [("enrollment", code.id, denied)]
    work.emit(work.shard.fleet, EventKind.ENROLLMENT_DENIED, code.id, puts, note=note, by=by)


def on_enrollment_asked(work: Work, item: EnrollmentAsked) -> None:
    """Redeem a device's code: the device waits for a person, unless the code approves it in advance."""
    shard = work.shard
    enrollment = shard.fleet.enrollments.get(item.enrollment)
    if enrollment is None or enrollment.state != "open" or enrollment.expires_ms <= work.at_ms:
        why = "is used" if enrollment is not None and enrollment.state != "open" else "has expired"
        raise Refusal(fault(Code.BAD_CODE, f"the code {why}"))
    _refuse_known_key(work, item.device)
    _refuse_misleading(item)
    if enrollment.devices > 1:
        enrollment = _request_under_code(work, enrollment, item)
    before = _replaced_device(work, enrollment)
    name = before.name if before is not None else _free_name(work, enrollment.label or item.name, enrollment.used)
    request = replace(
        enrollment,
        state="asking",
        device=item.device,
        key=item.key,
        labels=_labels_at_joining(work, enrollment, item, name),
        name=name,
        os=item.os,
        words=item.words,
        attempts=enrollment.attempts + 1,
    )
    puts: list[Put] = [("enrollment", enrollment.id, request)]
    if enrollment.code_of:
        puts.insert(0, ("enrollment", enrollment.code_of, _code_after_use(work, enrollment.code_of)))
    work.emit(shard.fleet, EventKind.ENROLLMENT_ASKED, enrollment.id, puts)
    if enrollment.preapproved:
        _approve(work, request, item.profile)
    work.answer(
        {"device": item.device, "name": request.name, "state": "approved" if enrollment.preapproved else "asking"}
    )


def _refuse_known_key(work: Work, device: str) -> None:
    """Refuse a key that is in the fleet or was in it.

    Raises:
        Refusal: `device_revoked` or `conflict`.
    """
    existing = work.shard.fleet.devices.get(device)
    if existing is not None and existing.revoked:
        # Anyone else who has the key could come back with it.
        ending = "has left" if existing.left else "was revoked here"
        why = f"this key {ending}, as {existing.name}; make another: starloom-agent leave, then join again"
        raise Refusal(fault(Code.DEVICE_REVOKED, why))
    if existing is not None:
        why = f"this key has joined as {existing.name}; type here: starloom-agent leave, then join again"
        raise Refusal(fault(Code.CONFLICT, why))


def _labels_at_joining(work: Work, enrollment: Enrollment, item: EnrollmentAsked, name: str) -> list[str]:
    """Return the labels that a device gets if it is let in, for a person to see where one is asked.

    They are those of the code and of the device that it replaces, or of the last one of this name that is gone: a
    person gave these at the hub, and a device that joins again keeps them. Where no person sees the request, the device
    gets no label that it asks for. Nor does it get those of an earlier device of its name, if it chose that name itself
    or a code for several devices numbered it.
    """
    labels = {*enrollment.labels}
    before = _replaced_device(work, enrollment)
    if before is not None:
        return sorted({*labels, *before.labels})
    has_name_of_code = enrollment.label and not enrollment.code_of
    if has_name_of_code or not enrollment.preapproved:
        fleet = work.shard.fleet
        predecessors = [fleet.devices[device] for device in fleet.gone.get(name, {})]
        last = max(predecessors, key=lambda device: (device.link_since_ms, device.joined_ms, device.id), default=None)
        labels |= {*last.labels} if last is not None and not last.demo else set()
    if enrollment.preapproved:
        return sorted(labels)
    return checked_labels([*checked_labels(item.labels), *labels])


def _refuse_misleading(item: EnrollmentAsked) -> None:
    """Refuse texts of a device that a person would not read as one name: a person decides its request by them.

    Raises:
        Refusal: with every such text.
    """
    texts = [(f"labels[{at}]", label) for at, label in enumerate(item.labels)]
    texts += [("os", item.os)] if item.os else []
    reasons = [("name", called_fault(item.name, most=63))]
    reasons += [(place, device_name_fault(text, most=64 if place == "os" else 63)) for place, text in texts]
    faults = [fault(Code.BAD_REQUEST, reason, place) for place, reason in reasons if reason is not None]
    if faults:
        raise Refusal(*faults)


def _request_under_code(work: Work, code: Enrollment, item: EnrollmentAsked) -> Enrollment:
    """Return the request of one device under a code for several, with an id that only the device and the owner know."""
    if (code.id, item.device) in work.shard.fleet.asking:
        raise Refusal(fault(Code.CONFLICT, "this key has asked with this code already"))
    return replace(
        code, code_hash="", code_of=code.id, created_ms=work.at_ms, devices=1, id=f"e-{item.id}", used=code.used + 1
    )


def _code_after_use(work: Work, code: str) -> Enrollment:
    """Return a code for several devices after one more use; the last use closes it."""
    enrollment = work.shard.fleet.enrollments[code]
    uses = enrollment.used + 1
    return replace(enrollment, state="used" if uses >= enrollment.devices else "open", used=uses)


def _free_name(work: Work, wish: str, uses: int = 0, predecessors: Collection[str] = ()) -> str:
    """Return a name that no device has or looks like: `wish`, or that with a number.

    `uses` is the number of earlier devices of this code, to start from, and `predecessors` are gone devices whose place
    the device takes.
    """
    fleet = work.shard.fleet
    name, number = wish, max(2, uses)
    # A former name still means the device that had it: one that joins does not get its work. Nor does it get work that
    # waits for a device which is gone: a person approved it for that one.
    while (
        look_of(name) in fleet.look_counts
        or name in fleet.devices
        or name in fleet.by_former_name
        or (not fleet.gone.get(name, {}).keys() <= {*predecessors} and waiting.is_awaited(work, name))
    ):
        name, number = f"{wish}-{number}", number + 1
    return name


def _replaced_device(work: Work, enrollment: Enrollment) -> Device | None:
    """Return the device that this enrollment replaces, if it is still in the fleet."""
    device = work.shard.fleet.devices.get(enrollment.replaces)
    return None if device is None or device.revoked else device


def _approve(work: Work, enrollment: Enrollment, profile: Profile = Profile.OBSERVE) -> None:
    approved = replace(enrollment, state="approved")
    before = _replaced_device(work, enrollment)
    if before is not None:
        revoke(work, before, "another device took its place")
    predecessors = {enrollment.device or "", before.id if before is not None else ""}
    device = Device(
        demo=enrollment.demo,
        former_names=before.former_names if before is not None else [],
        id=enrollment.device or "",
        joined_by=_operator_of(work, enrollment),
        joined_ms=work.at_ms,
        key=enrollment.key or "",
        labels=enrollment.labels,
        let_in_by=_author_of(work, enrollment),
        link_since_ms=work.at_ms,
        name=_free_name(work, enrollment.name, enrollment.used, predecessors),
        os=enrollment.os,
        profile=profile,
        profile_most=enrollment.profile_most,
        reserved=before is not None and before.reserved,
    )
    put_device(work, EventKind.DEVICE_JOINED, device, also=[("enrollment", enrollment.id, approved)])
    requests = [one.id for one in work.shard.fleet.enrollments.values() if one.device == device.id]
    joined = "this key has joined by another code"
    end_codes(work, (one for one in requests if one != enrollment.id), joined)


def on_enrollment_decided(work: Work, item: EnrollmentDecided) -> None:
    """Approve or deny a request to join, after a person has compared the words."""
    enrollment = work.shard.fleet.enrollments.get(item.enrollment)
    if enrollment is None:
        raise Refusal(fault(Code.NOT_FOUND, f"there is no enrollment {item.enrollment}"))
    if enrollment.state not in ("asking", "open") or (item.allow and enrollment.state != "asking"):
        hint = "`starloom devices` lists what has joined; `starloom enroll` makes another code."
        raise Refusal(fault(Code.CONFLICT, f"this request to join is {enrollment.state} already", hint=hint))
    if item.allow:
        # A request that an earlier release left open when its key joined by another code.
        _refuse_known_key(work, enrollment.device or "")
        _approve(work, enrollment)
    else:
        _deny(work, enrollment, item.reason, item.reason or "denied by a person")
    work.answer({"state": "approved" if item.allow else "denied"})


def _operator_of(work: Work, enrollment: Enrollment) -> str:
    """Return the operator whose code let a device in, empty for an owner: owners may revoke any device."""
    principal = work.shard.access.principals.get(enrollment.owner)
    return principal.id if principal is not None and principal.role is Role.OPERATOR else ""


def _author_of(work: Work, enrollment: Enrollment) -> str:
    """Return the person whose code lets a device in; empty for the demo devices, which are nobody's own."""
    principal = work.shard.access.principals.get(enrollment.owner)
    return "" if principal is None or enrollment.demo else author_of(principal.kind, principal.name)
