"""Faults that a person asks the lab for: whether each is permitted, its record, and its end.

The lab's own program injects and heals them; this module keeps the requests and the lab's reports only. A fault that
the lab never starts, or whose end it never reports, is closed by a timer. At most `KEPT_MOST` records are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from starloom.core.state.inputs import LabFaultAsked, LabFaultBegan, LabFaultEnded, LabFaultHealAsked, TimerFired
from starloom.core.state.model import Fleet, Shard
from starloom.core.state.orders import ArmTimer
from starloom.core.state.work import Put, Refusal, Work, fault
from starloom_protocol.records.lab import FAULT_MAX_S, OPEN_FAULT_STATES, FaultState, LabFault
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import Code

TIMER: Final = "lab_fault"
OPEN_MOST: Final = 8
"""The most faults that may last at the same time."""
KEPT_MOST: Final = 50
"""The most records of faults; of more, the oldest that are over are removed."""
TOLD_MOST: Final = 20
"""The most constellations whose logs name a fault of their device."""
TAKEN_WITHIN_MS: Final = 10_000
"""The time in which a program of the lab takes up a request; the request has failed then."""
REPORTED_WITHIN_MS: Final = 30_000
"""The time after its end in which the lab reports it."""
NOTE_CHARS: Final = 500


def on_asked(work: Work, item: LabFaultAsked) -> None:
    """Accept a person's request for a fault: only of a simulated device, and only one that the lab can inject now.

    Raises:
        Refusal: the device is real, gone or not run by the lab; such a fault lasts already; or there are too many.
    """
    fleet = work.shard.fleet
    device = fleet.devices.get(item.device)
    if device is None or device.revoked:
        raise Refusal(fault(Code.UNKNOWN_DEVICE, f"there is no device {item.device[:64]}", "device"))
    if not device.demo:
        raise Refusal(fault(Code.NOT_SIMULATED, f"{device.name} is a real device, and the lab breaks none", "device"))
    if not 0 < item.for_ms <= FAULT_MAX_S * 1000:
        raise Refusal(fault(Code.BAD_REQUEST, f"a fault lasts more than 0 and at most {FAULT_MAX_S:g} s", "for_s"))
    if not item.held:
        reason = f"no program of the lab runs {device.name} now"
        raise Refusal(fault(Code.FAULT_IMPOSSIBLE, reason, "device", "Start the service with `starloom up --demo`."))
    if not item.able:
        raise Refusal(fault(Code.FAULT_IMPOSSIBLE, f"{item.kind} cannot happen to the {item.target} here", "kind"))
    same = (item.device, item.target, item.kind)
    lasting = [other for other in fleet.lab_faults.values() if other.state in OPEN_FAULT_STATES]
    if any((other.device, other.target, other.kind) == same for other in lasting):
        reason = f"{item.kind} of the {item.target} of {device.name} lasts already"
        raise Refusal(fault(Code.FAULT_IMPOSSIBLE, reason, "kind", "Heal it first, or wait until it is over."))
    if len(lasting) >= OPEN_MOST:
        raise Refusal(fault(Code.FAULT_IMPOSSIBLE, f"{len(lasting)} faults last already, which is the most"))
    lab_fault = LabFault(
        asked_ms=work.at_ms,
        by=work.by,
        device=device.id,
        for_ms=item.for_ms,
        id=item.fault,
        kind=item.kind,
        size_ms=item.size_ms,
        target=item.target,
    )
    note = f"{item.target} {item.kind}, for {item.for_ms / 1000:g} s"
    _put(work, EventKind.FAULT_ASKED, lab_fault, _removals(fleet), note)
    work.order(_timer(lab_fault))
    work.answer({"id": lab_fault.id})


def on_heal_asked(work: Work, item: LabFaultHealAsked) -> None:
    """Accept a person's request to heal a fault; one that is over already stays unchanged.

    Raises:
        Refusal: the fault is not known.
    """
    lab_fault = _lab_fault(work, item.fault)
    if lab_fault.state in OPEN_FAULT_STATES and not lab_fault.healing:
        _put(work, EventKind.FAULT_HEAL_ASKED, replace(lab_fault, healing=True))
    work.answer({"id": lab_fault.id})


def on_began(work: Work, item: LabFaultBegan) -> None:
    """Note that the lab has injected a fault, also in the log of every constellation that has work on the device.

    Raises:
        Refusal: the fault is not known.
    """
    lab_fault = _lab_fault(work, item.fault)
    if lab_fault.state is not FaultState.ASKED:
        work.ignore("the beginning of this fault was reported before, or too late")
        work.answer({"state": lab_fault.state})
        return
    shard, note = work.shard, item.note[:NOTE_CHARS]
    tasks = list(shard.fleet.holders.get(lab_fault.device, {})) + list(shard.fleet.hedges.get(lab_fault.device, {}))
    names = list(dict.fromkeys(name for name, _task in tasks))[:TOLD_MOST]
    for name in names:
        constellation = shard.constellations[name]
        work.emit(constellation, EventKind.FAULT_INJECTED, "", [("head", "", constellation.head)], note=note)
    active = replace(lab_fault, state=FaultState.ACTIVE, began_ms=work.at_ms, constellations=names, note=note)
    _put(work, EventKind.FAULT_INJECTED, active, note=note)
    work.order(_timer(active))
    work.answer({"state": active.state})


def on_ended(work: Work, item: LabFaultEnded) -> None:
    """Note that the lab has healed a fault, or could not inject it.

    Raises:
        Refusal: the fault is not known.
    """
    lab_fault = _lab_fault(work, item.fault)
    if lab_fault.state in OPEN_FAULT_STATES:
        _end(work, lab_fault, item.note, failed=item.failed)
    else:
        work.ignore("the end of this fault is known already")
    work.answer({"state": work.shard.fleet.lab_faults[lab_fault.id].state})


def on_timer(work: Work, item: TimerFired) -> None:
    """Close a fault that the lab did not start, or whose end it did not report."""
    lab_fault = work.shard.fleet.lab_faults.get(item.entity)
    if lab_fault is None or lab_fault.state not in OPEN_FAULT_STATES or work.at_ms < _due_ms(lab_fault):
        work.ignore("the timer is stale")
    elif lab_fault.state is FaultState.ASKED:
        _end(work, lab_fault, "no program of the lab took it up", failed=True)
    else:
        _end(work, lab_fault, "the lab's program was not heard of again; what it broke ends with it", failed=False)


def due_moments(shard: Shard) -> Iterator[ArmTimer]:
    """Yield the timer of each fault that is not over."""
    for lab_fault in shard.fleet.lab_faults.values():
        if lab_fault.state in OPEN_FAULT_STATES:
            yield _timer(lab_fault)


def _lab_fault(work: Work, name: str) -> LabFault:
    lab_fault = work.shard.fleet.lab_faults.get(name)
    if lab_fault is None:
        raise Refusal(fault(Code.NOT_FOUND, f"there is no fault {name[:64]}"))
    return lab_fault


def _end(work: Work, lab_fault: LabFault, note: str, *, failed: bool) -> None:
    note = note[:NOTE_CHARS]
    over = replace(
        lab_fault,
        state=FaultState.FAILED if failed else FaultState.OVER,
        ended_ms=work.at_ms,
        healing=False,
        note=note if failed else lab_fault.note,
    )
    shard = work.shard
    for name in lab_fault.constellations:
        if name in shard.live:
            constellation = shard.constellations[name]
            work.emit(constellation, EventKind.FAULT_ENDED, "", [("head", "", constellation.head)], note=note)
    _put(work, EventKind.FAULT_FAILED if failed else EventKind.FAULT_ENDED, over, note=note)


def _removals(fleet: Fleet) -> list[Put]:
    """Return the removals that make room for one more: the oldest faults that are over."""
    over = [one for one in fleet.lab_faults.values() if one.state not in OPEN_FAULT_STATES]
    over.sort(key=lambda one: (one.asked_ms, one.id))
    return [("lab_fault", one.id, None) for one in over[: max(0, len(fleet.lab_faults) + 1 - KEPT_MOST)]]


def _due_ms(lab_fault: LabFault) -> int:
    if lab_fault.state is FaultState.ASKED:
        return lab_fault.asked_ms + TAKEN_WITHIN_MS
    return lab_fault.began_ms + lab_fault.for_ms + REPORTED_WITHIN_MS


def _timer(lab_fault: LabFault) -> ArmTimer:
    return ArmTimer(constellation=FLEET, due_ms=_due_ms(lab_fault), entity=lab_fault.id, kind=TIMER)


def _put(work: Work, kind: EventKind, lab_fault: LabFault, also: list[Put] | None = None, note: str = "") -> None:
    work.emit(
        work.shard.fleet, kind, lab_fault.device, [*(also or []), ("lab_fault", lab_fault.id, lab_fault)], note=note
    )
