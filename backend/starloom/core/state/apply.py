"""The only code that changes state: puts a record (null removes), maintains the derived indexes, undoes.

`put` is generic: it replaces one record and calls its index hook with the old and the new one. Undoing calls the same
hook the other way round, so an index cannot drift from its entities. Tasks that a put may have moved are noted in
`shard.touched` for the step's agenda, and only noted.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final

from starloom.core.state.model import (
    ACCESS_KINDS,
    CONSTELLATION_KINDS,
    FLEET_KINDS,
    Access,
    Constellation,
    Fleet,
    Shard,
    Stream,
    Tally,
)
from starloom.core.state.queues import dequeue, enqueue, moved, queueable
from starloom.core.state.task_needs import approved_for
from starloom.core.state.tasks.gates import ITEMS, READ_BY_CORE, decide, decide_success, is_stale
from starloom.core.state.tasks.graph import set_ranks
from starloom_protocol.records.entities import (
    Attempt,
    Dependency,
    Device,
    Enrollment,
    Finding,
    GroupRecord,
    Head,
    Offer,
    Question,
    Record,
    RuleRecord,
    Secret,
    TaskRecord,
    TaskSpec,
    encode_entity,
)
from starloom_protocol.records.fleet import Health, Pace, Stopping
from starloom_protocol.records.schedules import Schedule, with_course
from starloom_protocol.records.specs import Approved
from starloom_protocol.text.look_alikes import look_of
from starloom_protocol.vocabulary import (
    CODES,
    EXCUSED_SKIPS,
    FINAL_CONSTELLATION_STATES,
    FINAL_GROUP_STATES,
    FINAL_TASK_STATES,
    AttemptEnd,
    CodeClass,
    DeviceLink,
    Gate,
    GateState,
    GroupState,
    Reason,
    TaskState,
)

# Members are bound once, since every task compares with them: a look-up on the class costs as much as ten such names.
_READY, _SUCCEEDED, _UNKNOWN = TaskState.READY, TaskState.SUCCEEDED, TaskState.UNKNOWN
_TAP, _MOMENT = Reason.TAP, Reason.MOMENT
_OPENED, _UNDECIDED, _SHUT = GateState.OPEN, GateState.UNDECIDED, GateState.SHUT
_SUCCESS, _ENDED_OK = Gate.SUCCESS, AttemptEnd.OK
_HOLDS_SLOT = frozenset({TaskState.LEASED, TaskState.RUNNING, TaskState.CANCELLING})
# The properties of a state that the indexes need, as bits: one look-up gives all; an absent record has none.
_OPEN, _QUEUES, _STARTABLE, _SLOT, _ENDED, _DOUBT = 1, 2, 4, 8, 16, 32
_TRAITS = {
    state: (_OPEN if state not in FINAL_TASK_STATES else _ENDED)
    | (_QUEUES if state is _READY else 0)
    | (_STARTABLE if state in (TaskState.WAITING, _READY) else 0)
    | (_SLOT if state in _HOLDS_SLOT else 0)
    | (_DOUBT if state is _UNKNOWN else 0)
    for state in TaskState
}
_BROKEN = frozenset({AttemptEnd.ERROR, AttemptEnd.TIMEOUT})
_CHANGES_KEPT: Final = 4_096
"""The newest changes of slots that are kept. A demand that lags further behind looks at each of its devices."""
_ABSENT = TaskRecord(since_ms=0, state=TaskState.WAITING)
"""Stands for a task that is not there before or after a change; its state is not read."""
_NO_SPEC = TaskSpec(changed_in=0, id="")


def put(shard: Shard, stream: Stream, kind: str, key: str, record: Record | None) -> None:
    """Replace one record and journal the old one."""
    put_all(shard, stream, ((kind, key, record),))


def put_all(shard: Shard, stream: Stream, puts: Sequence[tuple[str, str, Record | None]]) -> None:
    """Replace records in order, each as `put` does: an event has several, and a plan has thousands."""
    tables, hooks, note, seq = stream.tables, _HOOKS[type(stream)], shard.journal.append, stream.seq
    for kind, key, record in puts:
        table = tables[kind]
        old = table.get(key)
        note((stream, kind, key, old, seq))
        if record is None:
            table.pop(key, None)
        else:
            table[key] = record
        hooks[kind](shard, stream, key, old, record)


def undo(shard: Shard, mark: int = 0) -> None:
    """Undo every put since the journal had `mark` entries, newest first."""
    journal = shard.journal
    while len(journal) > mark:
        stream, kind, key, old, seq = journal.pop()
        put(shard, stream, kind, key, old)
        journal.pop()
        stream.seq = seq
        if isinstance(stream, Constellation) and not stream.tables["head"]:
            shard.constellations.pop(stream.name, None)


def _index_head(shard: Shard, constellation: Constellation, _key: str, old: Head | None, new: Head | None) -> None:
    if new is not None:
        constellation.head = new
        constellation.tool_ms = new.tool_ms
    was_live = old is not None and old.state not in FINAL_CONSTELLATION_STATES
    is_live = new is not None and new.state not in FINAL_CONSTELLATION_STATES
    if is_live and not was_live:
        shard.live[constellation.name] = None
    elif was_live and not is_live:
        shard.live.pop(constellation.name, None)
    if is_live and new is not None and new.policy.review_at:
        shard.pointed[constellation.name] = None
    elif shard.pointed:
        shard.pointed.pop(constellation.name, None)
    if old is None or new is None or old.state is not new.state:
        shard.settled[constellation.name] = None
    if old is not None and new is not None and old.policy.priority is not new.policy.priority:
        moved(constellation)


def _index_spec(
    shard: Shard, constellation: Constellation, key: str, old: TaskSpec | None, new: TaskSpec | None
) -> None:
    was, now = old or _NO_SPEC, new or _NO_SPEC
    if was.look != now.look:
        constellation.progress.looks += bool(now.look) - bool(was.look)
    if now.any_of:
        constellation.choosing[key] = None
    elif constellation.choosing:
        constellation.choosing.pop(key, None)
    if now.ask:
        constellation.asking[key] = None
    elif constellation.asking:
        constellation.asking.pop(key, None)
    if was.group != now.group:
        record = constellation.tasks.get(key) or constellation.groups.get(key)
        if was.group:
            constellation.children[was.group].pop(key, None)
            _count_child(constellation, was.group, record, -1)
        if now.group:
            constellation.children.setdefault(now.group, {})[key] = None
            _count_child(constellation, now.group, record, +1)
    old_family = was.family if was.for_each else None
    new_family = now.family if now.for_each else None
    if old_family != new_family:
        if old_family:
            constellation.families[old_family].pop(key, None)
        if new_family:
            constellation.families.setdefault(new_family, {})[key] = None
    if old is not None and new is not None:
        record = constellation.tasks.get(key)
        if record is not None:
            dequeue(shard, constellation, key, new)
            if queueable(record):
                _enqueue(shard, constellation, new)
        if old.optional != new.optional:
            _regate(shard, constellation, key)
    shard.touched[(constellation.name, key)] = None


def _count_child(constellation: Constellation, group: str, record: TaskRecord | GroupRecord | None, step: int) -> None:
    if record is None:
        return
    tally = constellation.tally.setdefault(group, Tally())
    tally.children += step
    if record.state not in FINAL_TASK_STATES:
        tally.unfinished += step
    elif record.state == "succeeded":
        tally.succeeded += step
    elif record.state == "skipped" and record.reason in EXCUSED_SKIPS:
        tally.excused += step
    elif record.state == "cancelled" and record.reason is Reason.HOPELESS:
        # Stopped by a rule of the plan: it counts neither for nor against its group.
        tally.excused += step
        tally.hopeless += step
    if record.state in _HOLDS_SLOT:
        tally.held_slots += step


def _index_task(
    shard: Shard, constellation: Constellation, key: str, old: TaskRecord | None, new: TaskRecord | None
) -> None:
    if old is new:
        # An event repeats a put that was applied before it (`Work.quietly`).
        return
    name = constellation.name
    was, now = old or _ABSENT, new or _ABSENT
    was_is = _TRAITS[was.state] if old is not None else 0
    now_is = _TRAITS[now.state] if new is not None else 0
    either, changed = was_is | now_is, was_is ^ now_is
    spec = constellation.specs.get(key)
    if spec is not None and spec.group:
        _count_child(constellation, spec.group, old, -1)
        _count_child(constellation, spec.group, new, +1)
        shard.touched[(name, spec.group)] = None
    elif changed & _OPEN or new is None or old is None:
        constellation.unfinished_top += (now_is & _OPEN) - (was_is & _OPEN)
        shard.settled[name] = None
    if was.hedge != now.hedge:
        constellation.progress.hedges += (now.hedge > 0) - (was.hedge > 0)
    if either & _SLOT:
        device_before = was.device if was_is & _SLOT else None
        device_now = now.device if now_is & _SLOT else None
        if device_before != device_now:
            if device_before is not None:
                _free_slot(shard, constellation, key, device_before)
            if device_now is not None:
                _take_slot(shard, constellation, f"{key}/{now.attempt}", key, device_now)
        if was.reason is _TAP:
            constellation.tapped.pop(key, None)
        if now.reason is _TAP:  # a running task alone
            constellation.tapped[key] = None
    if now_is & _DOUBT:
        constellation.unknown[key] = None
    elif was_is & _DOUBT:
        constellation.unknown.pop(key, None)
    if either & _QUEUES:
        constellation.ready += bool(now_is & _QUEUES) - bool(was_is & _QUEUES)
        if was_is & _QUEUES:
            if was.reason is None:
                _dequeue(shard, constellation, key, spec)
            elif was.reason is _MOMENT:
                constellation.moments.pop(key, None)
        if now_is & _QUEUES:
            if now.reason is _MOMENT:
                constellation.moments[key] = None
            elif now.reason is None and spec is not None:
                _enqueue(shard, constellation, spec)
    if old is None or new is None or was.state is not now.state or was.marked != now.marked:
        # Between two states that are not final every gate stays undecided.
        if either & _ENDED:
            _regate(shard, constellation, key)
            if was_is & _ENDED:
                _count_end(constellation, key, spec, was, -1)
            if now_is & _ENDED:
                _count_end(constellation, key, spec, now, +1)
            if old is not None and new is not None and was.round != now.round:
                _relist_after(shard, constellation, key)
        if now_is & _STARTABLE:
            shard.touched[(name, key)] = None
    if constellation.demands and (was_is & _SLOT or either & _ENDED):
        moved(constellation)


def _count_end(constellation: Constellation, key: str, spec: TaskSpec | None, record: TaskRecord, step: int) -> None:
    progress = constellation.progress
    if spec is not None and spec.look:
        return
    progress.ended += step
    if record.state is _SUCCEEDED:
        progress.succeeded += step
        progress.checked += step * record.checked
        if spec is not None and spec.tool is not None:
            _count_pace(constellation, spec, spec.tool, record, step)
        if record.device is not None:
            progress.devices[record.device] = progress.devices.get(record.device, 0) + step
    elif record.state is TaskState.FAILED:
        if step > 0:
            progress.failed[key] = None
        else:
            progress.failed.pop(key, None)


def _count_pace(constellation: Constellation, spec: TaskSpec, tool: str, record: TaskRecord, step: int) -> None:
    attempt = constellation.attempts.get(f"{spec.id}/{record.attempt}")
    if attempt is None or attempt.end is not _ENDED_OK:
        return
    if attempt.origin_task:
        constellation.progress.reused += step
        return
    paces = constellation.progress.paces
    count, total_ms = paces.get(tool, (0, 0))
    took_ms = attempt.ended_ms - (attempt.started_ms or attempt.leased_ms)
    paces[tool] = count + step, total_ms + step * took_ms


def _count_slot(fleet: Fleet, device: str, step: int) -> None:
    fleet.used[device] = fleet.used.get(device, 0) + step
    if len(fleet.slots_changed) == _CHANGES_KEPT:
        fleet.slots_changed.clear()
    fleet.slots_changed.append(device)
    fleet.slots_number += 1


def _free_slot(shard: Shard, constellation: Constellation, key: str, device: str) -> None:
    fleet, shares, owner = shard.fleet, shard.shares, constellation.head.author
    shares[owner] = shares.get(owner, 0) - 1
    constellation.held -= 1
    fleet.freed += 1
    _count_slot(fleet, device, -1)
    fleet.holders.get(device, {}).pop((constellation.name, key), None)


def _take_slot(shard: Shard, constellation: Constellation, at: str, key: str, device: str) -> None:
    fleet, shares, owner = shard.fleet, shard.shares, constellation.head.author
    shares[owner] = shares.get(owner, 0) + 1
    constellation.held += 1
    _count_slot(fleet, device, +1)
    attempt = constellation.attempts.get(at)
    due_ms = attempt.leased_ms + attempt.expects_ms if attempt is not None and attempt.expects_ms else 0
    fleet.holders.setdefault(device, {})[(constellation.name, key)] = due_ms


def _index_group(
    shard: Shard, constellation: Constellation, key: str, old: GroupRecord | None, new: GroupRecord | None
) -> None:
    was_live = old is not None and old.state not in FINAL_GROUP_STATES
    is_live = new is not None and new.state not in FINAL_GROUP_STATES
    constellation.unfinished_top += is_live - was_live
    if was_live != is_live or new is None or old is None:
        shard.settled[constellation.name] = None
    if new is not None and new.until_ms and new.state is GroupState.WAITING:
        constellation.returning[key] = None
    else:
        constellation.returning.pop(key, None)
    if old is None or new is None or old.state is not new.state:
        _regate(shard, constellation, key)
        shard.touched[(constellation.name, key)] = None
    spec = constellation.specs.get(key)
    if old is None or new is None or old.round != new.round:
        _relist_after(shard, constellation, key)
    if spec is None:
        return
    if spec.group:
        _count_child(constellation, spec.group, old, -1)
        _count_child(constellation, spec.group, new, +1)
        shard.touched[(constellation.name, spec.group)] = None
    if spec.family:
        _relist(shard, constellation, spec.family)


def _relist_after(shard: Shard, constellation: Constellation, source: str) -> None:
    for dependency in constellation.outgoing.get(source, {}).values():
        if dependency.input == ITEMS:
            _relist(shard, constellation, dependency.target)


def _relist(shard: Shard, constellation: Constellation, root: str) -> None:
    """Note whether a family's list is being made again; the gates from its old children are decided again."""
    now = is_stale(constellation, root)
    if now == (root in constellation.relisting):
        return
    if now:
        constellation.relisting[root] = None
    else:
        del constellation.relisting[root]
    for member in constellation.families.get(root, {}):
        shard.touched[(constellation.name, member)] = None
        for child in constellation.children.get(member, {}):
            _regate(shard, constellation, child)
            shard.touched[(constellation.name, child)] = None


def _index_dep(
    shard: Shard, constellation: Constellation, key: str, old: Dependency | None, new: Dependency | None
) -> None:
    if old is not None:
        constellation.outgoing[old.source].pop(key, None)
        constellation.incoming[old.target].pop(key, None)
        _count_gate(constellation, old.target, constellation.gate.pop(key), -1)
        constellation.awaiting_facts.pop(key, None)
        if old.condition is not None or old.input in READ_BY_CORE:
            constellation.read[old.source].pop(key, None)
        if old.input == ITEMS:
            constellation.lists[old.source].pop(key, None)
        shard.touched[(constellation.name, old.target)] = None
    if new is not None:
        constellation.outgoing.setdefault(new.source, {})[key] = new
        constellation.incoming.setdefault(new.target, {})[key] = new
        state = constellation.gate[key] = decide(constellation, new)
        _count_gate(constellation, new.target, state, +1)
        if new.input == ITEMS:
            constellation.lists.setdefault(new.source, {})[key] = new
        if new.condition is not None or new.input in READ_BY_CORE:
            constellation.read.setdefault(new.source, {})[key] = new
            _note_awaited_fact(constellation, key, new, state)
        shard.touched[(constellation.name, new.target)] = None


def _count_gate(constellation: Constellation, target: str, state: GateState, step: int) -> None:
    if state is _UNDECIDED:
        constellation.undecided[target] = constellation.undecided.get(target, 0) + step
    elif state is _SHUT:
        constellation.shut[target] = constellation.shut.get(target, 0) + step


def _regate(shard: Shard, constellation: Constellation, source: str) -> None:
    """Decide again every gate that leaves `source`: O(its outgoing dependencies)."""
    outgoing = constellation.outgoing.get(source)
    if not outgoing:
        return
    gate, touched, name = constellation.gate, shard.touched, constellation.name
    on_success = decide_success(constellation, source)
    for key, dependency in outgoing.items():
        was, now = gate[key], on_success if dependency.gate is _SUCCESS else decide(constellation, dependency)
        if was is not now:
            target = dependency.target
            gate[key] = now
            if was is not _OPENED:
                _count_gate(constellation, target, was, -1)
            if now is not _OPENED:
                _count_gate(constellation, target, now, +1)
            touched[(name, target)] = None
        if dependency.condition is not None or dependency.input in READ_BY_CORE:
            _note_awaited_fact(constellation, key, dependency, now)


def _note_awaited_fact(constellation: Constellation, key: str, dependency: Dependency, state: GateState) -> None:
    source = constellation.tasks.get(dependency.source) or constellation.groups.get(dependency.source)
    over = source is not None and source.state == "succeeded"
    if over and state is _UNDECIDED:
        constellation.awaiting_facts[key] = None
    else:
        constellation.awaiting_facts.pop(key, None)


def _index_attempt(
    shard: Shard, constellation: Constellation, key: str, old: Attempt | None, new: Attempt | None
) -> None:
    if new is not None and new.end is None:
        constellation.open_attempts[key] = None
        if new.hedge and (old is None or not old.hedge):
            _index_hedge(shard, constellation, key, old, new)
    else:
        constellation.open_attempts.pop(key, None)
        if shard.fleet.stop_waits and f"{constellation.name}/{key}" in shard.fleet.stop_waits:
            shard.ended_stops[f"{constellation.name}/{key}"] = None
    if old is not None and old.hedge:
        _index_hedge(shard, constellation, key, old, new)
    if new is not None and new.end in _BROKEN and _is_transient(new):
        constellation.progress.broken += 1
    if old is not None and old.end in _BROKEN and _is_transient(old):
        constellation.progress.broken -= 1
    task = key.rpartition("/")[0]
    record = constellation.tasks.get(task)
    if record is not None and record.state is _SUCCEEDED:
        _regate(shard, constellation, task)
        if constellation.awaiting_facts:
            _regate_groups(shard, constellation, task)


def _regate_groups(shard: Shard, constellation: Constellation, task: str) -> None:
    """Decide again the gates of the groups around a task: a list over a group reads the facts of its children."""
    spec = constellation.specs.get(task)
    while spec is not None and spec.group is not None:
        _regate(shard, constellation, spec.group)
        spec = constellation.specs.get(spec.group)


def _index_question(
    _shard: Shard, constellation: Constellation, key: str, _old: Question | None, new: Question | None
) -> None:
    if new is not None and new.answer is None:
        constellation.open_questions[key] = None
    else:
        constellation.open_questions.pop(key, None)


def _index_approved(
    shard: Shard, constellation: Constellation, _key: str, _old: Approved | None, new: Approved | None
) -> None:
    reaches = new.reaches if new is not None else []
    constellation.approved = {(one.tool, encode_entity(one.selector)): frozenset(one.devices) for one in reaches}
    constellation.approved_keys = {
        devices: blake2b("\0".join(sorted(devices)).encode(), digest_size=16).digest()
        for devices in constellation.approved.values()
    }
    name = constellation.name
    for demand in list(constellation.demands.values()):
        waiting = {task for _, _, task in demand.lines.get(name, ()) if shard.queued.get((name, task)) == demand.key}
        for spec in (constellation.specs[task] for task in sorted(waiting)):
            if approved_for(constellation, spec) != (demand.needs.approved if demand.needs is not None else None):
                enqueue(shard, constellation, spec)


def _index_rule(
    _shard: Shard, constellation: Constellation, key: str, old: RuleRecord | None, new: RuleRecord | None
) -> None:
    if old is not None and (new is None or new.task != old.task):
        constellation.rules_by_task[old.task].pop(key, None)
    if new is not None:
        constellation.rules_by_task.setdefault(new.task, {})[key] = None


def _dequeue(shard: Shard, constellation: Constellation, key: str, spec: TaskSpec | None) -> None:
    dequeue(shard, constellation, key, spec)
    shard.queued_now.pop((constellation.name, key), None)


def _enqueue(shard: Shard, constellation: Constellation, spec: TaskSpec) -> None:
    enqueue(shard, constellation, spec)
    shard.queued_now[(constellation.name, spec.id)] = spec.optional or bool(spec.any_of)


def _index_finding(
    shard: Shard, constellation: Constellation, _key: str, old: Finding | None, new: Finding | None
) -> None:
    # A goal that has published need not end before others take what it found.
    for finding in (old, new):
        if finding is not None:
            _regate(shard, constellation, finding.by)


def _is_transient(ended: Attempt) -> bool:
    return ended.code is not None and CODES[ended.code].code_class is not CodeClass.PERMANENT


def _index_hedge(
    shard: Shard, constellation: Constellation, key: str, old: Attempt | None, new: Attempt | None
) -> None:
    """Count the slot of a hedge, which no task's record names."""
    fleet = shard.fleet
    task = constellation.name, key.rpartition("/")[0]
    was = old.device if old is not None and old.hedge and old.end is None else None
    now = new.device if new is not None and new.hedge and new.end is None else None
    if was == now:
        return
    if was is not None:
        fleet.freed += 1
        _count_slot(fleet, was, -1)
        fleet.hedges.get(was, {}).pop(task, None)
    if now is not None:
        _count_slot(fleet, now, +1)
        fleet.hedges.setdefault(now, {})[task] = None


def _index_health(_shard: Shard, fleet: Fleet, _key: str, old: Health | None, new: Health | None) -> None:
    fleet.faults += (new.faults if new is not None else 0) - (old.faults if old is not None else 0)


def _index_pace(_shard: Shard, fleet: Fleet, key: str, _old: Pace | None, _new: Pace | None) -> None:
    fleet.pace_number += 1
    fleet.pace_changed.pop(key, None)
    fleet.pace_changed[key] = fleet.pace_number


def _index_schedule(_shard: Shard, fleet: Fleet, key: str, _old: Record | None, _new: Record | None) -> None:
    kept: Schedule | None = fleet.tables["schedule"].get(key)
    if kept is None:
        fleet.schedules.pop(key, None)
    else:
        fleet.schedules[key] = with_course(kept, fleet.schedule_courses.get(key))


def _index_stopping(_shard: Shard, fleet: Fleet, key: str, old: Stopping | None, new: Stopping | None) -> None:
    for attempt in old.attempts if old is not None else ():
        fleet.stop_waits.pop(attempt, None)
    for attempt in new.attempts if new is not None else ():
        fleet.stop_waits[attempt] = key


def _index_device(_shard: Shard, fleet: Fleet, key: str, old: Device | None, new: Device | None) -> None:
    if old is not None and fleet.by_name.get(old.name) == key:
        del fleet.by_name[old.name]
        _count_look(fleet, old.name, -1)
    for name in old.former_names if old is not None else ():
        if fleet.by_former_name.get(name) == key:
            del fleet.by_former_name[name]
    if old is not None and old.revoked:
        for name in (old.name, *old.former_names):
            del fleet.gone[name][key]
            if not fleet.gone[name]:
                del fleet.gone[name]
    if new is not None and new.revoked:
        for name in (new.name, *new.former_names):
            fleet.gone.setdefault(name, {})[key] = None
    if new is not None and not new.revoked:
        if new.name not in fleet.by_name:
            _count_look(fleet, new.name, +1)
        fleet.by_name[new.name] = key
        fleet.by_former_name.update(dict.fromkeys(new.former_names, key))
    _device_changed(fleet, key)
    if new is not None and new.expected_until_ms and new.link is DeviceLink.OFFLINE and not new.revoked:
        fleet.expected[key] = None
    else:
        fleet.expected.pop(key, None)
    if old is not None and new is not None and (old.name, old.demo) != (new.name, new.demo):
        fleet.reordered = fleet.revision


def _index_offer(_shard: Shard, fleet: Fleet, key: str, _old: Offer | None, new: Offer | None) -> None:
    if new is not None:
        fleet.tools[key] = fleet.tool_sets.take(key, new.tools)
    else:
        fleet.tools.pop(key, None)
        fleet.tool_sets.leave(key)
    _device_changed(fleet, key)


def _count_look(fleet: Fleet, name: str, step: int) -> None:
    look = look_of(name)
    count = fleet.look_counts.get(look, 0) + step
    if count:
        fleet.look_counts[look] = count
    else:
        del fleet.look_counts[look]


def _index_enrollment(_shard: Shard, fleet: Fleet, key: str, old: Enrollment | None, new: Enrollment | None) -> None:
    if old is not None and fleet.asking.get(at := (old.code_of, old.device or "")) == key:
        del fleet.asking[at]
    if new is not None and new.code_of and new.state == "asking":
        fleet.asking[new.code_of, new.device or ""] = key


def _device_changed(fleet: Fleet, device: str) -> None:
    fleet.revision += 1
    fleet.changed.pop(device, None)
    fleet.changed[device] = fleet.revision


def _index_secret(_shard: Shard, access: Access, _key: str, old: Secret | None, new: Secret | None) -> None:
    # A further use of a secret does not change who may have it.
    if old is None or new is None or old.version != new.version:
        access.secrets_revision += 1


def _index_nothing(_shard: Shard, _stream: Stream, _key: str, _old: Record | None, _new: Record | None) -> None:
    """Stand for the hook of a kind of which no index is made."""


_HOOKS: dict[type[Stream], dict[str, Any]] = {
    Constellation: dict.fromkeys(CONSTELLATION_KINDS, _index_nothing)
    | {
        "approved": _index_approved,
        "head": _index_head,
        "spec": _index_spec,
        "task": _index_task,
        "group": _index_group,
        "dep": _index_dep,
        "attempt": _index_attempt,
        "finding": _index_finding,
        "question": _index_question,
        "rule": _index_rule,
    },
    Fleet: dict.fromkeys(FLEET_KINDS, _index_nothing)
    | {
        "device": _index_device,
        "enrollment": _index_enrollment,
        "offer": _index_offer,
        "health": _index_health,
        "pace": _index_pace,
        "schedule": _index_schedule,
        "schedule_course": _index_schedule,
        "stopping": _index_stopping,
    },
    Access: dict.fromkeys(ACCESS_KINDS, _index_nothing) | {"secret": _index_secret},
}


def load(shard: Shard, stream_name: str, seq: int, entities: dict[str, Record]) -> None:
    """Put a stream's stored entities, in the order that the index hooks require."""
    stream = shard.stream(stream_name)
    by_kind: dict[str, list[tuple[str, Record]]] = {}
    for full, record in entities.items():
        kind, _, key = full.partition("/")
        by_kind.setdefault(kind, []).append((key, record))
    # Tasks and groups last: each decides its gates again, which reads attempts, and queues by rank, which reads all.
    for kind in (*[k for k in by_kind if k not in _LOAD_LAST], *_LOAD_LAST):
        if kind == "task" and isinstance(stream, Constellation):
            set_ranks(stream)
        for key, record in by_kind.get(kind, ()):
            if isinstance(record, Offer):
                record = shard.fleet.tool_sets.share(record)
            put(shard, stream, kind, key, record)
    stream.seq = seq
    shard.journal.clear()


_LOAD_LAST = ("spec", "attempt", "dep", "task", "group")


def full_key(kind: str, key: str) -> str:
    """Return the key of a record in events and in the store."""
    return kind if kind in ("head", "answer") else f"{kind}/{key}"
