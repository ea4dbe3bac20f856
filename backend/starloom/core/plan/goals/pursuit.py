"""The pursuit of a goal: its beginning when its gates are open, its continuation after each step, its end.

A goal is a group. Its job has the conversation; its children are the calls of its steps and, last, its answer, whose
value is that of the group. State alone decides how it goes on, so a new worker or hub makes no step twice. A goal that
ends without an answer has failed; the running calls of its last step end first.
"""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.plan.goals import asking, monitors, tiers
from starloom.core.plan.goals.conversation import (
    ANSWERED,
    ANSWERS_MOST,
    ENDING,
    KIND,
    STEPPING,
    GoalCase,
    answers_made,
    back_to_work,
    close,
    end,
    finish,
    goal_of,
    group_of,
    is_open,
    job_of,
    open_calls,
    read_of_a_stranger,
)
from starloom.core.plan.groups import end_group
from starloom.core.rights.strangers import stranger_behind, stranger_in
from starloom.core.run import judgement
from starloom.core.state.model import Constellation
from starloom.core.state.tasks.findings import sources_of
from starloom.core.state.tasks.gates import shut_cause
from starloom.core.state.tasks.graph import tasks_of_new_round
from starloom.core.state.work import Work
from starloom_protocol.records.entities import Goal, GoalRun, GoalTurn, GroupRecord, Job, TaskRecord
from starloom_protocol.records.goals import goal_answer
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import (
    FINAL_GROUP_STATES,
    Code,
    ConstellationState,
    GroupState,
    TaskState,
)

_STATE = ConstellationState


def reconsider(work: Work, constellation: Constellation, group: str) -> None:
    """Derive the present state of a goal from its gates, its calls and its job."""
    record = constellation.groups[group]
    if record.state in FINAL_GROUP_STATES:
        return
    head = constellation.head
    if head.state is _STATE.CANCELLING:
        _cancelled(work, constellation, group)
    elif record.state is GroupState.WAITING:
        _reconsider_waiting(work, constellation, group)
    else:
        job = job_of(constellation, group)
        if job is None:
            # Another round, or a fork: its inputs may be made again first.
            _reconsider_waiting(work, constellation, group)
        else:
            _continue(GoalCase(work, constellation, job))


def _cancelled(work: Work, constellation: Constellation, group: str) -> None:
    if open_calls(constellation, group):
        return
    job = job_of(constellation, group)
    if job is not None:
        close(GoalCase(work, constellation, job), "the constellation was cancelled")
    end_group(work, constellation, group, GroupState.CANCELLED)


def _reconsider_waiting(work: Work, constellation: Constellation, group: str) -> None:
    if constellation.shut.get(group):
        reason, cause = shut_cause(constellation, group)
        end_group(work, constellation, group, GroupState.SKIPPED, reason=reason, cause=cause)
    elif not constellation.undecided.get(group) and constellation.head.state in (_STATE.ACTIVE, _STATE.PAUSED):
        _begin(work, constellation, group, constellation.groups[group])


def _begin(work: Work, constellation: Constellation, group: str, record: GroupRecord) -> None:
    """Open the job of a round of a goal."""
    goal = goal_of(constellation, group) or Goal(aim="")
    number = 1 + sum(1 for job in constellation.jobs.values() if job.kind == KIND)
    turns = _steps_before_fork(work, constellation, group)
    if turns is None:
        turns = _earlier_steps(work, constellation, group) if record.round == 1 else []
    sources = sources_of(constellation, constellation.specs[group])
    stranger = stranger_behind(work.shard.fleet, constellation, sources)
    for turn in turns:
        stranger = stranger or stranger_in(work.shard.fleet, constellation, turn.tasks)
    run = GoalRun(
        answered=answers_made(constellation, group),
        due_ms=work.at_ms + goal.within_s * 1000,
        since=len(turns),
        stranger=stranger,
        turns=turns,
    )
    job = Job(id=f"{KIND}-{number}", goal=run, kind=KIND, opened_ms=work.at_ms, tasks=[f"{group}/{record.round}"])
    expanded = replace(record, state=GroupState.EXPANDED, since_ms=work.at_ms, until_ms=0)
    case = GoalCase(work, constellation, job)
    case.emit(EventKind.GOAL_BEGAN, ("group", group, expanded), note=goal.aim[:200], by=ENGINE)
    case.wake()
    case.arm()


def _earlier_steps(work: Work, constellation: Constellation, group: str) -> list[GoalTurn]:
    """Return the steps that a fork brought with it as turns, so that their results are used and not made again.

    A fork that does the goal again, or work before it, uses none: they may rest on other inputs.
    """
    origin = constellation.head.origin
    if (
        origin is not None
        and origin.task in constellation.specs
        and group in tasks_of_new_round(constellation, [origin.task])[0]
    ):
        return []
    children = constellation.children.get(group, {})
    ended = [
        name for name in children if name != goal_answer(group) and constellation.record(name).state == "succeeded"
    ]
    return [GoalTurn(at_ms=work.at_ms, by=ENGINE, kind=monitors.STEP, note="made before", tasks=[one]) for one in ended]


def _steps_before_fork(work: Work, constellation: Constellation, group: str) -> list[GoalTurn] | None:
    """Return the steps before the one from which a fork continues, as the model made them; None for any other goal.

    A later round in the fork begins with a conversation of its own, as everywhere.
    """
    origin = constellation.head.origin
    step = origin.task if origin is not None else None
    if step is None or step.rpartition(".")[0] != group or step == goal_answer(group):
        return None
    if any(job.kind == KIND and group_of(job) == group for job in constellation.jobs.values()):
        return None
    children = constellation.children.get(group, {})
    turns = []
    for version in sorted(constellation.versions.values(), key=lambda one: one.number):
        tasks = [name for name in version.added if name in children and name != goal_answer(group)]
        if tasks:
            turns.append(
                GoalTurn(at_ms=work.at_ms, kind=monitors.STEP, note=version.reason, tasks=tasks, uses=len(tasks))
            )
    return turns


def _continue(case: GoalCase) -> None:
    state = case.job.state
    if state == STEPPING:
        if not any(is_open(case.constellation, task) for task in monitors.steps_of(case.run)[-1].tasks):
            _step_ended(case)
    elif state == ANSWERED:
        _answer_ended(case)
    elif state == ENDING and not open_calls(case.constellation, case.group):
        finish(case)


def _step_ended(case: GoalCase) -> None:
    """Let the model continue with the results of its step, or let the ladder decide."""
    stranger = read_of_a_stranger(case)
    continued = case.with_job(state="open", resumed_ms=case.work.at_ms).with_run(stranger=stranger)
    continued.emit(EventKind.GOAL_STEPPED, by=ENGINE)
    if not asking.judged(continued):
        continued.wake()


def _answer_ended(case: GoalCase) -> None:
    """End a goal with its answer, or tell the model that the judge refused it."""
    record = case.constellation.tasks.get(goal_answer(case.group))
    if record is None or record.state is TaskState.CANCELLED or record.state is TaskState.SKIPPED:
        end(case, Code.GOAL_UNMET, "its answer was taken out", by=ENGINE)
    elif record.state is TaskState.SUCCEEDED:
        close(case, "")
        end_group(case.work, case.constellation, case.group, GroupState.SUCCEEDED)
    elif record.state is TaskState.FAILED:
        _answer_refused(case, record)


def _answer_refused(case: GoalCase, record: TaskRecord) -> None:
    """Send an answer that its judge refused back once; then the next tier continues, or the goal ends."""
    why = judgement.verdict_words(case.constellation, goal_answer(case.group))
    is_last = record.round - case.run.answered >= ANSWERS_MOST
    if is_last and not tiers.next_of(case.run):
        end(case, Code.CHECK_FAILED, why, by=ENGINE)
        return
    refused = case.with_turn(monitors.REFUSED, why[:1000], by=ENGINE, said=(record.marked or "")[:2000])
    if is_last:
        tiers.escalate(refused, "its judge refused its answer twice", by=ENGINE)
    else:
        back_to_work(refused, EventKind.GOAL_REFUSED, why, by=ENGINE)
