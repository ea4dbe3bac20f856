"""The operation `supersede`: another task does the work of one that ended without success.

Owns its refusals and its effect on what comes after: gates and values of tasks that have not begun are moved to the
successor, and tasks that were skipped for the failure are opened again. Not whether a model may say so
(`rights/edit_scope`), nor what the outcome makes of it (`answer/outcome`).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from starloom.core.plan.batches.batch import EditBatch, started
from starloom.core.state.model import Constellation
from starloom.core.state.tasks.roles import ended_badly, skipped_for_a_failure
from starloom_protocol.records.edits import Supersede
from starloom_protocol.records.entities import Check, Dependency, TaskSpec
from starloom_protocol.stream.authors import MODEL
from starloom_protocol.vocabulary import Code, Gate

_STAY = frozenset({Gate.FAILURE, Gate.FINISH})
"""Gates that the end of the task itself decides: it did fail."""


def supersede(batch: EditBatch, operation: Supersede, place: str) -> None:
    """Let another task count for one that ended without success; both stay unchanged in the history."""
    task, by = operation.task, operation.by
    spec = batch.spec(task)
    if not (batch.author.startswith("person:") or batch.author == MODEL):
        batch.refuse(Code.FORBIDDEN, "only a person or a review says that other work did that of a task", place)
        return
    if spec is None or (by is not None and batch.spec(by) is None):
        missing, field = (task, "task") if spec is None else (by, "by")
        batch.refuse(Code.UNKNOWN_TASK, f"{missing} does not exist", f"{place}.{field}")
        return
    if spec.changed_in > batch.base and task not in batch.changed:
        reason = f"{task} was changed in version {spec.changed_in}, after version {batch.base}"
        batch.refuse(Code.EDIT_CONFLICT, reason, f"{place}.task")
        return
    if by is None:
        batch.put_spec(replace(spec, superseded_by=None))
        return
    before = len(batch.faults)
    _note_faults(batch, spec, by, place)
    if len(batch.faults) > before:
        return
    batch.put_spec(replace(spec, superseded_by=by))
    _move_dependents(batch, spec, by, place)


def _note_faults(batch: EditBatch, spec: TaskSpec, by: str, place: str) -> None:
    """Note every fault of a supersession of a task by another one."""
    task = spec.id
    record = batch.constellation.tasks.get(task) or batch.constellation.groups.get(task)
    if record is None or not ended_badly(record):
        state_words = "is new" if record is None else f"is {record.state}"
        reason = f"{task} {state_words}; only what failed, was cancelled or was skipped for that is superseded"
        batch.refuse(Code.ILLEGAL_CONTROL, reason, f"{place}.task")
    if spec.person is not None:
        hint = "Add a question that asks again, and let what comes next wait for it."
        batch.refuse(Code.ILLEGAL_CONTROL, f"{task} is a person's answer, not work", f"{place}.task", hint)
    for name, field in ((task, "task"), (by, "by")):
        part = batch.spec(name)
        if part is not None and part.look:
            batch.refuse(Code.BAD_REQUEST, f"{name} is a look before the plan, and no part of it", f"{place}.{field}")
        if part is not None and part.group is not None:
            batch.refuse(Code.BAD_REQUEST, f"{name} is part of {part.group}: name the whole group", f"{place}.{field}")
    if _leads_to(batch, by, task):
        batch.refuse(Code.PLAN_CYCLE, f"{by} is superseded by {task} itself", f"{place}.by")
    unjudged = [question for question in _questions(batch, task) if question not in _questions(batch, by)]
    if unjudged:
        hint = f"Give {by} the same `judge`."
        batch.refuse(Code.PLAN_INVALID, f"{by} is not judged by “{unjudged[0]}”, as {task} was", f"{place}.by", hint)
    successor_checks = list(_checks(batch, by))
    lacking = [check for check in _checks(batch, task) if check not in successor_checks]
    if lacking:
        reason = f"{by} lacks {len(lacking)} of the checks of {task}, the first on `{lacking[0].output}`"
        hint = f"Give {by} the same checks. A person who has looked at the result may mark {task} instead."
        batch.refuse(Code.PLAN_INVALID, reason, f"{place}.by", hint)


def _checks(batch: EditBatch, task: str) -> Iterator[Check]:
    for spec in _demanding(batch, task):
        yield from spec.checks


def _questions(batch: EditBatch, task: str) -> list[str]:
    return [spec.judge.question for spec in _demanding(batch, task) if spec.judge is not None]


def _demanding(batch: EditBatch, task: str) -> Iterator[TaskSpec]:
    """Yield the specs whose demands count for a task or group: its own and, for a plan within the plan, its tasks'."""
    for name in (task, *batch.constellation.contents_of(task), *batch.added):
        spec = batch.spec(name)
        if spec is None or spec.key is not None:
            continue
        if name == task or name not in batch.added or spec.group == task:
            yield spec


def _leads_to(batch: EditBatch, start: str, task: str) -> bool:
    """Tell whether the successors of `start` lead to a task: it would then supersede itself."""
    successor: str | None = start
    for _ in range(len(batch.constellation.specs) + len(batch.added) + 1):
        if successor is None or successor == task:
            break
        spec = batch.spec(successor)
        successor = spec.superseded_by if spec is not None else None
    return successor == task


def _move_dependents(batch: EditBatch, spec: TaskSpec, by: str, place: str) -> None:
    task = spec.id
    for key, edge in list(_gates_from(batch, task)):
        target = batch.spec(edge.target)
        if (
            target is None
            or edge.gate in _STAY
            or edge.topic
            or (spec.family is not None and target.family == spec.family)
        ):
            continue
        skipped = _may_open_again(batch.constellation, edge.target)
        if not skipped and edge.target not in batch.added and started(batch.constellation, edge.target):
            continue
        if edge.target == by:
            batch.refuse(Code.PLAN_CYCLE, f"{by} waits for {task}, which it would supersede", f"{place}.by")
            return
        batch.deps[key] = None
        batch.put_dep(replace(edge, source=by))
        batch.put_spec(_reading_from(target, task, by))
        batch.repointed[edge.target] = None
        if skipped:
            _open_again(batch, edge.target)


def _gates_from(batch: EditBatch, task: str) -> Iterator[tuple[str, Dependency]]:
    for key in batch.constellation.outgoing.get(task, {}):
        edge = batch.dep(key)
        if edge is not None:
            yield key, edge
    for key, edge in batch.deps.items():
        if edge is not None and edge.source == task and key not in batch.constellation.deps:
            yield key, edge


def _reading_from(target: TaskSpec, task: str, by: str) -> TaskSpec:
    """Return a task that reads from `by` what it read from `task`."""
    inputs = [replace(item, source=by) if item.source == task else item for item in target.inputs]
    for_each = target.for_each
    if for_each is not None and for_each.source == task:
        for_each = replace(for_each, source=by)
    return replace(target, inputs=inputs, for_each=for_each)


def _may_open_again(constellation: Constellation, name: str) -> bool:
    """Tell whether a task or group was skipped for a failure and was never tried.

    One that was tried in an earlier round stays skipped: whether it may run again is a question of its retry.
    """
    record = constellation.tasks.get(name)
    if record is not None:
        return skipped_for_a_failure(record) and record.attempt == 0
    group = constellation.groups.get(name)
    return group is not None and skipped_for_a_failure(group) and not constellation.specs[name].nested


def _open_again(batch: EditBatch, first: str) -> None:
    """Note `first` and all downstream of it that was skipped for the failure: their gates decide again."""
    constellation = batch.constellation
    stack = [first]
    while stack:
        name = stack.pop()
        if name in batch.opened or batch.spec(name) is None or not _may_open_again(constellation, name):
            continue
        batch.opened[name] = None
        stack.extend(constellation.families.get(name, ()))
        stack.extend(edge.target for edge in constellation.outgoing.get(name, {}).values())
        around = constellation.specs[name].group
        while around is not None and around not in batch.opened:
            batch.opened[around] = None
            stack.extend(edge.target for edge in constellation.outgoing.get(around, {}).values())
            around = constellation.specs[around].group
