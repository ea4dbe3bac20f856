"""Structure edits: one atomic batch takes version n to n+1, or is rejected whole with every reason.

A batch is judged against `base_version`: the tasks that it updates, removes or adds an edge into must not have changed
since and must not have started. Graph rules (cycle, limits) are judged on the present graph. Rules and expansions edit
the current version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from starloom.core.plan.batches.added_items import add_items, notes_of
from starloom.core.plan.batches.batch import EditBatch, started
from starloom.core.plan.batches.flows import flow_faults
from starloom.core.plan.batches.superseding import supersede
from starloom.core.plan.batches.topics import link_topics, may_publish
from starloom.core.plan.drafts import close, held_back
from starloom.core.plan.groups import data_edges
from starloom.core.plan.relisting import group_in_next_round, task_in_next_round
from starloom.core.rights.authorship import check_edit, is_free, question_faults
from starloom.core.rights.call_effects import takes_what_was_left
from starloom.core.run.late_facts import ask
from starloom.core.state.idempotency import earlier_result, note_made
from starloom.core.state.inputs import EditProposed
from starloom.core.state.model import Constellation
from starloom.core.state.tasks.gates import ITEMS, MOMENT, SHOWN
from starloom.core.state.tasks.graph import find_cycle, raise_ranks
from starloom.core.state.work import Put, Refusal, Work, change_task, close_question, fault, moved, named_constellation
from starloom_protocol.records.edits import (
    AddDependency,
    AddItems,
    AddTask,
    DropItems,
    EditOperation,
    Expand,
    Reassign,
    RemoveDependency,
    RemoveTask,
    SetPolicy,
    Supersede,
    UpdateDependency,
    UpdateTask,
)
from starloom_protocol.records.entities import (
    GroupRecord,
    TaskRecord,
    TaskSpec,
    Version,
    dependency_id,
)
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import (
    FINAL_GROUP_STATES,
    REPEATABLE,
    Code,
    ConstellationState,
    Gate,
    GroupState,
    Role,
    TaskState,
)

KEPT_NAMED_MOST = 20
"""The history and each list of versions hold the note of an edit, so it names no more items that are kept."""
_NOT_CHANGED = frozenset(
    {
        "again_of",
        "changed_in",
        "family",
        "finds",
        "goal",
        "group",
        "id",
        "instead_of",
        "judge",
        "key",
        "look",
        "superseded_by",
    }
)
_FIELD_TYPES: dict[str, Any] = {
    field.encode_name: field.type for field in msgspec.structs.fields(TaskSpec) if field.encode_name not in _NOT_CHANGED
}


def apply_edit(
    work: Work,
    constellation: Constellation,
    operations: list[EditOperation],
    *,
    author: str,
    reason: str,
    trigger: str,
    base_version: int | None = None,
    also: tuple[Put, ...] = (),
    proposed: bool = False,
    owner: bool = False,
) -> int:
    """Apply a batch as one event and return the new version.

    `proposed`: a person or a model wrote it now, so its pointers and arguments are checked against devices' offers, and
    the questions of named people stay theirs, or an `owner`'s.

    Raises:
        Refusal: with every fault; nothing of the batch is applied then.
    """
    batch = EditBatch(work, constellation, base_version, author)
    for position, operation in enumerate(operations):
        word = type(operation).__struct_config__.tag
        _OPERATIONS[type(operation)](batch, operation, f"operations[{position}].{word}")
        if batch.refuse_if_too_big(f"operations[{position}]"):
            raise Refusal(*batch.faults)
    link_topics(batch)
    _check_edges(batch)
    for task, spec in batch.specs.items():
        if spec is not None and takes_what_was_left(spec):
            reason = f"{task} would take back what another task left, as an undo alone does"
            batch.refuse(Code.FORBIDDEN, reason, task, "Undo that work: starloom undo.")
    if proposed and not batch.faults:
        batch.faults.extend(flow_faults(work.shard.fleet, constellation, batch.specs, batch.deps, operations))
        people, puts = work.shard.access.principals, (batch.specs, batch.deps)
        batch.faults.extend(question_faults(constellation, *puts, people, author=author, owner=owner))
    if constellation.drafts:
        sources = [item.source for item in batch.deps.values() if item is not None]
        tasks = [*batch.changed, *batch.removed, *sources]
        batch.faults.extend(held_back(constellation, author, tasks, work.at_ms))
    if batch.faults:
        raise Refusal(*batch.faults)
    note = "; ".join([reason, *batch.notes, *notes_of(batch)])
    _commit(batch, operations, author=author, reason=note, trigger=trigger, also=also)
    return batch.number


def on_edit(work: Work, item: EditProposed, *, open_rounds: Callable[[Constellation], None] | None = None) -> None:
    """Apply an edit that a person or the planner proposes.

    `open_rounds` gives the tasks that the edit retries their new round, so that they may be edited; it comes before the
    check of the state, since it opens a constellation that has ended. An edit that only retries makes no version.
    """
    constellation = named_constellation(work, item.constellation)
    scope = f"edit/{constellation.name}"
    version_made = earlier_result(work, item.caller, scope, item.idempotency)
    if version_made is not None:
        work.answer({"version": int(version_made)})
        return
    if open_rounds is not None:
        open_rounds(constellation)
    if constellation.name not in work.shard.live or constellation.head.state is ConstellationState.CANCELLING:
        state = constellation.head.state
        hint = f"Retry tasks in the same edit: starloom edit {constellation.name} -f EDIT --retry TASK. Or fork it."
        raise Refusal(fault(Code.ILLEGAL_CONTROL, f"the constellation is {state}", "", hint))
    if not constellation.head.version:
        reason = f"the constellation is {constellation.head.state}, and its plan is not made yet"
        raise Refusal(fault(Code.ILLEGAL_CONTROL, reason, "", "Wait for the plan, or cancel it and submit your own."))
    if item.base_version > constellation.head.version:
        reason = f"version {item.base_version} does not exist; the newest is {constellation.head.version}"
        raise Refusal(fault(Code.EDIT_CONFLICT, reason, "base_version"))
    if open_rounds is not None and not item.operations:
        note_made(work, item.caller, scope, item.idempotency, str(constellation.head.version))
        work.answer({"version": constellation.head.version})
        return
    free = is_free(work.by, approves=item.approves)
    before, flows = ({}, {}) if free else (dict(constellation.specs), dict(constellation.deps))
    number = apply_edit(
        work,
        constellation,
        item.operations,
        author=work.by,
        reason=item.reason,
        trigger=item.trigger,
        base_version=item.base_version,
        proposed=True,
        owner=item.scope == Role.OWNER,
    )
    check_edit(work.shard.fleet, constellation, before, flows, item.operations, author=work.by, approves=item.approves)
    note_made(work, item.caller, scope, item.idempotency, str(number))
    close(work, constellation, work.by)
    work.answer({"version": number})


def _add_task(batch: EditBatch, operation: AddTask, place: str) -> None:
    spec = operation.spec
    if batch.spec(spec.id) is not None:
        batch.refuse(Code.DUPLICATE_ID, f"a task {spec.id} exists", f"{place}.id")
        return
    if spec.goal is not None:
        # A person approves the envelope of a goal with its plan; a goal that is added later would be unapproved.
        reason = f"{spec.id} is a goal, and a goal belongs to the plan that a person approves"
        batch.refuse(Code.PLAN_INVALID, reason, place, "Start a plan of its own for it.")
        return
    family = spec.family
    if spec.for_each is not None:
        family = spec.for_each.same or spec.id
        if spec.for_each.same is not None:
            other = batch.spec(spec.for_each.same)
            if other is None or other.for_each is None:
                batch.refuse(Code.UNKNOWN_TASK, f"there is no group {spec.for_each.same}", f"{place}.for_each.same")
                return
            family = other.family or other.id
    if not may_publish(batch, spec, place):
        return
    batch.added[spec.id] = None
    again_of = spec.again_of if batch.author == ENGINE else None
    batch.put_spec(replace(spec, again_of=again_of, family=family, instead_of="", look=0))
    for edge in data_edges(spec, batch.number):
        batch.put_dep(edge)


def _remove_task(batch: EditBatch, operation: RemoveTask, place: str) -> None:
    for task in (operation.id, *batch.constellation.contents_of(operation.id)):
        if batch.editable(task, place) is None:
            return
        batch.specs[task] = None
        batch.removed[task] = None
        for key in batch.constellation.incoming.get(task, {}):
            batch.deps[key] = None


def _update_task(batch: EditBatch, operation: UpdateTask, place: str) -> None:
    spec = batch.editable(operation.id, place)
    if spec is None:
        return
    fields: dict[str, Any] = {}
    for name, raw in operation.changes.items():
        if name not in _FIELD_TYPES:
            batch.refuse(Code.UNKNOWN_FIELD, f"a task has no field {name} that can be changed", f"{place}.{name}")
            continue
        try:
            fields[name] = msgspec.json.decode(raw, type=_FIELD_TYPES[name])
        except msgspec.ValidationError as error:
            batch.refuse(Code.BAD_REQUEST, str(error), f"{place}.{name}")
    changed = replace(spec, **fields)
    if changed.judge is not None and (changed.verify is not None or changed.for_each is not None):
        batch.refuse(Code.PLAN_INVALID, f"{spec.id} is judged, so it has no list and no verify", place)
    belongs_to_one_call = changed.undo is not None or changed.verify is not None
    belongs_to_one_call |= changed.repeatability not in (None, *REPEATABLE)
    if changed.any_of and (changed.tool is None or changed.for_each is not None or belongs_to_one_call):
        reason = f"{spec.id} has other calls to choose from, so it has no list, `undo` or `verify`, and may be repeated"
        batch.refuse(Code.PLAN_INVALID, reason, place)
        return
    if _shared_list(changed) != _shared_list(spec):
        _put_in_place(batch, spec, changed, place)
        return
    if "inputs" in fields or "for_each" in fields:
        for edge in data_edges(spec, batch.number):
            batch.deps[dependency_id(edge)] = None
        for edge in data_edges(changed, batch.number):
            batch.put_dep(edge)
    _put_on_device(batch, changed, f"{place}.device")


def _put_in_place(batch: EditBatch, spec: TaskSpec, changed: TaskSpec, place: str) -> None:
    """Put a call on each device in the place of one that has not begun, or one in that of those, with its gates."""
    each = changed.for_each or spec.for_each
    over_devices = each is not None and each.devices is not None and each.source is None
    if not over_devices or _shared_list(spec) or _shared_list(changed) or spec.key is not None:
        reason = f"{spec.id} cannot take or leave a list while it runs"
        batch.refuse(Code.BAD_REQUEST, reason, f"{place}.for_each", f"Remove {spec.id}, and add a row with the list.")
        return
    edges = [batch.dep(key) for key in batch.constellation.incoming.get(spec.id, {})]
    _remove_task(batch, RemoveTask(id=spec.id), place)
    _add_task(batch, AddTask(spec=replace(changed, family=None)), place)
    for edge in edges:
        if edge is not None and edge.gate is not Gate.DATA and not edge.input:
            batch.put_dep(edge)


def _shared_list(spec: TaskSpec) -> str | None:
    """Return the group whose list a task shares, "" for a list of its own, None without a list."""
    return None if spec.for_each is None else spec.for_each.same or ""


def _reassign(batch: EditBatch, operation: Reassign, place: str) -> None:
    spec = batch.editable(operation.id, place)
    if spec is not None:
        _put_on_device(batch, replace(spec, device=operation.device), f"{place}.device")


def _put_on_device(batch: EditBatch, spec: TaskSpec, place: str) -> None:
    """Put a spec whose call or device was changed, if it may have them; the same check as for a plan."""
    subject = spec.undoes or (spec.verifies or "").rpartition("/")[0]
    if subject:
        # Its result is about other work: that it is taken back, or that it may run again.
        reason = f"{spec.id} is the call that {'takes back' if spec.undoes else 'verifies'} {subject}"
        batch.refuse(Code.BAD_REQUEST, f"{reason}, and only {subject} says how", place, "Cancel or remove it.")
        return
    if spec.device is not None and (spec.person is not None or spec.nested):
        what = "a question to a person" if spec.person is not None else "a plan within the plan"
        batch.refuse(Code.PLAN_INVALID, f"{what} has no device", place)
        return
    batch.put_spec(spec)


def _mark_target_changed(batch: EditBatch, target: str, place: str) -> bool:
    spec = batch.editable(target, place)
    if spec is None:
        return False
    batch.put_spec(spec)
    return True


def _add_dependency(batch: EditBatch, operation: AddDependency, place: str) -> None:
    dependency = operation.dependency
    if batch.spec(dependency.source) is None:
        batch.refuse(Code.UNKNOWN_TASK, f"{dependency.source} does not exist", f"{place}.from")
        return
    if batch.dep(dependency_id(dependency)) is not None:
        batch.refuse(Code.DUPLICATE_ID, f"{dependency_id(dependency)} exists", place)
        return
    for target in _held_by_gate(batch, dependency.target):
        if _mark_target_changed(batch, target, f"{place}.to"):
            batch.put_dep(replace(dependency, target=target))


def _held_by_gate(batch: EditBatch, target: str) -> list[str]:
    """Return the tasks that a gate of `target` holds back: itself and, for a nested plan, all its tasks."""
    spec = batch.spec(target)
    if spec is None or not spec.nested:
        return [target]
    inside = dict.fromkeys(name for name in batch.constellation.contents_of(target) if batch.spec(name) is not None)
    for name in batch.added:
        added = batch.spec(name)
        if added is not None and (added.group == target or added.group in inside):
            inside[name] = None
    return [target, *inside]


def _remove_dependency(batch: EditBatch, operation: RemoveDependency, place: str) -> None:
    dependency = batch.dep(operation.id)
    if dependency is None:
        batch.refuse(Code.UNKNOWN_TASK, f"there is no dependency {operation.id}", place)
        return
    if dependency.changed_in > batch.base and operation.id not in batch.deps:
        reason = f"{operation.id} was changed in version {dependency.changed_in}"
        batch.refuse(Code.EDIT_CONFLICT, reason, place)
        return
    if dependency.input == ITEMS:
        reason = f"{operation.id} is the list of {dependency.target}: change its for_each, or remove the group"
        batch.refuse(Code.BAD_REQUEST, reason, place)
        return
    if dependency.input in (MOMENT, SHOWN):
        part = "time" if dependency.input == MOMENT else "result that is shown"
        reason = f"{operation.id} is the {part} of {dependency.target}: remove the task, or add another one"
        batch.refuse(Code.BAD_REQUEST, reason, place)
        return
    target = batch.editable(dependency.target, place)
    if target is None:
        return
    if dependency.topic:
        hint = f"Change the inputs of {dependency.target}."
        batch.refuse(Code.BAD_REQUEST, f"{operation.id} belongs to the topic `{dependency.topic}`", place, hint)
        return
    if dependency.gate is Gate.DATA:
        target = replace(target, inputs=[item for item in target.inputs if item.name != dependency.input])
    batch.put_spec(target)
    batch.deps[operation.id] = None
    if target.nested:
        for name in batch.constellation.contents_of(target.id):
            copy = dependency_id(replace(dependency, target=name))
            if batch.dep(copy) is not None:
                _remove_dependency(batch, RemoveDependency(id=copy), place)


def _update_dependency(batch: EditBatch, operation: UpdateDependency, place: str) -> None:
    before = len(batch.faults)
    _remove_dependency(batch, RemoveDependency(id=operation.id), place)
    if len(batch.faults) == before:
        _add_dependency(batch, AddDependency(dependency=operation.dependency), place)


def _expand(batch: EditBatch, operation: Expand, place: str) -> None:
    """Touch a group, which expands once its list is known; repeating this is harmless."""
    spec = batch.spec(operation.id)
    if spec is None or spec.for_each is None:
        batch.refuse(Code.UNKNOWN_TASK, f"there is no group {operation.id}", place)
        return
    batch.work.shard.touched[(batch.constellation.name, operation.id)] = None


def _drop_items(batch: EditBatch, operation: DropItems, place: str) -> None:
    constellation = batch.constellation
    spec = batch.spec(operation.of)
    if spec is None or spec.for_each is None:
        batch.refuse(Code.UNKNOWN_TASK, f"there is no group {operation.of}", f"{place}.of")
        return
    if spec.for_each.repeat is not None:
        batch.refuse(Code.BAD_REQUEST, f"the turns of {spec.id} are no items: skip one, or cancel them", f"{place}.of")
        return
    keys = parse(operation.keys)
    if not isinstance(keys, list):
        batch.refuse(Code.NOT_A_LIST, "keys must be a list of keys or positions", f"{place}.keys")
        return
    members = list(constellation.families.get(spec.family or spec.id, {}))
    kept_words: list[str] = []
    for key in dict.fromkeys(str(key) for key in keys):
        children = [f"{member}.{key}" for member in members if f"{member}.{key}" in constellation.tasks]
        if not children:
            kept_words.append(f"{key} (no such item)")
        elif any(started(constellation, child) for child in children):
            kept_words.append(f"{key} (has started)")
        elif any(constellation.specs[child].changed_in > batch.base for child in children):
            batch.refuse(Code.EDIT_CONFLICT, f"item {key} was changed after version {batch.base}", f"{place}.keys")
        else:
            batch.items.append(f"{spec.family or spec.id}/{key}")
            for child in children:
                _drop(batch, child)
    if kept_words:
        more = f" and {len(kept_words) - KEPT_NAMED_MOST} more" if len(kept_words) > KEPT_NAMED_MOST else ""
        batch.notes.append("kept: " + ", ".join(kept_words[:KEPT_NAMED_MOST]) + more)


def _drop(batch: EditBatch, child: str) -> None:
    batch.specs[child] = None
    batch.removed[child] = None
    for key in (*batch.constellation.incoming.get(child, {}), *batch.constellation.outgoing.get(child, {})):
        batch.deps[key] = None


def _set_policy(batch: EditBatch, operation: SetPolicy, place: str) -> None:
    for position, point in enumerate(operation.policy.review_at):
        if batch.spec(point) is None:
            batch.refuse(Code.UNKNOWN_TASK, f"{point} does not exist", f"{place}.review_at[{position}]")
    # Once the plan runs, nobody removes or replaces the judge of the whole.
    batch.policy = replace(operation.policy, judge=batch.constellation.head.policy.judge)


_OPERATIONS: dict[type, Any] = {
    AddTask: _add_task,
    RemoveTask: _remove_task,
    UpdateTask: _update_task,
    Reassign: _reassign,
    AddDependency: _add_dependency,
    RemoveDependency: _remove_dependency,
    UpdateDependency: _update_dependency,
    Expand: _expand,
    AddItems: add_items,
    DropItems: _drop_items,
    SetPolicy: _set_policy,
    Supersede: supersede,
}


def _check_edges(batch: EditBatch) -> None:
    for key, dependency in batch.deps.items():
        if dependency is None:
            continue
        if batch.spec(dependency.source) is None:
            batch.refuse(Code.UNKNOWN_TASK, f"{dependency.source} does not exist", f"dependency {key}")
        if batch.spec(dependency.target) is None:
            batch.refuse(Code.UNKNOWN_TASK, f"{dependency.target} does not exist", f"dependency {key}")
    for task in batch.removed:
        # One that was put back in another form keeps those that depend on it.
        is_gone = batch.spec(task) is None
        dependents = [
            key
            for key, dependency in batch.constellation.outgoing.get(task, {}).items()
            if is_gone and batch.dep(key) is not None and dependency.target not in batch.removed
        ]
        if dependents:
            batch.refuse(Code.HAS_DEPENDENTS, f"{task} is needed by {', '.join(dependents)}", f"remove_task {task}")
        family = batch.constellation.families.get(task, {})
        members = [name for name in family if name != task and batch.spec(name) is not None]
        if members:
            reason = f"the list of {', '.join(members)} is that of {task}"
            batch.refuse(Code.HAS_DEPENDENTS, reason, f"remove_task {task}")
    settings = batch.work.shard.settings
    total = len(batch.constellation.specs) + len(batch.added) - len(batch.removed)
    if total > settings.tasks_most:
        batch.refuse(Code.PLAN_TOO_BIG, f"{total} tasks are more than {settings.tasks_most}", "operations")
    edges = len(batch.constellation.deps) + sum(1 for item in batch.deps.values() if item is not None)
    if edges > settings.dependencies_most:
        batch.refuse(
            Code.PLAN_TOO_BIG, f"{edges} dependencies are more than {settings.dependencies_most}", "operations"
        )


def first_record(constellation: Constellation, spec: TaskSpec, at_ms: int) -> Put:
    """Return the first record of an added task or group; attempt numbers continue those of a removed one."""
    if spec.nested:
        return "group", spec.id, GroupRecord(state=GroupState.EXPANDED, since_ms=at_ms)
    if spec.for_each is not None or spec.goal is not None:
        return "group", spec.id, GroupRecord(state=GroupState.WAITING, since_ms=at_ms)
    last = 0
    while f"{spec.id}/{last + 1}" in constellation.attempts:
        last += 1
    return "task", spec.id, TaskRecord(state=TaskState.WAITING, since_ms=at_ms, attempt=last)


def _commit(
    batch: EditBatch,
    operations: list[EditOperation],
    *,
    author: str,
    reason: str,
    trigger: str,
    also: tuple[Put, ...],
) -> None:
    constellation, work = batch.constellation, batch.work
    puts: list[Put] = [("dep", key, None) for key, item in batch.deps.items() if item is None]
    puts.extend(("item", key, replace(constellation.items[key], dropped=True)) for key in batch.items)
    puts.extend(("item", key, item) for key, item in batch.new_items.items())
    for task in batch.removed:
        kind = "group" if task in constellation.groups else "task"
        puts.append((kind, task, None))
        puts.append(("spec", task, None))
    for task, spec in batch.specs.items():
        if spec is None:
            continue
        puts.append(("spec", task, spec))
        if task in batch.added:
            puts.append(first_record(constellation, spec, work.at_ms))
    puts.extend(("dep", key, item) for key, item in batch.deps.items() if item is not None)
    puts.extend(("group", group, record) for group, record in batch.grown.items())
    version = Version(
        added=list(batch.added),
        at_ms=work.at_ms,
        author=author,
        changed=list(batch.changed),
        number=batch.number,
        operations=canonical(msgspec.json.decode(msgspec.json.encode(operations))),
        reason=reason,
        removed=list(batch.removed),
        trigger=trigger,
    )
    head = replace(constellation.head, version=batch.number)
    if batch.policy is not None:
        head = replace(head, policy=batch.policy)
    puts.append(("version", str(batch.number), version))
    puts.append(("head", "", head))
    puts.extend(also)
    work.emit(constellation, EventKind.PLAN_EDITED, "", puts, note=reason, by=author)
    edges = [(item.source, item.target) for item in batch.deps.values() if item is not None]
    edges += [(task, spec.group) for task, spec in batch.specs.items() if spec is not None and spec.group]
    sources, targets = (dict.fromkeys(ends) for ends in zip(*edges, strict=True)) if edges else ({}, {})
    cycle = find_cycle(constellation, targets, sources)
    if cycle is not None:
        raise Refusal(fault(Code.PLAN_CYCLE, " -> ".join([*cycle, cycle[0]]), "operations"))
    raise_ranks(constellation, [*batch.added, *batch.changed, *sources])
    ask(work, constellation, [key for key, item in batch.deps.items() if item is not None])
    for task in (*batch.removed, *batch.changed):
        # The plan's question has changed: the new one is asked once its gates are open.
        if close_question(work, constellation, task) and task in constellation.tasks:
            waiting = moved(work, constellation.tasks[task], TaskState.WAITING)
            change_task(work, constellation, task, EventKind.TASK_WAITING, waiting, by=ENGINE)
    for name in batch.opened:
        _open_again(work, constellation, name, reason)


def _open_again(work: Work, constellation: Constellation, name: str, reason: str) -> None:
    """Open the next round of a task or group that was skipped for a failure which another task made good."""
    record = constellation.tasks.get(name)
    if record is not None:
        next_round = task_in_next_round(record, work.at_ms, confirmed=record.confirmed)
        change_task(work, constellation, name, EventKind.ROUND_OPENED, next_round, note=reason, by=ENGINE)
        return
    group = constellation.groups[name]
    if group.state in FINAL_GROUP_STATES:
        has_children = bool(constellation.children.get(name))
        next_group_round = group_in_next_round(group, work.at_ms, expanded=has_children)
        work.emit(
            constellation, EventKind.ROUND_OPENED, name, [("group", name, next_group_round)], note=reason, by=ENGINE
        )
