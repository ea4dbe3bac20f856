"""Which device takes a ready task: feasible, rank, pick - each a pure function; a device or a reason.

Ready tasks wait in queues by demand (same tool, same selector). A task that becomes ready asks the free devices
of its demand; a slot that becomes free lets the queues be asked again. Nothing scans a graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heappop, heappush

from starloom.core.model import Constellation, Demand, Fleet, Shard
from starloom.core.queues import ANY, enqueue
from starloom_protocol.entities import Device, Selector, TaskRecord, TaskSpec, ToolOffer
from starloom_protocol.vocabulary import (
    CODES,
    AttemptEnd,
    CodeClass,
    ConstellationState,
    DeviceLink,
    Reason,
    Repeatability,
    TaskState,
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One device looked at for a task: fits or not, and the reason in words."""

    device: str
    fits: bool
    reason: Reason | None
    words: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The device picked, up to two others that would have done, and the sentence of why."""

    device: str
    others: list[str]
    why: str
    repeatability: Repeatability


def selects(selector: Selector, device: Device, tools: Mapping[str, ToolOffer]) -> bool:
    """Whether a device meets a selector, apart from being there and free; a tool counts if it can be used now."""
    if selector.id is not None and device.id != selector.id:
        return False
    if selector.name is not None and device.name != selector.name:
        return False
    if selector.os is not None and device.os != selector.os:
        return False
    if any(label not in device.labels for label in selector.labels):
        return False
    if any(tool not in tools or tools[tool].unavailable is not None for tool in selector.tools):
        return False
    return not selector.any or any(selects(part, device, tools) for part in selector.any)


def judge(fleet: Fleet, device: Device, tool: str, selector: Selector) -> Candidate:
    """Say whether a device could do this work at all, now or once it is back or free."""
    offered = fleet.tools.get(device.id, {})
    if device.revoked:
        return Candidate(device.id, False, Reason.NO_CAPABLE_DEVICE, "was revoked")
    if not selects(selector, device, offered):
        return Candidate(device.id, False, Reason.NO_CAPABLE_DEVICE, "is not what the plan asks for")
    offer = offered.get(tool)
    if offer is None:
        return Candidate(device.id, False, Reason.NO_CAPABLE_DEVICE, f"does not offer {tool}")
    # A grant that is missing makes a tool unavailable too: the way out is the line to type, so it is said first.
    if offer.grant is not None and offer.grant not in fleet.offers[device.id].grants:
        words = offer.unavailable or f"{offer.grant} is not granted; on the device: starloom-agent grant {offer.grant}"
        return Candidate(device.id, False, Reason.MISSING_GRANT, words)
    if offer.unavailable is not None:
        return Candidate(device.id, False, Reason.NO_CAPABLE_DEVICE, f"cannot do {tool} now: {offer.unavailable}")
    if device.link is not DeviceLink.ONLINE:
        word = "is asleep" if device.link is DeviceLink.SUSPENDED else "is off or out of reach"
        return Candidate(device.id, False, Reason.DEVICE_AWAY, word)
    if device.draining:
        return Candidate(device.id, False, Reason.DEVICE_AWAY, "is being drained")
    if device.quarantined:
        return Candidate(device.id, False, Reason.DEVICE_AWAY, "is set aside after faults")
    slots = fleet.offers[device.id].slots
    if fleet.used.get(device.id, 0) >= slots:
        return Candidate(device.id, False, Reason.BUSY, f"is busy ({slots} of {slots} slots)")
    return Candidate(device.id, True, None, "fits")


def able(fleet: Fleet, tool: str, selector: Selector) -> list[str]:
    """Return the devices that could do this work when free; demonstration devices only where no real one can."""
    fits = [
        device
        for device in fleet.devices.values()
        if judge(fleet, device, tool, selector).reason in (None, Reason.BUSY)
    ]
    real = [device for device in fits if not device.demo]
    return [device.id for device in (fits if selector != ANY or not real else real)]


def capable(fleet: Fleet, demand: Demand) -> list[str]:
    """Return the devices that could take this demand when free, cached until the fleet changes."""
    if demand.revision != fleet.revision:
        demand.feasible = able(fleet, demand.tool, demand.selector)
        demand.revision = fleet.revision
    return demand.feasible


def avoided(constellation: Constellation, task: str, record: TaskRecord) -> list[str]:
    """Return devices that failed this task in this round for a reason of theirs."""
    devices = []
    for number in range(record.attempt, 0, -1):
        attempt = constellation.attempts.get(f"{task}/{number}")
        if attempt is None or attempt.round != record.round:
            break
        lost = attempt.end is AttemptEnd.LOST
        of_device = attempt.code is not None and CODES[attempt.code].code_class is CodeClass.DEVICE
        if (lost or of_device) and attempt.device not in devices:
            devices.append(attempt.device)
    return devices


def pick(
    shard: Shard, constellation: Constellation, spec: TaskSpec, record: TaskRecord, demand: Demand
) -> Choice | None:
    """Choose among the free capable devices; None where none is free.

    Ranked by: not one that failed this task before, where its inputs lie, least loaded, name.
    """
    fleet = shard.fleet
    avoid = avoided(constellation, spec.id, record) if record.attempt else []
    inputs_on: dict[str, int] = {}
    for item in spec.inputs:
        source = constellation.last_attempt(item.source)
        if source is not None:
            inputs_on[source.device] = inputs_on.get(source.device, 0) + 1
    best: list[tuple[bool, int, int, str, str]] = []
    for device in capable(fleet, demand):
        slots = fleet.offers[device].slots
        used = fleet.used.get(device, 0)
        if used >= slots:
            continue
        load = used * 1000 // slots
        best.append((device in avoid, -inputs_on.get(device, 0), load, fleet.devices[device].name, device))
    if not best:
        return None
    best.sort()
    chosen = best[0]
    if chosen[0] and any(device not in avoid for device in capable(fleet, demand)):
        return None
    device = chosen[4]
    others = [item[4] for item in best[1:3]]
    repeatability = spec.repeatability or fleet.tools[device][demand.tool].repeatability
    return Choice(device, others, _why(chosen, len(best), demand.selector), repeatability)


def _why(chosen: tuple[bool, int, int, str, str], free: int, selector: Selector) -> str:
    if selector.name is not None or selector.id is not None:
        return "the plan names it"
    if free == 1:
        return "it is the only free device that can"
    if chosen[1]:
        return "its inputs are there"
    return "it is the least busy that can"


def full(constellation: Constellation, spec: TaskSpec) -> bool:
    """Whether the group of a child runs as many at once as it may."""
    if spec.group is None:
        return False
    for_each = constellation.specs[spec.group].for_each
    if for_each is None or not for_each.max_parallel:
        return False
    return constellation.tally[spec.group].held_slots >= for_each.max_parallel


def _any_free(fleet: Fleet, demand: Demand) -> bool:
    used, offers = fleet.used, fleet.offers
    for device in capable(fleet, demand):  # noqa: SIM110 - asked for every report; a generator costs thrice as much
        if used.get(device, 0) < offers[device].slots:
            return True
    return False


def next_lease(shard: Shard) -> tuple[Constellation, TaskSpec, TaskRecord, Choice] | None:
    """Take the next task that can be placed now out of its queue, with its device; None if there is none."""
    fleet = shard.fleet
    if not shard.queued:
        return None
    for key, demand in list(shard.demands.items()):
        heap = demand.heap
        if not heap:
            del shard.demands[key]
            continue
        if not _any_free(fleet, demand):
            continue
        set_aside = []
        found = None
        while heap:
            entry = heappop(heap)
            name, task = entry[2], entry[3]
            if shard.queued.get((name, task)) != key:
                continue
            constellation = shard.constellations[name]
            record, spec = constellation.tasks[task], constellation.specs[task]
            if constellation.head.state is not ConstellationState.ACTIVE:
                # Kept out of the queue until the constellation is active again (`requeue`).
                del shard.queued[(name, task)]
                continue
            if full(constellation, spec):
                del shard.queued[(name, task)]
                constellation.parked.setdefault(spec.group or "", {})[task] = None
                continue
            choice = pick(shard, constellation, spec, record, demand)
            if choice is None:
                set_aside.append(entry)
                continue
            del shard.queued[(name, task)]
            found = constellation, spec, record, choice
            break
        for entry in set_aside:
            heappush(heap, entry)
        if found is not None:
            return found
    return None


def requeue(shard: Shard, constellation: Constellation, task: str) -> None:
    """Put a ready task back into its queue: its constellation is active again, or its group has room."""
    from_spec = constellation.specs[task]
    record = constellation.tasks.get(task)
    if record is None or record.state is not TaskState.READY or record.reason is not None:
        return
    if (constellation.name, task) in shard.queued:
        return
    enqueue(shard, constellation, from_spec)
