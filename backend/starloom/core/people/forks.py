"""Forks: a new constellation from a moment of another. Tasks finished then keep their results, by reference.

The records of that moment come with the input and stay unchanged, byte for byte; tasks under way are done again, and so
is the chosen task with all that follows it. From a step of a goal the goal continues with the steps before that one. A
step of a goal that had not ended, or was cancelled, is left behind: its model decides whether to make it again. The
origin is only read and never changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from starloom.core.people.approvals import questions
from starloom.core.people.controls import may_have_run, open_round
from starloom.core.people.requests import ask_or_start
from starloom.core.plan.edits import apply_edit
from starloom.core.rights.authorship import check_of_others, check_plan, question_faults
from starloom.core.run.late_facts import ask
from starloom.core.state.idempotency import earlier_result, note_made
from starloom.core.state.inputs import ControlRequested, ForkRequested
from starloom.core.state.model import Constellation
from starloom.core.state.orders import ArmTimer
from starloom.core.state.tasks.graph import set_ranks, tasks_of_new_round
from starloom.core.state.work import Put, Refusal, Work, fault, named_constellation, repeats
from starloom_protocol.records.edits import LoweredPlan, UpdateTask
from starloom_protocol.records.entities import (
    Attempt,
    Dependency,
    Finding,
    GroupRecord,
    Head,
    Origin,
    Record,
    TaskRecord,
    TaskSpec,
    Version,
    decode_entity,
)
from starloom_protocol.records.goals import goal_answer
from starloom_protocol.stream.authors import is_model, may_decide
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import (
    FINAL_GROUP_STATES,
    FINAL_TASK_STATES,
    Code,
    ConstellationState,
    GroupState,
    Role,
    TaskState,
)

_KINDS_TAKEN = ("rule", "version", "item", "spec", "attempt", "finding", "dep", "task", "group")
"""The kinds of records that a fork takes over, in the order of loading; it gets no questions, jobs and drafts."""


def on_fork(work: Work, item: ForkRequested) -> None:
    """Make the fork, whole or not at all.

    Raises:
        Refusal: no such origin or task, an assistant forks the work of somebody else, `needs_confirm`, or arguments
            for a task that keeps its result.
    """
    scope = f"fork/{item.origin}"
    existing = earlier_result(work, item.caller, scope, item.idempotency)
    if existing is not None:
        work.answer({"id": existing})
        return
    shard = work.shard
    origin = named_constellation(work, item.origin)
    check_of_others(origin.head.author, "fork", author=work.by)
    if item.constellation in shard.constellations:
        raise Refusal(fault(Code.CONFLICT, f"a constellation {item.constellation} exists"))
    if item.version < 1:
        raise Refusal(fault(Code.ILLEGAL_CONTROL, f"{item.origin} has no plan yet: there is nothing to fork"))
    moment = _moment_of(item)
    cut = _cut_of(item, moment)
    halted = _halted_goals(moment)
    left_behind = _unfinished_steps(moment) | (cut.steps if cut is not None else frozenset())
    fork = shard.stream(item.constellation)
    assert isinstance(fork, Constellation)  # noqa: S101 - its name is no stream of the fleet
    note = item.reason or f"from {item.origin}, {f'task {item.task}' if item.task else f'version {item.version}'}"
    start_task = cut.goal if cut is not None else item.task
    left_behind |= _undos_left_behind(moment, start_task)
    puts = _puts(work, item, moment, left_behind, halted)
    work.emit(fork, EventKind.FORKED, item.origin, puts, note=note)
    set_ranks(fork)
    starts = _starts(fork, item, start_task, halted)
    _check_confirm(work, origin, fork, starts, item)
    if starts:
        retry = ControlRequested(
            id=item.id,
            by=item.by,
            action="retry_from",
            confirm=item.confirm,
            constellation=fork.name,
            reason=item.reason,
        )
        open_round(work, fork, starts, retry)
    _give_arguments(work, fork, item)
    remaining = _remaining_plan(fork)
    check_plan(work.by, remaining, approves=item.approves)
    if item.preview:
        # A refusal without a fault keeps nothing but its answer.
        raise Refusal(value={"plan": msgspec.json.encode(_with_edges(fork, remaining)).decode()})
    ask(work, fork, list(fork.awaiting_facts))
    if deadline_s := fork.head.deadline_s:
        due_ms = work.at_ms + deadline_s * 1000
        work.order(ArmTimer(constellation=fork.name, due_ms=due_ms, entity="", kind="deadline"))
    note_made(work, item.caller, scope, item.idempotency, fork.name)
    ask_or_start(work, fork, remaining, seen=None, words=False)
    head = fork.head
    work.answer({"id": head.id, "state": str(head.state), "version": head.version})


def _give_arguments(work: Work, fork: Constellation, item: ForkRequested) -> None:
    """Give tasks of the fork the arguments that were asked for, as a version of its own."""
    changes = [
        UpdateTask(changes={"args": msgspec.Raw(msgspec.json.encode(text))}, id=task)
        for task, text in sorted(item.args.items())
    ]
    if not changes:
        return
    specs = {one.id: replace(fork.specs[one.id], args=item.args[one.id]) for one in changes if one.id in fork.specs}
    people, owner = work.shard.access.principals, item.scope == Role.OWNER
    # The fork keeps the answers of the origin: that of named people is for the work that they read.
    faults = question_faults(fork, specs, {}, people, author=work.by, owner=owner)
    if faults:
        raise Refusal(*faults)
    apply_edit(work, fork, list(changes), author=work.by, reason=item.reason or "other arguments", trigger="fork")


@dataclass(frozen=True)
class _Cut:
    """The steps of a goal that a fork leaves behind: the one that it begins at, and all that the model made since."""

    goal: str
    steps: frozenset[str]


@dataclass(frozen=True)
class _Moment:
    """The records of the origin at the moment of the fork; `kept` has them by kind and key, in the order of loading."""

    head: Head
    kept: dict[str, dict[str, Record]]
    specs: dict[str, TaskSpec]
    tasks: dict[str, TaskRecord]
    groups: dict[str, GroupRecord]
    versions: list[Version]
    gates: list[Dependency]


T = TypeVar("T", bound=Record)


def _of_kind(records: dict[str, Record], kind: type[T]) -> dict[str, T]:
    return {key: record for key, record in records.items() if isinstance(record, kind)}


def _moment_of(item: ForkRequested) -> _Moment:
    records_by_kind: dict[str, dict[str, Record]] = {kind: {} for kind in _KINDS_TAKEN}
    head: Head | None = None
    for path, raw in item.records.items():
        kind, _, key = path.partition("/")
        if kind in records_by_kind:
            records_by_kind[kind][key] = decode_entity(path, raw)
        elif path == "head":
            decoded = decode_entity(path, raw)
            head = decoded if isinstance(decoded, Head) else None
    if head is None:
        raise Refusal(fault(Code.BAD_REQUEST, f"event {item.seq} of {item.origin} has no head"))
    return _Moment(
        head=head,
        kept=records_by_kind,
        specs=_of_kind(records_by_kind["spec"], TaskSpec),
        tasks=_of_kind(records_by_kind["task"], TaskRecord),
        groups=_of_kind(records_by_kind["group"], GroupRecord),
        versions=[*_of_kind(records_by_kind["version"], Version).values()],
        gates=[*_of_kind(records_by_kind["dep"], Dependency).values()],
    )


def _cut_of(item: ForkRequested, moment: _Moment) -> _Cut | None:
    """Return the steps that a fork from a step of a goal leaves behind; None where it begins elsewhere.

    Raises:
        Refusal: it begins at the answer of a goal, or a task beside the goal reads one of these steps.
    """
    spec = moment.specs.get(item.task or "")
    group = moment.specs.get(spec.group or "") if spec is not None else None
    if item.task is None or group is None or group.goal is None:
        return None
    first_version = next((one.number for one in moment.versions if item.task in one.added), None)
    if item.task == goal_answer(group.id) or first_version is None:
        reason = f"{item.task} is not a step of the goal {group.id}, which is done again as a whole"
        raise Refusal(fault(Code.BAD_REQUEST, reason, "from_task", f"Fork from {group.id}."))
    tasks_since = {task for one in moment.versions if one.number >= first_version for task in one.added}
    members = {name for name, one in moment.specs.items() if one.group == group.id}
    steps = (members & tasks_since) - {goal_answer(group.id)}
    readers = sorted({gate.target for gate in moment.gates if gate.source in steps and gate.target not in steps})
    if readers:
        reason = f"{readers[0]} reads a step of the goal {group.id} that the fork would make again"
        raise Refusal(fault(Code.BAD_REQUEST, reason, "from_task", f"Fork from {group.id}."))
    return _Cut(group.id, frozenset(steps))


def _goals(moment: _Moment) -> dict[str, GroupRecord]:
    """Return the goals of the origin."""
    specs = moment.specs
    return {name: one for name, one in moment.groups.items() if name in specs and specs[name].goal is not None}


def _halted_goals(moment: _Moment) -> frozenset[str]:
    """Return the goals that were cancelled: the fork continues them as if they had not ended."""
    return frozenset(name for name, one in _goals(moment).items() if one.state is GroupState.CANCELLED)


def _unfinished_steps(moment: _Moment) -> frozenset[str]:
    """Return the steps of unfinished goals that have no end of their own.

    No turn of the conversation in the fork would have them. One that a task beside its goal reads stays, for that task.
    """
    goals = {
        name
        for name, one in _goals(moment).items()
        if one.state not in FINAL_GROUP_STATES or one.state is GroupState.CANCELLED
    }
    steps = set()
    for name, record in moment.tasks.items():
        group = moment.specs[name].group if name in moment.specs else None
        if group is not None and group in goals and name != goal_answer(group) and _is_unfinished(record):
            steps.add(name)
    return frozenset(steps - {gate.source for gate in moment.gates if gate.target not in steps})


def _is_unfinished(record: TaskRecord) -> bool:
    return record.state not in FINAL_TASK_STATES or record.state is TaskState.CANCELLED


def _puts(work: Work, item: ForkRequested, moment: _Moment, left_behind: Set[str], halted: Set[str]) -> list[Put]:
    """Return the records of that moment: finished work unchanged, the rest as if it had not begun."""
    puts: list[Put] = [("head", "", _head(work, item, moment.head))]
    for kind in _KINDS_TAKEN:
        for key, record in moment.kept[kind].items():
            if left_behind and _is_of(kind, key, record, left_behind):
                continue
            if isinstance(record, Attempt):
                if _is_over(moment.kept["attempt"], key):
                    puts.append((kind, key, replace(record, origin=record.origin or item.origin)))
            elif isinstance(record, TaskRecord):
                puts.append((kind, key, _task_at_fork(work, item, key, record)))
            elif isinstance(record, GroupRecord) and key in halted:
                has_steps = any(one.group == key for one in moment.specs.values())
                state = GroupState.EXPANDED if has_steps else GroupState.WAITING
                puts.append((kind, key, GroupRecord(round=record.round, since_ms=work.at_ms, state=state)))
            elif isinstance(record, GroupRecord) and record.review is not None:
                puts.append((kind, key, replace(record, review=None)))
            else:
                puts.append((kind, key, record))
    return puts


def _undos_left_behind(moment: _Moment, start: str | None) -> set[str]:
    """Return the undo tasks that a fork leaves behind: those of work that is done again, and those without success.

    They belong to the work of the origin. In the fork they would take back its own new work, or that of the origin.
    """
    undoing = {name: spec.undoes for name, spec in moment.specs.items() if spec.undoes is not None}
    if not undoing:
        return set()
    followers: dict[str, set[str]] = {}
    for gate in moment.gates:
        followers.setdefault(gate.source, set()).add(gate.target)
    for name, spec in moment.specs.items():
        if spec.group is not None:
            followers.setdefault(spec.group, set()).add(name)
    redone_tasks: set[str] = set()
    stack = [start] if start is not None else []
    while stack:
        task = stack.pop()
        if task not in redone_tasks:
            redone_tasks.add(task)
            stack.extend(followers.get(task, ()))
    done = {name for name, task in moment.tasks.items() if task.state is TaskState.SUCCEEDED}
    return {name for name, undone_task in undoing.items() if undone_task in redone_tasks or name not in done}


def _is_of(kind: str, key: str, record: Record, tasks: Set[str]) -> bool:
    """Return whether a record belongs to one of these tasks."""
    if isinstance(record, Dependency):
        return record.source in tasks or record.target in tasks
    if isinstance(record, Finding):
        return record.task in tasks
    return kind in ("spec", "task", "attempt") and (key.rpartition("/")[0] if kind == "attempt" else key) in tasks


def _is_over(attempts: dict[str, Record], key: str) -> bool:
    """Tell whether an attempt and all before it had ended: numbers must have no gap, and a hedge may end first."""
    task, _, last = key.rpartition("/")
    for number in range(1, int(last) + 1):
        attempt = attempts.get(f"{task}/{number}")
        if not isinstance(attempt, Attempt) or attempt.end is None:
            return False
    return True


def _head(work: Work, item: ForkRequested, head: Head) -> Head:
    """Return the head of the fork, with the bounds of its origin: its time and its budget start again at nothing."""
    return Head(
        approves=item.approves and not is_model(work.by),
        author=work.by,
        budget=replace(head.budget, times=1) if head.budget is not None else None,
        created_ms=work.at_ms,
        deadline_s=head.deadline_s,
        hold=head.hold,
        id=item.constellation,
        labels=head.labels,
        name=item.name or head.name,
        origin=Origin(constellation=item.origin, seq=item.seq, task=item.task, version=item.version),
        params=head.params,
        plan_hash=head.plan_hash,
        policy=head.policy,
        priority=head.priority,
        recipe=head.recipe,
        request=head.request,
        results=head.results,
        sentences=head.sentences,
        sharing=head.sharing,
        state=ConstellationState.PLANNING,
        version=item.version,
    )


def _task_at_fork(work: Work, item: ForkRequested, task: str, record: TaskRecord) -> TaskRecord:
    if record.state in FINAL_TASK_STATES:
        return replace(record, review=None) if record.review is not None else record
    return TaskRecord(
        attempt=max(record.attempt, record.hedge),
        confirmed=task in item.confirm,
        held=record.held,
        round=record.round + (1 if record.started else 0),
        since_ms=work.at_ms,
        state=TaskState.WAITING,
    )


def _starts(fork: Constellation, item: ForkRequested, start_task: str | None, halted: Set[str]) -> list[str]:
    """Return the finished tasks that are done again: the chosen one, and those that were cancelled.

    A goal that has ended keeps the steps that were cancelled in it: its conversation continued without them.
    """
    starts = [
        task
        for task, record in fork.tasks.items()
        if record.state is TaskState.CANCELLED and not _is_of_ended_goal(fork, task)
    ]
    starts.extend(
        group for group, record in fork.groups.items() if record.state is GroupState.CANCELLED or group in halted
    )
    if start_task is None:
        return starts
    if start_task not in fork.specs:
        raise Refusal(fault(Code.UNKNOWN_TASK, f"there is no task {start_task} in version {item.version}", "from_task"))
    chosen = [start_task]
    if start_task in fork.groups and fork.specs[start_task].goal is None:
        chosen.extend(fork.leaves(start_task))
    return list(dict.fromkeys([*chosen, *starts]))


def _is_of_ended_goal(fork: Constellation, task: str) -> bool:
    group = fork.specs[task].group
    if group is None or fork.specs[group].goal is None:
        return False
    return fork.groups[group].state in FINAL_GROUP_STATES


def _check_confirm(
    work: Work, origin: Constellation, fork: Constellation, starts: Iterable[str], item: ForkRequested
) -> None:
    """Refuse to repeat an effect that must not be repeated, unless a person has named its task."""
    reopened, undecided = tasks_of_new_round(fork, starts)
    reopened.update(undecided)
    runs = [task for task, record in fork.tasks.items() if task in reopened or record.state not in FINAL_TASK_STATES]
    to_confirm = [task for task in runs if task not in item.confirm and _may_have_run(origin, fork, task)]
    if to_confirm:
        raise repeats(to_confirm)
    if item.confirm and not may_decide(work.by):
        raise Refusal(fault(Code.NEEDS_CONFIRM, "only a person can confirm work that may not be repeated", "confirm"))


def _may_have_run(origin: Constellation, fork: Constellation, task: str) -> bool:
    """Tell whether a task may have had, until now, an effect that must not be repeated."""
    for constellation in (origin, fork):
        record = constellation.tasks.get(task)
        for number in range(1, record.attempt + 1 if record is not None else 0):
            attempt = constellation.attempts.get(f"{task}/{number}")
            if attempt is not None and may_have_run(attempt):
                return True
    return False


def _remaining_plan(fork: Constellation) -> LoweredPlan:
    """Return the remaining work as a plan, for its approval."""
    open_tasks = [
        spec
        for task, spec in fork.specs.items()
        if task not in fork.tasks or fork.tasks[task].state not in FINAL_TASK_STATES
    ]
    return LoweredPlan(
        dependencies=[],
        hash=questions.hash_of(fork),
        name=fork.head.name,
        policy=fork.head.policy,
        rules=list(fork.rules.values()),
        specs=open_tasks,
    )


def _with_edges(fork: Constellation, remaining: LoweredPlan) -> LoweredPlan:
    """Return the remaining work with the dependencies within it, as its other sources have their results.

    It has no hash: no preview of a fork can be approved.
    """
    open_tasks = {spec.id for spec in remaining.specs}
    edges = [one for task in open_tasks for one in fork.incoming.get(task, {}).values() if one.source in open_tasks]
    return replace(remaining, dependencies=edges, hash="")
