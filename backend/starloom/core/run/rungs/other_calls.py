"""The rung of the recovery ladder before failure: a task takes another call that its plan names as good (`any_of`).

Owns when one is taken and the version that says so. A call was approved with its plan, so nobody is asked. It is never
taken after an attempt that may have changed the world unless that attempt was repeatable, and each is taken once, so
that the way round ends. Adds no call of its own.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

import msgspec
from msgspec.structs import replace

from starloom.core.placement.selection import is_able, is_able_for, judge, nearest, offering
from starloom.core.state.inputs import TimerFired
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.orders import ArmTimer
from starloom.core.state.queues.ready import ANY, queueable
from starloom.core.state.queues.secret_needs import needs_of
from starloom.core.state.work import Put, Work, change_task, moved
from starloom_protocol.records.entities import Attempt, Selector, TaskRecord, TaskSpec, Version
from starloom_protocol.stream.events import EventKind
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import (
    CODES,
    REPEATABLE,
    AttemptEnd,
    ConstellationState,
    EffectSeen,
    Reason,
    TaskState,
)

TIMER: Final = "other_call"
AUTHOR: Final = "engine"
AWAY_MS: Final = 10_000
"""A device that comes back within this time, as after a restart, is not gone round."""
WORDS_MOST: Final = 300
_NAMED_MOST: Final = 3
_NOT_BEGUN: Final = (AttemptEnd.NEVER_STARTED, AttemptEnd.REFUSED)


def taken(
    work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, ended: Attempt, *, why: str = ""
) -> bool:
    """Take the next call that a device could do now, in place of one that did not succeed; False if there is none."""
    if not spec.any_of or record.state in (TaskState.CANCELLING, TaskState.UNKNOWN):
        return False
    if not all(map(_harmless, [ended, *_earlier(constellation, spec.id, record)])):
        return False
    at = _first_able(work, spec)
    if at is None:
        return False
    device = work.shard.fleet.devices.get(ended.device)
    where = f" on {device.name}" if device is not None else ""
    title = CODES[ended.code].title.lower() if ended.code else "it did not succeed"
    said = why or f"{title}{f': {ended.detail.splitlines()[0]}' if ended.detail else ''}"
    ended_put: Put = ("attempt", f"{spec.id}/{record.attempt}", ended)
    _take(work, constellation, spec, record, at, f"{spec.tool}{where} did not succeed: {said}", ended_put)
    work.rules_due.append((constellation.name, spec.id, "attempt_ended"))
    return True


def go_round(work: Work) -> bool:
    """Take other calls for ready tasks whose own call no device can do now; True if there were any.

    Looks at the tasks that joined a queue in this step, and at all where the fleet has changed.
    """
    shard = work.shard
    due: dict[tuple[str, str], None] = {}
    for at in shard.queued_now:
        constellation = shard.constellations.get(at[0])
        if constellation is not None and constellation.choosing and _may_choose(constellation, at[1]):
            due[at] = None
    if shard.fleet.revision != shard.ways_seen:
        shard.ways_seen = shard.fleet.revision
        due.update(((name, task), None) for name in shard.live for task in shard.constellations[name].choosing)
    went = False
    for name, task in due:
        went |= _went_round(work, name, task)
    return went


def on_timer(work: Work, item: TimerFired) -> None:
    """Judge a task again whose device was away; the same rules as when it joined its queue."""
    if not _may_choose(work.shard.constellations.get(item.constellation), item.entity):
        work.ignore("the timer is stale")
    elif not _went_round(work, item.constellation, item.entity):
        work.ignore("the task has its device, or no other call can be taken")


def _may_choose(constellation: Constellation | None, task: str) -> bool:
    return constellation is not None and task in constellation.choosing and task in constellation.tasks


def _went_round(work: Work, name: str, task: str) -> bool:
    shard, constellation = work.shard, work.shard.constellations[name]
    spec, record = constellation.specs[task], constellation.tasks[task]
    if constellation.head.state is not ConstellationState.ACTIVE or not queueable(record):
        return False
    if not all(map(_harmless, _earlier(constellation, task, record))):
        return False
    at = None if is_able(shard, constellation, spec) else _first_able(work, spec)
    if at is None:
        return False
    fleet, selector = shard.fleet, spec.device or ANY
    needs = needs_of(shard.access, spec, constellation.head.recipe)
    here = [judge(fleet, device, spec.tool or "", selector, needs) for device in offering(fleet, spec.tool or "")]
    obstacle = nearest({item.reason for item in here})
    if obstacle is Reason.DEVICE_AWAY:
        away = (fleet.devices[item.device] for item in here if item.reason is obstacle)
        since_ms = max(record.since_ms, max(device.link_since_ms for device in away))
        if work.at_ms < since_ms + AWAY_MS:
            work.order(_timer(constellation, spec, record, since_ms + AWAY_MS))
            return False
    # Waiting looks at the devices with the tool; the words name any device, in the order of the fleet.
    judged = (judge(fleet, device, spec.tool or "", selector, needs) for device in fleet.devices.values())
    near = list(islice((item for item in judged if item.reason is obstacle), _NAMED_MOST))
    said = "; ".join(f"{fleet.devices[item.device].name} {item.words}" for item in near)
    why = f"no device can do {spec.tool} now: {said}" if near else f"no device offers {spec.tool} now"
    _take(work, constellation, spec, record, at, why)
    return True


def _timer(constellation: Constellation, spec: TaskSpec, record: TaskRecord, due_ms: int) -> ArmTimer:
    return ArmTimer(
        attempt=record.attempt,
        constellation=constellation.name,
        due_ms=due_ms,
        entity=spec.id,
        kind=TIMER,
        round=record.round,
    )


def _harmless(attempt: Attempt) -> bool:
    """Tell whether nothing is done twice if another call follows an attempt."""
    return attempt.repeatability in REPEATABLE or attempt.end in _NOT_BEGUN or attempt.effect is EffectSeen.NONE


def _earlier(constellation: Constellation, task: str, record: TaskRecord) -> list[Attempt]:
    """Return the ended attempts of the present round."""
    made = (constellation.attempts.get(f"{task}/{number}") for number in range(record.attempt, 0, -1))
    return [item for item in made if item is not None and item.end is not None and item.round == record.round]


def _first_able(work: Work, spec: TaskSpec) -> int | None:
    """Return the place of the first call that a device could do now, or once it has a free slot."""
    fleet = work.shard.fleet
    places = (at for at, call in enumerate(spec.any_of) if is_able_for(fleet, call.tool, call.device or ANY))
    return next(places, None)


def _take(
    work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, at: int, why: str, *also: Put
) -> None:
    """Make a call of `any_of` the call of its task, in a version of the plan by the engine."""
    call, number = spec.any_of[at], constellation.head.version + 1
    why = why[:WORDS_MOST]
    changed = replace(
        spec,
        any_of=[*spec.any_of[:at], *spec.any_of[at + 1 :]],
        args=call.args,
        changed_in=number,
        device=call.device,
        instead_of=why,
        secrets=[],
        tool=call.tool,
    )
    note = f"takes {call.tool}{_where(work.shard.fleet, call.device)} instead: {why}"
    changes = {"any_of": changed.any_of, "args": call.args, "device": call.device, "tool": call.tool}
    version = Version(
        at_ms=work.at_ms,
        author=AUTHOR,
        changed=[spec.id],
        number=number,
        operations=canonical(
            [{"changes": msgspec.to_builtins(changes), "id": spec.id, "op": "update_task"}],
        ),
        reason=f"{spec.id} {note}"[:WORDS_MOST],
        trigger=spec.id,
    )
    head = replace(constellation.head, version=number)
    # A round of its own: what befell the call before says nothing of devices, tries and times of this one.
    again = moved(work, record, TaskState.READY, code=None, refusals=0, round=record.round + 1, started=0, stood_ms=0)
    if record.held:
        again = replace(again, reason=Reason.HELD)
    puts: list[Put] = [*also, ("version", str(number), version), ("head", "", head), ("spec", spec.id, changed)]
    change_task(work, constellation, spec.id, EventKind.TASK_REROUTED, again, *puts, note=note, by=AUTHOR)


def _where(fleet: Fleet, selector: Selector | None) -> str:
    if selector is None:
        return ""
    known = fleet.devices.get(selector.id or "")
    name = known.name if known is not None else selector.name
    return f" on {name}" if name else ""
