"""Findings are published when their tasks succeed, and taken by inputs when their tasks may begin.

Owns their bounds, the choice of the finding that an input takes, and the call that is made again where that finding is
too old. Never changes a finding, and never hands one over that no standing result gave.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from msgspec.structs import replace

from starloom.core.placement.feasible import is_kept_from
from starloom.core.plan.edits import apply_edit
from starloom.core.rights.strangers import stranger_behind
from starloom.core.state.model import Constellation, Shard
from starloom.core.state.tasks.findings import newest
from starloom.core.state.tasks.gates import fact, size_left_out
from starloom.core.state.tasks.roles import is_over
from starloom.core.state.work import Refusal, Work, change_task, moved
from starloom_protocol.plan.checks.findings import repeat_fault
from starloom_protocol.records.edits import AddTask
from starloom_protocol.records.entities import Finding, Input, Selector, TaskRecord, TaskSpec
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.values import MISSING, canonical
from starloom_protocol.vocabulary import (
    FINAL_TASK_STATES,
    ConstellationState,
    Effect,
    Reason,
    Repeatability,
    TaskState,
)

FINDINGS_MOST: Final = 200
"""All of them are in the memory of the hub, and each page that shows the constellation has them."""
VALUE_BYTES_MOST: Final = 4 * 1024
VALUES_BYTES_MOST: Final = 256 * 1024
"""A longer part, or one beyond this sum, is read from the result that it is a part of."""
_ID_MOST: Final = 48
_GOES_ON: Final = frozenset({ConstellationState.ACTIVE, ConstellationState.PAUSED})


class Unfit(Exception):
    """A result has no part that could be published; the words say why."""


def publish(work: Work, constellation: Constellation, task: str) -> None:
    """Publish the finding of a task that has just succeeded, if it has a topic."""
    spec, record = constellation.specs.get(task), constellation.tasks.get(task)
    if spec is None or spec.finds is None or record is None or record.state is not TaskState.SUCCEEDED:
        return
    by = spec.group if spec.key is not None and spec.group is not None else task
    put(work, constellation, topic=spec.finds.topic, task=task, output=spec.finds.output, by=by)


def put(work: Work, constellation: Constellation, *, topic: str, task: str, output: str, by: str) -> bool:
    """Publish a part of the result of a succeeded task under a topic; False if there is no such part, or no room.

    `by` is the task or group whose finding it is: that of a child belongs to its group.
    """
    try:
        finding = _finding(work, constellation, topic, task, output, by)
    except Unfit as error:
        note = f"{topic}: {error}"
        work.emit(constellation, EventKind.FINDING_REFUSED, task, [], note=note, by=ENGINE)
        return False
    number = str(1 + max(map(int, constellation.findings), default=0))
    puts = [("finding", number, finding)]
    work.emit(constellation, EventKind.FINDING_PUBLISHED, task, [*puts], note=topic, by=ENGINE)
    return True


def _finding(work: Work, constellation: Constellation, topic: str, task: str, output: str, by: str) -> Finding:
    if len(constellation.findings) >= FINDINGS_MOST:
        raise Unfit(f"there are {FINDINGS_MOST} findings already")
    record, attempt = constellation.tasks[task], constellation.last_attempt(task)
    value, text, size = fact(constellation, task, output), None, 0
    digest = ""
    if value is not MISSING:
        text = canonical(value)
        size, digest = len(text.encode()), hashlib.sha256(text.encode()).hexdigest()
        bytes_before = sum(one.bytes for one in constellation.findings.values() if one.value is not None)
        if size > VALUE_BYTES_MOST or bytes_before + size > VALUES_BYTES_MOST:
            text = None
    elif attempt is not None and attempt.artifact is not None:
        size, digest = size_left_out(attempt, output), attempt.artifact
    if not size:
        raise Unfit(f"{task} gives nothing at {output or 'its result'}")
    if text is None and (record.marked is not None or attempt is None):
        raise Unfit(f"the value that a person set for {task} has more than {VALUE_BYTES_MOST} bytes")
    group = constellation.groups.get(by)
    made_ms = 0 if attempt is None or record.marked is not None else attempt.origin_ms or attempt.ended_ms
    return Finding(
        at_ms=made_ms or work.at_ms,
        attempt=record.attempt,
        by=by,
        bytes=size,
        device=None if record.marked is not None else record.device,
        hash=digest,
        output=output,
        round=group.round if group is not None else record.round,
        stranger=stranger_behind(work.shard.fleet, constellation, [task]),
        task=task,
        topic=topic,
        value=text,
    )


def is_due(spec: TaskSpec, record: TaskRecord) -> bool:
    """Tell whether inputs by topic of a task that may begin are still to be decided."""
    if record.state is TaskState.READY:
        return any(item.topic and item.name not in record.took for item in spec.inputs)
    return any(item.topic for item in spec.inputs)


def take(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord) -> TaskRecord | None:
    """Return the record of a task that may begin, with the findings that its inputs take.

    None if it does not begin now: a call is made again first, or there is nothing to take and it is skipped.
    """
    took: dict[str, str] = {}
    lacking: list[Input] = []
    is_made_again = False
    for item in spec.inputs:
        if not item.topic:
            continue
        finding = newest(constellation, item.topic)
        if finding is not None and item.fresh_s and work.at_ms - finding[1].at_ms > item.fresh_s * 1000:
            if look_again(work, constellation, record, spec.id, finding[1]):
                is_made_again = True
                continue
            finding = None
        if finding is not None:
            took[item.name] = finding[0]
        elif item.otherwise is not None:
            took[item.name] = ""
        else:
            lacking.append(item)
    if is_made_again:
        return None
    if lacking:
        _skip(work, constellation, spec, record, lacking[0])
        return None
    return replace(record, took=took) if took != record.took else record


def _skip(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, item: Input) -> None:
    """Skip a task for which there is no finding, as it would be skipped without the result of a task."""
    sources = [gate.source for gate in constellation.incoming.get(spec.id, {}).values() if gate.topic == item.topic]
    failed = [name for name in sources if constellation.record(name).state == "failed"]
    cause = (failed or sources or [spec.id])[-1]
    note = f"there is no finding of {item.topic}" + (f" of the last {item.fresh_s} s" if item.fresh_s else "")
    skipped = moved(work, record, TaskState.SKIPPED, reason=Reason.UPSTREAM_FAILED, cause=cause)
    change_task(work, constellation, spec.id, EventKind.TASK_SKIPPED, skipped, note=note, by=ENGINE)


def look_again(work: Work, constellation: Constellation, record: TaskRecord, reader: str, old: Finding) -> bool:
    """Make the call of a finding again, as a new task for which all wait that need it fresh; False if that is no use.

    It was made again for this reader already, or its device would do more than read by it now.
    """
    source = constellation.specs.get(old.task)
    if source is None or constellation.head.state not in _GOES_ON or _has_looked(constellation, reader, record):
        return False
    single = source.key is None and not repeat_fault(source, {}, {})
    if not single or not _only_reads(work.shard, old.device, source.tool or ""):
        return False
    first = constellation.specs.get(source.again_of or source.id, source)
    if is_kept_from(work.shard.fleet.devices[old.device or ""], first.device or Selector()):
        return False
    new_spec = TaskSpec(
        again_of=source.again_of or source.id,
        args=source.args,
        changed_in=0,
        checks=source.checks,
        device=Selector(id=old.device),
        finds=source.finds,
        id=_name(constellation, source.again_of or source.id),
        inputs=source.inputs,
        optional=_all_have_else(constellation, old.topic),
        repeatability=source.repeatability,
        retry=source.retry,
        timeouts=source.timeouts,
        tool=source.tool,
    )
    why = f"{old.topic} is {(work.at_ms - old.at_ms) // 1000} s old, and {reader} needs it fresh"
    try:
        apply_edit(work, constellation, [AddTask(spec=new_spec)], author=ENGINE, reason=why, trigger="finding")
    except Refusal as refusal:
        # The plan has no room for it, or a person edits these tasks: then nothing is taken that is too old.
        work.ignore(f"a call could not be made again: {refusal}"[:200])
        return False
    return True


def _has_looked(constellation: Constellation, reader: str, record: TaskRecord) -> bool:
    """Tell whether a call was made again for the present round of a task, with whatever result."""
    for gate in constellation.incoming.get(reader, {}).values():
        look = constellation.tasks.get(gate.source) if gate.topic else None
        if look is None or constellation.specs[gate.source].again_of is None:
            continue
        if look.state in FINAL_TASK_STATES and look.since_ms >= record.since_ms:
            return True
    return False


def _only_reads(shard: Shard, device: str | None, tool: str) -> bool:
    offer = shard.fleet.tools.get(device or "", {}).get(tool)
    return offer is not None and offer.repeatability is Repeatability.PURE and set(offer.effects) == {Effect.READ}


def _all_have_else(constellation: Constellation, topic: str) -> bool:
    """Tell whether each task that still waits for a fresh finding of a topic has a value in place of it."""
    waiting = (
        item
        for name, spec in constellation.specs.items()
        for item in spec.inputs
        if item.topic == topic and item.fresh_s and not is_over(constellation, name)
    )
    return all(item.otherwise is not None for item in waiting)


def _name(constellation: Constellation, task: str) -> str:
    stem = re.sub(r"[^a-z0-9_-]", "-", task.lower())[:_ID_MOST]
    number, name = 1, f"{stem}-again"
    while name in constellation.specs or f"{name}/1" in constellation.attempts:
        number += 1
        name = f"{stem}-again-{number}"
    return name
