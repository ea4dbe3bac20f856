"""Devices: their connections, offers and controls, and their work when they connect, go or are revoked.

Owns the records of devices; join codes are in `pairing`. Chooses no device for a task (`core.placement`), and does not
decide how work ends that is lost with a device (`core.run.recovery`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from starloom.core.fleet import draining, hub_calls, owner_questions
from starloom.core.placement import device_conditions, pace, waiting
from starloom.core.placement.device_conditions import without_session_facts
from starloom.core.placement.device_groups import returning
from starloom.core.run import hedging, recovery
from starloom.core.run.absence import end_absence
from starloom.core.run.attempts import TOLD_TO_STOP, dispatch_of
from starloom.core.run.late_facts import ask_again
from starloom.core.state.inputs import (
    DeviceConnected,
    DeviceControlled,
    DeviceDisconnected,
    DeviceRefused,
    EnrollmentOpened,
    OfferReceived,
)
from starloom.core.state.model import Constellation
from starloom.core.state.orders import CloseDevice, SendName, SendQuery
from starloom.core.state.transitions import Trigger, Verdict, look_up
from starloom.core.state.work import Put, Refusal, Work, change_task, check_reader, fault, present, unattend
from starloom_protocol.records.entities import Device, Offer, ToolOffer
from starloom_protocol.stream.authors import ENGINE, author_of, who
from starloom_protocol.stream.events import EventKind
from starloom_protocol.text.look_alikes import called_fault, look_of
from starloom_protocol.text.wording import few
from starloom_protocol.tools.profiles import (
    TAB_OS,
    exceeds,
    held_back_words,
    is_held_back,
    is_held_back_in_part,
    is_within,
)
from starloom_protocol.values import name_fault, parse
from starloom_protocol.vocabulary import (
    REPEATABLE,
    AttemptEnd,
    Attention,
    Code,
    DeviceLink,
    EffectSeen,
    Profile,
    Reason,
    Resume,
    Role,
    TaskState,
)

CUTS_NAMED_MOST = 5
"""The parts of an offer that the sentence about its cuts names."""
FORMER_NAMES_MOST = 8
"""Of a device that is renamed more often, the first names are forgotten: no work names it by them any more."""


def _device(work: Work, device: str) -> Device:
    record = work.shard.fleet.devices.get(device)
    if record is None:
        raise Refusal(fault(Code.UNKNOWN_DEVICE, f"there is no device {device}"))
    return record


def put_device(work: Work, kind: EventKind, device: Device, note: str = "", also: list[Put] | None = None) -> None:
    """Emit one event with a device's new record, and with the records `also` before it."""
    work.emit(work.shard.fleet, kind, device.id, [*(also or []), ("device", device.id, device)], note=note)


def on_connected(work: Work, item: DeviceConnected) -> None:
    """Take a connection of a device that proved its key: the newest session wins, its open attempts are restated."""
    device = _device(work, item.device)
    if device.revoked:
        raise Refusal(fault(Code.DEVICE_REVOKED, f"{device.name} {'has left' if device.left else 'was revoked'}"))
    if device.link is DeviceLink.ONLINE and device.session:
        work.order(
            CloseDevice(
                device=device.id, code=Code.TAKEN_OVER, reason="a newer connection took over", session=device.session
            )
        )
        if device.instance != item.instance and device.os != TAB_OS:
            # A tab is opened twice by a click; an agent was started twice, or somebody has its key.
            work.refuse(device.id, "connect", f"two agents with the key of {device.name} are there; the newer has it")
    device_conditions.exclude_sleep(work, device)
    device = work.shard.fleet.devices[device.id]
    new_ledger = device.ledger is not None and device.ledger != item.ledger
    online = replace(
        without_session_facts(device),
        expected_until_ms=0,
        link=DeviceLink.ONLINE,
        link_since_ms=work.at_ms,
        session=device.session + 1,
        instance=item.instance,
        ledger=item.ledger,
        ledger_ms=device.ledger_ms if device.ledger == item.ledger else work.at_ms,
        refused="",
        version=item.version,
    )
    put_device(work, EventKind.DEVICE_ONLINE, online)
    entries = []
    for name, task in list(work.shard.fleet.holders.get(device.id, {})):
        entry = _resume_entry(work, work.shard.constellations[name], task, new_ledger=new_ledger)
        if entry is not None:
            entries.append(entry)
    for name in list(work.shard.live):
        constellation = work.shard.constellations[name]
        for task in list(constellation.unknown):
            attempt = constellation.last_attempt(task)
            is_open = attempt is not None and attempt.end is None and not attempt.other_call
            if attempt is not None and is_open and attempt.device == device.id:
                at = constellation.lease_ref(task, constellation.tasks[task].attempt, attempt)
                entries.append({"action": Resume.RESEND, "at": at})
                # Only its ledger can show that the attempt never began.
                work.order(SendQuery(attempts=[at], device=device.id))
    returning.came_back(work)
    hub_calls.begin_deferred(work)
    draining.greet(work, online)
    ask_again(work, device.id)
    work.answer(
        {
            "entries": [{"action": item["action"], "at": msgspec.to_builtins(item["at"])} for item in entries],
            "name": device.name,
            "session": online.session,
        },
        after="commit",
    )


def _resume_entry(work: Work, constellation: Constellation, task: str, *, new_ledger: bool) -> dict[str, Any] | None:
    """Return the entry of a resume plan for an open attempt, or None where its dispatch is sent again.

    `new_ledger`: the device has lost the ledger that it had when the attempt was leased.
    """
    end_absence(work, constellation, task)
    case = present(work, constellation, task)
    record, at = case.record, case.at
    if record.state is TaskState.CANCELLING or record.reason in TOLD_TO_STOP:
        return {"action": Resume.CANCEL, "at": at}
    if record.state is TaskState.LEASED:
        if new_ledger and case.attempt.repeatability not in REPEATABLE:
            # Without the ledger it is unknown whether this attempt began.
            recovery.uncertain(case)
            return None
        # The dispatch may not have arrived; the agent answers a repeated one from its ledger.
        work.order(dispatch_of(case))
        return None
    return {"action": Resume.CONTINUE, "at": at}


def on_disconnected(work: Work, item: DeviceDisconnected) -> None:
    """Note that a device's socket is gone. That is not absence: its leases run on."""
    device = work.shard.fleet.devices.get(item.device)
    if device is None or device.session != item.session or device.link is DeviceLink.OFFLINE:
        work.ignore("a newer session has taken over")
        return
    device_conditions.exclude_sleep(work, device)
    until_ms = work.at_ms + work.shard.settings.return_ms if item.hub_ended else 0
    offline = replace(device, expected_until_ms=until_ms, link=DeviceLink.OFFLINE, link_since_ms=work.at_ms)
    put_device(work, EventKind.DEVICE_OFFLINE, offline, note=item.reason)


def on_refused(work: Work, item: DeviceRefused) -> None:
    """Note why the hub refuses the agent of a device.

    The refusal is not authenticated, so it says nothing about a device that is connected. A browser tab loads its page
    from this hub and is up to date after a reload.
    """
    device = work.shard.fleet.devices.get(item.device)
    if device is None or device.revoked or device.link is not DeviceLink.OFFLINE or device.os == TAB_OS:
        work.ignore("the device is connected or not in the fleet, or is a browser tab")
        return
    if device.refused == item.code:
        work.ignore("the reason is known")
        return
    put_device(work, EventKind.DEVICE_REFUSED, replace(device, refused=item.code.value), note=item.reason)


_WAITS_FOR_OWNER = (
    (Reason.MISSING_GRANT, Attention.MISSING_GRANT),
    (Reason.OWNER_ASKED, Attention.OWNER_ASKED),
)


def on_offer(work: Work, item: OfferReceived) -> None:
    """Take a device's present offer; tasks that waited for its owner are placed again."""
    device = _device(work, item.device)
    if device.revoked or device.session != item.session:
        work.ignore("a newer session has taken over")
        return
    offer_before = work.shard.fleet.offers.get(device.id)
    profile, offer, cuts_words = _within_join_code(device.profile_most, device.name, item.profile, item.offer)
    if offer_before == offer and (device.os, device.profile, device.over) == (item.os, profile, cuts_words):
        return
    offer = work.shard.fleet.tool_sets.share(offer)
    after = replace(device, os=item.os, over=cuts_words, profile=profile)
    put_device(work, EventKind.DEVICE_OFFER, after, cuts_words, also=[("offer", device.id, offer)])
    if cuts_words and cuts_words != device.over:
        work.refuse(device.id, "offer", cuts_words)
    for name in list(work.shard.live):
        constellation = work.shard.constellations[name]
        for reason, attention in _WAITS_FOR_OWNER:
            if attention in constellation.head.attention:
                _place_again(work, constellation, device.id, reason, attention)


class _CutOffer(NamedTuple):
    """Profile and offer of a device within the profile of its join code, and a sentence about what was cut."""

    profile: Profile
    offer: Offer
    cuts_words: str


def _within_join_code(most: Profile, name: str, profile: Profile, offer: Offer) -> _CutOffer:
    """Return profile and offer of a device within `most`, the profile of its join code.

    The sentence about the cuts is empty if nothing was cut. A tool that the profile includes and of which only the
    widest call is beyond `most` counts as uncut. The device's own policy is not changed.
    """
    if most is Profile.OPERATE:
        return _CutOffer(profile, offer, "")
    grants = [grant for grant in offer.grants if is_within(grant, most)]
    tools = [
        tool if _fits(tool, most) else replace(tool, unavailable=held_back_words(most, name)) for tool in offer.tools
    ]
    cuts = [f"the profile {profile}"] if exceeds(profile, most) else []
    cuts += sorted(set(offer.grants) - set(grants))
    cuts += [
        before.name
        for before, after in zip(offer.tools, tools, strict=True)
        if before is not after and not is_held_back_in_part(before, most)
    ]
    if not cuts:
        return _CutOffer(profile, replace(offer, tools=tools), "")
    return _CutOffer(
        most if exceeds(profile, most) else profile,
        replace(offer, grants=grants, tools=tools),
        f"{_listed(cuts)}: {held_back_words(most, name)}",
    )


def _fits(tool: ToolOffer, most: Profile) -> bool:
    """Tell whether a tool is within `most`; one that its device does not offer keeps its own reason."""
    return tool.unavailable is not None or not is_held_back(tool, most)


def _listed(cuts: Iterable[str]) -> str:
    return f"not taken over: {few(list(dict.fromkeys(cuts)), CUTS_NAMED_MOST)}"


def _place_again(work: Work, constellation: Constellation, device: str, reason: Reason, attention: Attention) -> None:
    """Place tasks that wait for a device's owner again; a grant may have been given on any device."""
    others_wait = False
    for task, record in list(constellation.tasks.items()):
        if record.reason is not reason:
            continue
        if reason is Reason.OWNER_ASKED and record.device != device:
            others_wait = True
            continue
        ready = replace(record, reason=Reason.HELD if record.held else None)
        change_task(work, constellation, task, EventKind.TASK_READY, ready, by=ENGINE)
    if not others_wait:
        unattend(work, constellation, attention)


def on_device_control(work: Work, item: DeviceControlled) -> None:
    """Carry out what a person, or the device itself, has asked about a device."""
    device = _device(work, item.device)
    control = _CONTROLS.get(item.action)
    if control is None:
        raise Refusal(fault(Code.BAD_REQUEST, f"{item.action} is not a control of a device", "action"))
    control(work, device, item)
    work.answer({"id": device.id})


def _rename(work: Work, device: Device, item: DeviceControlled) -> None:
    """Give a device a new name. Plans and schedules with its old name still mean it, until another device gets that.

    The hub tells it to a connected device; an agent of an earlier release reads it at its next connection.
    """
    name_fault = called_fault(item.value, most=63)
    if name_fault is not None:
        raise Refusal(fault(Code.BAD_REQUEST, name_fault, "name"))
    labels = device.labels if item.labels is None else checked_labels(item.labels)
    fleet, look = work.shard.fleet, look_of(item.value)
    if item.value in fleet.devices and item.value != device.id:
        # A person who writes this text means the device whose id it is.
        reason = f"the name is taken: {item.value} is the id of {fleet.name_of(item.value)}"
        raise Refusal(fault(Code.CONFLICT, reason, "name", "Choose another name."))
    looks_as_before = fleet.by_name.get(device.name) == device.id and look_of(device.name) == look
    if fleet.look_counts.get(look, 0) > looks_as_before:
        others = (name for name in fleet.by_name if name != device.name and look_of(name) == look)
        alike = next(others, item.value)
        likeness = f", and {item.value} looks like it" if alike != item.value else ""
        holder = fleet.by_name[alike]
        hint = f"Choose another name, or first give that device another one: `starloom device rename {holder} NAME`."
        reason = f"the name is taken: the device {holder} is called {alike}{likeness}"
        raise Refusal(fault(Code.CONFLICT, reason, "name", hint))
    former = [old for old in dict.fromkeys((device.name, *device.former_names)) if old != item.value]
    also: list[Put] = []
    other = fleet.devices.get(fleet.by_former_name.get(item.value, device.id))
    if other is not None and other.id != device.id:
        if not other.revoked and waiting.is_awaited(work, item.value):
            reason = f"work that has not ended means {other.name} by {item.value}, as it was asked for and approved"
            raise Refusal(fault(Code.CONFLICT, reason, "name", "Wait for its end, or cancel it, then rename."))
        other_names = [old for old in other.former_names if old != item.value]
        also.append(("device", other.id, replace(other, former_names=other_names)))
    renamed = replace(device, name=item.value, former_names=former[:FORMER_NAMES_MOST])
    put_device(work, EventKind.DEVICE_RENAMED, renamed, also=also)
    if labels != renamed.labels:
        put_device(work, EventKind.DEVICE_LABELLED, replace(renamed, labels=labels))
    if device.link is DeviceLink.ONLINE and device.name != item.value:
        work.order(SendName(device=device.id, name=item.value))


def _label(work: Work, device: Device, item: DeviceControlled) -> None:
    put_device(work, EventKind.DEVICE_LABELLED, replace(device, labels=_parsed_labels(item.value)))


def _drain(work: Work, device: Device, item: DeviceControlled) -> None:
    draining.drain(work, device, deadline_s=item.deadline_s, reason=item.reason)


def _end_drain(work: Work, device: Device, item: DeviceControlled) -> None:
    draining.resume(work, device, reason=item.reason)


def _reserve(work: Work, device: Device, _item: DeviceControlled) -> None:
    reserve(work, device)


def _share(work: Work, device: Device, _item: DeviceControlled) -> None:
    if device.reserved:
        put_device(work, EventKind.DEVICE_SHARED, replace(device, reserved=False))


def _mark_seen(work: Work, device: Device, _item: DeviceControlled) -> None:
    """Note that a person has seen which work the device remembers and this history lacks."""
    check_reader(work.by)
    if device.remembers:
        put_device(work, EventKind.HISTORY_SEEN, replace(device, remembers=""))


def _leave(work: Work, device: Device, item: DeviceControlled) -> None:
    if item.by != f"device:{device.id}":
        raise Refusal(fault(Code.FORBIDDEN, "a device leaves by its own word only; a person revokes it"))
    if not device.revoked:
        revoke(work, device, "it has left this hub", left=True)


def check_may_revoke(work: Work, device: Device, item: DeviceControlled | EnrollmentOpened) -> None:
    """Refuse the end of a device to an operator who did not let it in.

    Raises:
        Refusal: `forbidden`.
    """
    principal = work.shard.access.principals.get(device.joined_by)
    if item.scope != Role.OPERATOR or (
        principal is not None and who(item.by) == author_of(principal.kind, principal.name)
    ):
        return
    let_in = f", which {principal.name} let in," if principal is not None else ""
    reason = f"{device.name}{let_in} is revoked by an owner or by the person who let it in"
    hint = f"Ask an owner: starloom device revoke {device.name}. To give it no new work: starloom device drain."
    raise Refusal(fault(Code.FORBIDDEN, reason, hint=hint))


def _revoke_for(work: Work, device: Device, item: DeviceControlled) -> None:
    check_may_revoke(work, device, item)
    revoke(work, device, item.reason)


def _forget(work: Work, device: Device, _item: DeviceControlled) -> None:
    """Take a device that is gone out of every list. Its record stays: the log names it, and its key is refused."""
    if not device.revoked:
        hint = f"Revoke it first: starloom device revoke {device.name}."
        raise Refusal(fault(Code.CONFLICT, f"{device.name} belongs to the fleet", hint=hint))
    if device.forgotten:
        return
    offer: list[Put] = [("offer", device.id, None)] if device.id in work.shard.fleet.offers else []
    put_device(work, EventKind.DEVICE_FORGOTTEN, replace(device, forgotten=True, remembers=""), also=offer)


def _parsed_labels(value: str) -> list[str]:
    """Return labels from canonical text."""
    try:
        return checked_labels(parse(value))
    except ValueError as error:
        raise Refusal(fault(Code.BAD_REQUEST, str(error), "labels")) from error


def checked_labels(value: Any) -> list[str]:
    """Return labels from a decoded value: short names, each once and sorted."""
    if not isinstance(value, list) or len(value) > 32:
        raise Refusal(fault(Code.BAD_REQUEST, "labels are a list of at most 32 names", "labels"))
    for position, label in enumerate(value):
        reason = name_fault(label, most=63) if isinstance(label, str) else "a label is a text"
        if reason is not None:
            raise Refusal(fault(Code.BAD_REQUEST, reason, f"labels[{position}]"))
    return sorted(dict.fromkeys(value))


def reserve(work: Work, device: Device, *, note: str = "") -> None:
    """Give a device only work that names it from now on; the work that it has continues."""
    if not device.reserved:
        put_device(work, EventKind.DEVICE_RESERVED, replace(device, reserved=True), note)


def revoke(work: Work, device: Device, reason: str, *, left: bool = False) -> None:
    """Take a device out of the fleet: its key is refused from now on, and its open work goes elsewhere."""
    revoked = replace(device, left=left, revoked=True, link=DeviceLink.OFFLINE, link_since_ms=work.at_ms)
    removals: list[Put] = [("health", device.id, None)] if device.id in work.shard.fleet.health else []
    removals += pace.forget_device(work, device.id)
    put_device(work, EventKind.DEVICE_LEFT if left else EventKind.DEVICE_REVOKED, revoked, reason, also=removals)
    owner_questions.forget(work, device.id)
    work.order(CloseDevice(device=device.id, code=Code.DEVICE_REVOKED, reason=reason or "revoked by a person"))
    hedging.end_hedges_of(work, device.id)
    for name, task in list(work.shard.fleet.holders.get(device.id, {})):
        case = present(work, work.shard.constellations[name], task)
        if look_up(case.record.state, Trigger.GIVEN_UP).verdict is not Verdict.ACT:
            continue
        if case.attempt.repeatability not in REPEATABLE:
            recovery.uncertain(case)
        elif case.record.state is TaskState.CANCELLING:
            ended_case = case.with_attempt(end=AttemptEnd.REVOKED, ended_ms=work.at_ms, effect=EffectSeen.MAYBE)
            if hedging.take_over(ended_case):
                continue
            reason_kept = Reason.HOPELESS if case.record.reason is Reason.HOPELESS else None
            ended_case.emit(EventKind.TASK_CANCELLED, case.moved(TaskState.CANCELLED, reason=reason_kept), by=ENGINE)
        else:
            recovery.lost(case, "reassign")
    waiting.device_gone(work, revoked)


_CONTROLS: Final[Mapping[str, Callable[[Work, Device, DeviceControlled], None]]] = {
    "drain": _drain,
    "forget": _forget,
    "label": _label,
    "leave": _leave,
    "rename": _rename,
    "reserve": _reserve,
    "resume": _end_drain,
    "revoke": _revoke_for,
    "seen": _mark_seen,
    "share": _share,
}
