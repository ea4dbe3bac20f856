"""The operation `supersede`: another task does the work of one that ended without success.

Owns its refusals and its effect on what comes after: gates and values of tasks that have not begun are moved to the
successor, and tasks that were skipped for the failure are opened again. Not whether a model may say so
(`rights/edit_scope`), nor what the outcome makes of it (`answer/outcome`).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from starloom.core.plan.batches.batch import Draft, started
from starloom.core.state.model import Constellation
from starloom.core.state.tasks.roles import ended_badly, skipped_for_a_failure
from starloom_protocol.records.edits import Supersede
from starloom_protocol.records.entities import Check, Dependency, TaskSpec
from starloom_protocol.stream.authors import MODEL
from starloom_protocol.vocabulary import Code, Gate

_STAY = frozenset({Gate.FAILURE, Gate.FINISH})
"""Gates that the end of the task itself decides: it did fail."""


def supersede(draft: Draft, operation: Supersede, place: str) -> None:
    """Let another task count for one that ended without success; both stay unchanged in the history."""
    task, by = operation.task, operation.by
    spec = draft.spec(task)
    if not (draft.author.startswith("person:") or draft.author == MODEL):
        draft.refuse(Code.FORBIDDEN, "only a person or a review says that other work did that of a task", place)
        return
    if spec is None or (by is not None and draft.spec(by) is None):
        missing, field = (task, "task") if spec is None else (by, "by")
        draft.refuse(Code.UNKNOWN_TASK, f"{missing} does not exist", f"{place}.{field}")
        return
    if spec.changed_in > draft.base and task not in draft.changed:
        reason = f"{task} was changed in version {spec.changed_in}, after version {draft.base}"
        draft.refuse(Code.EDIT_CONFLICT, reason, f"{place}.task")
        return
    if by is None:
        draft.put_spec(replace(spec, superseded_by=None))
        return
    before = len(draft.faults)
    _check(draft, spec, by, place)
    if len(draft.faults) > before:
        return
    draft.put_spec(replace(spec, superseded_by=by))
    _move_dependents(draft, spec, by, place)


def _check(draft: Draft, spec: TaskSpec, by: str, place: str) -> None:
    task = spec.id
    record = draft.constellation.tasks.get(task) or draft.constellation.groups.get(task)
    if record is None or not ended_badly(record):
        stands = "is new" if record is None else f"is {record.state}"
        reason = f"{task} {stands}; only what failed, was cancelled or was skipped for that is superseded"
        draft.refuse(Code.ILLEGAL_CONTROL, reason, f"{place}.task")
    if spec.person is not None:
        hint = "Add a question that asks again, and let what comes next wait for it."
        draft.refuse(Code.ILLEGAL_CONTROL, f"{task} is a person's answer, not work", f"{place}.task", hint)
    for name, field in ((task, "task"), (by, "by")):
        found = draft.spec(name)
        if found is not None and found.look:
            draft.refuse(Code.BAD_REQUEST, f"{name} is a look before the plan, and no part of it", f"{place}.{field}")
        if found is not None and found.group is not None:
            draft.refuse(Code.BAD_REQUEST, f"{name} is part of {found.group}: name the whole group", f"{place}.{field}")
    if _leads_to(draft, by, task):
        draft.refuse(Code.PLAN_CYCLE, f"{by} is superseded by {task} itself", f"{place}.by")
    unjudged = [question for question in _questions(draft, task) if question not in _questions(draft, by)]
    if unjudged:
        hint = f"Give {by} the same `judge`."
        draft.refuse(Code.PLAN_INVALID, f"{by} is not judged by “{unjudged[0]}”, as {task} was", f"{place}.by", hint)
    kept = list(_checks(draft, by))
    lost = [check for check in _checks(draft, task) if check not in kept]
    if lost:
        reason = f"{by} lacks {len(lost)} of the checks of {task}, the first on `{lost[0].output}`"
        hint = f"Give {by} the same checks. A person who has looked at the result may mark {task} instead."
        draft.refuse(Code.PLAN_INVALID, reason, f"{place}.by", hint)


def _checks(draft: Draft, task: str) -> Iterator[Check]:
    for spec in _demanding(draft, task):
        yield from spec.checks


def _questions(draft: Draft, task: str) -> list[str]:
    return [spec.judge.question for spec in _demanding(draft, task) if spec.judge is not None]


def _demanding(draft: Draft, task: str) -> Iterator[TaskSpec]:
    """Yield the specs whose demands count for a task or group: its own and, for a plan within the plan, its tasks'."""
    for name in (task, *draft.constellation.within(task), *draft.added):
        spec = draft.spec(name)
        if spec is None or spec.key is not None:
            continue
        if name == task or name not in draft.added or spec.group == task:
            yield spec


def _leads_to(draft: Draft, start: str, task: str) -> bool:
    following: str | None = start
    for _ in range(len(draft.constellation.specs) + len(draft.added) + 1):
        if following is None or following == task:
            break
        spec = draft.spec(following)
        following = spec.superseded_by if spec is not None else None
    return following == task


def _move_dependents(draft: Draft, spec: TaskSpec, by: str, place: str) -> None:
    task = spec.id
    for key, edge in list(_gates_from(draft, task)):
        target = draft.spec(edge.target)
        if (
            target is None
            or edge.gate in _STAY
            or edge.topic
            or (spec.family is not None and target.family == spec.family)
        ):
            continue
        skipped = _may_open_again(draft.constellation, edge.target)
        if not skipped and edge.target not in draft.added and started(draft.constellation, edge.target):
            continue
        if edge.target == by:
            draft.refuse(Code.PLAN_CYCLE, f"{by} waits for {task}, which it would supersede", f"{place}.by")
            return
        draft.deps[key] = None
        draft.put_dep(replace(edge, source=by))
        draft.put_spec(_reads(target, task, by))
        draft.repointed[edge.target] = None
        if skipped:
            _open_again(draft, edge.target)


def _gates_from(draft: Draft, task: str) -> Iterator[tuple[str, Dependency]]:
    for key in draft.constellation.outgoing.get(task, {}):
        edge = draft.dep(key)
        if edge is not None:
            yield key, edge
    for key, edge in draft.deps.items():
        if edge is not None and edge.source == task and key not in draft.constellation.deps:
            yield key, edge


def _reads(target: TaskSpec, task: str, by: str) -> TaskSpec:
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


def _open_again(draft: Draft, first: str) -> None:
    """Note `first` and all downstream of it that was skipped for the failure: their gates decide again."""
    constellation = draft.constellation
    stack = [first]
    while stack:
        name = stack.pop()
        if name in draft.opened or draft.spec(name) is None or not _may_open_again(constellation, name):
            continue
        draft.opened[name] = None
        stack.extend(constellation.families.get(name, ()))
        stack.extend(edge.target for edge in constellation.outgoing.get(name, {}).values())
        around = constellation.specs[name].group
        while around is not None and around not in draft.opened:
            draft.opened[around] = None
            stack.extend(edge.target for edge in constellation.outgoing.get(around, {}).values())
            around = constellation.specs[around].group
