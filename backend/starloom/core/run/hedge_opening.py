"""The opening of hedges: repeatable work takes much longer than usual, and there is a slot without waiting tasks.

It is due once nine of ten earlier calls of the tool on that device would have ended. Where too few are known, the usual
time is that of the same tool in the same constellation. One hedge a task, few a constellation.
"""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.placement.device_conditions import is_spared
from starloom.core.placement.feasible import elsewhere
from starloom.core.placement.pace import index_of, inputs_of, p90_ms, size_of
from starloom.core.placement.selection import is_strange
from starloom.core.rights.budgets import used_up
from starloom.core.run.attempts import dispatch_of
from starloom.core.run.recovery import attempts_most
from starloom.core.state.inputs import TimerFired
from starloom.core.state.model import Constellation, Shard
from starloom.core.state.work import Case, Put, Work, change_task, task_of_timer
from starloom_protocol.records.entities import Attempt, TaskRecord, TaskSpec
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import REPEATABLE, ConstellationState, TaskState

KIND = "hedge"
WHY = "the first attempt takes much longer than its like"
FINISHED_LEAST = 5
PART_OF_TASKS = 20


def is_due(shard: Shard, constellation: Constellation, task: str, now_ms: int) -> bool:
    """Tell whether a running task takes so much longer than usual that a second attempt is worth a free slot."""
    record, spec = constellation.tasks[task], constellation.specs[task]
    if record.state is not TaskState.RUNNING or record.reason is not None or record.hedge > 0 or shard.queued:
        return False
    # A secret is given to one device at a time.
    if spec.secrets or constellation.head.state is not ConstellationState.ACTIVE:
        return False
    if used_up(constellation):
        return False
    if constellation.progress.hedges >= max(1, len(constellation.tasks) // PART_OF_TASKS):
        return False
    attempt = constellation.attempt(task, record.attempt)
    if attempt.repeatability not in REPEATABLE:
        return False
    if shard.settings.hedge_at_p90 and shard.fleet.paces:
        late_ms = p90_ms(index_of(shard.fleet), spec.tool or "", attempt.device, _size(constellation, spec))
        if late_ms:
            # A pace is measured from lease to end.
            return now_ms - attempt.leased_ms >= max(shard.settings.hedge_after_ms, late_ms)
    pace = constellation.progress.paces.get(spec.tool or "")
    if pace is None or pace[0] < FINISHED_LEAST:
        return False
    usual_ms = pace[1] // pace[0]
    taken_ms = now_ms - (attempt.started_ms or attempt.leased_ms)
    return taken_ms >= max(shard.settings.hedge_after_ms, shard.settings.hedge_times * usual_ms)


def _size(constellation: Constellation, spec: TaskSpec) -> int:
    """Return the size class of a task's inputs."""
    inputs = inputs_of(constellation, spec) if spec.inputs else {}
    return size_of(sum(size for _count, size in inputs.values()))


def on_timer(work: Work, item: TimerFired) -> None:
    """Open a hedge for a task that a sweep found, judged against state."""
    timed = task_of_timer(work, item)
    if timed is not None:
        constellation, record = timed
        _open(work, constellation, constellation.specs[item.entity], record)


def _open(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord) -> None:
    """Start a hedge if it is due and another device that can do the task has a free slot."""
    shard, fleet = work.shard, work.shard.fleet
    first = constellation.attempt(spec.id, record.attempt)
    if not is_due(shard, constellation, spec.id, work.at_ms) or record.started >= attempts_most(spec, first):
        work.ignore("the timer is stale")
        return
    free = [
        device
        for device in elsewhere(shard, constellation, spec, first.device)
        if fleet.used.get(device, 0) < fleet.offers[device].slots
        if not fleet.devices[device].quarantined and not fleet.devices[device].demo
        if not is_strange(fleet, constellation, spec, device)
    ]
    if not free:
        work.ignore("no other device is free for a hedge")
        return
    if shard.settings.hedge_at_p90:
        index, size = index_of(fleet), _size(constellation, spec)
        device = min(
            free,
            key=lambda item: (
                is_spared(fleet.devices[item]),
                index.expected(spec.tool or "", size, item),
                fleet.used.get(item, 0),
                fleet.devices[item].name,
                item,
            ),
        )
    else:
        device = min(free, key=lambda item: (fleet.used.get(item, 0), fleet.devices[item].name, item))
    number = record.attempt + 1
    hedge = Attempt(
        device=device,
        hedge=True,
        incarnation=shard.incarnation,
        leased_ms=work.at_ms,
        repeatability=first.repeatability,
        round=record.round,
        why=WHY,
    )
    new_record = replace(record, hedge=number, started=record.started + 1)
    also: Put = ("attempt", f"{spec.id}/{number}", hedge)
    change_task(work, constellation, spec.id, EventKind.HEDGE_OPENED, new_record, also, note=hedge.why, by=ENGINE)
    work.order(dispatch_of(Case(work, constellation, spec, new_record, number, hedge)))
