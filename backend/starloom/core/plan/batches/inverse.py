"""The edit that undoes a version: the operations that lead from the plan after it back to the plan before it.

Pure over records. Like any edit it is judged at commit, against the version that it undoes: tasks that have changed or
started since are refused there, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from starloom.core.plan.groups import data_edges
from starloom_protocol.records.edits import (
    AddDependency,
    AddTask,
    EditOperation,
    RemoveDependency,
    RemoveTask,
    SetPolicy,
    Supersede,
    UpdateTask,
)
from starloom_protocol.records.entities import Dependency, Head, Record, TaskSpec, Version, dependency_id
from starloom_protocol.vocabulary import Gate

_NOT_COMPARED = ("id", "changed_in", "family", "group", "key", "superseded_by")


class NotUndoable(Exception):
    """No edit undoes this version; the text says why."""


def undoing(before: Mapping[str, Record], after: Mapping[str, Record], number: int) -> list[EditOperation]:
    """Return the operations that undo version `number`; empty if nothing of it is left.

    Raises:
        NotUndoable: the version is the plan itself, or was made by expanding a list.
    """
    if number <= 1:
        raise NotUndoable("version 1 is the plan itself: cancel the constellation, or fork it")
    old, new = _specs(before), _specs(after)
    for spec in (*(new[task] for task in new.keys() - old.keys()), *(old[task] for task in old.keys() - new.keys())):
        if spec.key is not None and not _by_an_edit(after, number, spec):
            raise NotUndoable(f"{spec.id} is an item of a list: lists are expanded and shortened once")
    removed = [task for task in new if task not in old]
    operations: list[EditOperation] = [RemoveTask(id=task) for task in removed if new[task].group not in removed]
    restored = [old[task] for task in old if task not in new]
    operations.extend(AddTask(spec=spec) for spec in restored)
    operations.extend(_changes(old, new))
    for task, spec_before in old.items():
        if task in new and spec_before.superseded_by != new[task].superseded_by:
            operations.append(Supersede(by=spec_before.superseded_by, task=task))
    operations.extend(_dependencies(before, after, dict.fromkeys(removed), {spec.id: spec for spec in restored}))
    first, last = before.get("head"), after.get("head")
    if isinstance(first, Head) and isinstance(last, Head) and first.policy != last.policy:
        operations.append(SetPolicy(policy=first.policy))
    return operations


def _by_an_edit(after: Mapping[str, Record], number: int, spec: TaskSpec) -> bool:
    """Tell whether an edit, and no list, added this task for an item."""
    version = after.get(f"version/{number}")
    return isinstance(version, Version) and version.author != "expand" and spec.id in version.added


def _specs(state: Mapping[str, Record]) -> dict[str, TaskSpec]:
    return {record.id: record for record in state.values() if isinstance(record, TaskSpec)}


def _changes(old: Mapping[str, TaskSpec], new: Mapping[str, TaskSpec]) -> list[UpdateTask]:
    updates: list[UpdateTask] = []
    for task, spec_before in old.items():
        spec_after = new.get(task)
        if spec_after is None:
            continue
        changes: dict[str, Any] = {
            field.encode_name: msgspec.Raw(msgspec.json.encode(getattr(spec_before, field.name)))
            for field in msgspec.structs.fields(TaskSpec)
            if field.name not in _NOT_COMPARED and getattr(spec_before, field.name) != getattr(spec_after, field.name)
        }
        if changes:
            updates.append(UpdateTask(changes=changes, id=task))
    return updates


def _dependencies(
    before: Mapping[str, Record],
    after: Mapping[str, Record],
    removed: Mapping[str, None],
    restored: Mapping[str, TaskSpec],
) -> list[EditOperation]:
    """Return the operations that restore the gates, without those that come and go with inputs and tasks."""
    old, new = _gates(before), _gates(after)
    operations: list[EditOperation] = []
    for key, gate_after in new.items():
        gate_before = old.get(key)
        if gate_before is not None and replace(gate_before, changed_in=0) == replace(gate_after, changed_in=0):
            continue
        if gate_after.gate is not Gate.DATA and gate_after.target not in removed:
            operations.append(RemoveDependency(id=key))
    implied = {dependency_id(edge) for spec in restored.values() for edge in data_edges(spec, 0)}
    for key, gate_before in old.items():
        now_there = new.get(key)
        same = now_there is not None and replace(gate_before, changed_in=0) == replace(now_there, changed_in=0)
        if not same and gate_before.gate is not Gate.DATA and key not in implied:
            operations.append(AddDependency(dependency=gate_before))
    return operations


def _gates(state: Mapping[str, Record]) -> dict[str, Dependency]:
    gates = (record for record in state.values() if isinstance(record, Dependency))
    return {dependency_id(record): record for record in gates}
