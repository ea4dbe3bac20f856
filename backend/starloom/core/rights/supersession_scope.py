"""Which successors of a failed task a model may name alone, and which a person must allow.

Pure. A model may have been talked into calling a failure a success. So it may let another task count for a failed one
only if that task is work of the same kind, was made for this, and could not be weaker. All else is put to a person, as
an edit beyond the approved plan is. Applies no edit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from starloom.core.rights.call_effects import CHANGING, effects_of_task, offers_in
from starloom.core.rights.consent import may_run_on
from starloom.core.state.model import Constellation, Fleet
from starloom_protocol.records.edits import EditOperation, Supersede
from starloom_protocol.records.entities import TaskSpec
from starloom_protocol.vocabulary import Code


def needs_a_person(
    fleet: Fleet, constellation: Constellation, before: Mapping[str, TaskSpec], operations: Iterable[EditOperation]
) -> list[str]:
    """Return, in words, what of an applied edit a model may not say alone; `before` are the tasks before the edit."""
    found: list[str] = []
    for operation in operations:
        if isinstance(operation, Supersede):
            found += _of_one(fleet, constellation, before, operation)
    judged = (name for name, spec in before.items() if spec.judge is not None and name not in constellation.specs)
    found += [f"{name} would go, and its result would not be judged" for name in judged]
    return list(dict.fromkeys(found))


def _of_one(
    fleet: Fleet, constellation: Constellation, before: Mapping[str, TaskSpec], operation: Supersede
) -> list[str]:
    task, by = operation.task, operation.by
    if by is None:
        return [f"{task} would count as it ended again, although it was decided otherwise"]
    if by in before:
        return [f"{by} was there before and was not made to do the work of {task}"]
    old, new = before[task], constellation.specs[by]
    record = constellation.record(task)
    if record.state == "cancelled" or record.code in (Code.DECLINED, Code.MARKED_FAILED):
        return [f"{task} was stopped by a decision, and {by} would do its work in spite of it"]
    if old.nested or new.nested or old.goal is not None or old.tool != new.tool or new.any_of:
        return [f"{by} would count for {task}, and is other work: {_named(new)} instead of {_named(old)}"]
    found = []
    if _list_of(old, before) != _list_of(new, constellation.specs):
        found.append(f"{by} would count for {task}, and is made for other items")
    offers = offers_in(fleet)
    changes = effects_of_task(old, offers) & CHANGING
    lacks = sorted(changes - effects_of_task(new, offers))
    if lacks:
        found.append(f"{by} would count for {task}, and does not {', '.join(lacks)}")
    if changes and not set(may_run_on(fleet, new, constellation.specs)) <= set(may_run_on(fleet, old, before)):
        found.append(f"{by} would count for {task}, and would change another device")
    return found


def _named(spec: TaskSpec) -> str:
    return spec.tool or ("a plan within the plan" if spec.nested else "a question to a person")


def _list_of(spec: TaskSpec, specs: Mapping[str, TaskSpec]) -> tuple[object, ...] | None:
    """Return what a group is made over and how much of it must succeed; None for a single task."""
    if spec.for_each is None:
        return None
    root = specs.get(spec.family or spec.id, spec)
    items = root.for_each or spec.for_each
    made = (items.source, items.output, items.devices, items.times, items.repeat, items.when_off)
    return *made, spec.for_each.need, spec.for_each.need_count
