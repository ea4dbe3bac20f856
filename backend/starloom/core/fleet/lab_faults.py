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
"""So many faults may last at the same time."""
KEPT_MOST: Final = 50
TOLD_MOST: Final = 20
"""The constellations whose logs name a fault of their device."""
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
    wanted = (item.device, item.target, item.kind)
    lasting = [known for known in fleet.lab_faults.values() if known.state in OPEN_FAULT_STATES]
    if any((known.device, known.target, known.kind) == wanted for known in lasting):
        reason = f"{item.kind} of the {item.target} of {device.name} lasts already"
        raise Refusal(fault(Code.FAULT_IMPOSSIBLE, reason, "kind", "Heal it first, or wait until it is over."))
    if len(lasting) >= OPEN_MOST:
        raise Refusal(fault(Code.FAULT_IMPOSSIBLE, f"{len(lasting)} faults last already, which is the most"))
    made = LabFault(
        asked_ms=work.at_ms,
        by=work.by,
        device=device.id,
        for_ms=item.for_ms,
        id=item.fault,
        kind=item.kind,
        size_ms=item.size_ms,
        target=item.target,
    )
    _put(
        work, EventKind.FAULT_ASKED, made, _forgotten(fleet), f"{item.target} {item.kind}, for {item.for_ms / 1000:g} s"
    )
    work.order(_timer(made))
    work.answer({"id": made.id})


def on_heal_asked(work: Work, item: LabFaultHealAsked) -> None:
    """Accept a person's request to heal a fault; one that is over already stays unchanged.

    Raises:
        Refusal: the fault is not known.
    """
    known = _known(work, item.fault)
    if known.state in OPEN_FAULT_STATES and not known.healing:
        _put(work, EventKind.FAULT_HEAL_ASKED, replace(known, healing=True))
    work.answer({"id": known.id})


def on_began(work: Work, item: LabFaultBegan) -> None:
    """Note that the lab has injected a fault, also in the log of every constellation that has work on the device.

    Raises:
        Refusal: the fault is not known.
    """
    known = _known(work, item.fault)
    if known.state is not FaultState.ASKED:
        work.ignore("the beginning of this fault was reported before, or too late")
        work.answer({"state": known.state})
        return
    shard, note = work.shard, item.note[:NOTE_CHARS]
    at_work = list(shard.fleet.holders.get(known.device, {})) + list(shard.fleet.hedges.get(known.device, {}))
    told = list(dict.fromkeys(name for name, _task in at_work))[:TOLD_MOST]
    for name in told:
        constellation = shard.constellations[name]
        work.emit(constellation, EventKind.FAULT_INJECTED, "", [("head", "", constellation.head)], note=note)
    active = replace(known, state=FaultState.ACTIVE, began_ms=work.at_ms, constellations=told, note=note)
    _put(work, EventKind.FAULT_INJECTED, active, note=note)
    work.order(_timer(active))
    work.answer({"state": active.state})


def on_ended(work: Work, item: LabFaultEnded) -> None:
    """Note that the lab has healed a fault, or could not inject it.

    Raises:
        Refusal: the fault is not known.
    """
    known = _known(work, item.fault)
    if known.state in OPEN_FAULT_STATES:
        _end(work, known, item.note, failed=item.failed)
    else:
        work.ignore("the end of this fault is known already")
    work.answer({"state": work.shard.fleet.lab_faults[known.id].state})


def on_timer(work: Work, item: TimerFired) -> None:
    """Close a fault that the lab did not start, or whose end it did not report."""
    known = work.shard.fleet.lab_faults.get(item.entity)
    if known is None or known.state not in OPEN_FAULT_STATES or work.at_ms < _due_ms(known):
        work.ignore("the timer is stale")
    elif known.state is FaultState.ASKED:
        _end(work, known, "no program of the lab took it up", failed=True)
    else:
        _end(work, known, "the lab's program was not heard of again; what it broke ends with it", failed=False)


def due_moments(shard: Shard) -> Iterator[ArmTimer]:
    """Yield the timer of each fault that is not over."""
    for known in shard.fleet.lab_faults.values():
        if known.state in OPEN_FAULT_STATES:
            yield _timer(known)


def _known(work: Work, name: str) -> LabFault:
    found = work.shard.fleet.lab_faults.get(name)
    if found is None:
        raise Refusal(fault(Code.NOT_FOUND, f"there is no fault {name[:64]}"))
    return found


def _end(work: Work, known: LabFault, note: str, *, failed: bool) -> None:
    said = note[:NOTE_CHARS]
    over = replace(
        known,
        state=FaultState.FAILED if failed else FaultState.OVER,
        ended_ms=work.at_ms,
        healing=False,
        note=said if failed else known.note,
    )
    shard = work.shard
    for name in known.constellations:
        if name in shard.live:
            constellation = shard.constellations[name]
            work.emit(constellation, EventKind.FAULT_ENDED, "", [("head", "", constellation.head)], note=said)
    _put(work, EventKind.FAULT_FAILED if failed else EventKind.FAULT_ENDED, over, note=said)


def _forgotten(fleet: Fleet) -> list[Put]:
    """Return the removals that make room for one more: the oldest faults that are over."""
    over = [known for known in fleet.lab_faults.values() if known.state not in OPEN_FAULT_STATES]
    over.sort(key=lambda known: (known.asked_ms, known.id))
    return [("lab_fault", known.id, None) for known in over[: max(0, len(fleet.lab_faults) + 1 - KEPT_MOST)]]


def _due_ms(known: LabFault) -> int:
    if known.state is FaultState.ASKED:
        return known.asked_ms + TAKEN_WITHIN_MS
    return known.began_ms + known.for_ms + REPORTED_WITHIN_MS


def _timer(known: LabFault) -> ArmTimer:
    return ArmTimer(constellation=FLEET, due_ms=_due_ms(known), entity=known.id, kind=TIMER)


def _put(work: Work, kind: EventKind, known: LabFault, also: list[Put] | None = None, note: str = "") -> None:
    work.emit(work.shard.fleet, kind, known.device, [*(also or []), ("lab_fault", known.id, known)], note=note)
