"""The conversation of a goal: its job with its turns, its states, and its end. Decides no step and asks nobody.

Everything is state of the job: a worker that goes on after a killed one finds the same turns. While a step, a question
or an answer is open, no worker can claim the job, so no step is made twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from starloom.core.plan.goals import monitors
from starloom.core.plan.groups import end_group
from starloom.core.rights import spending
from starloom.core.rights.strangers import in_findings, stranger_in
from starloom.core.run.attempts import ask_to_stop
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.orders import COMMIT, ArmTimer, StartJob
from starloom.core.state.work import Work, close_question, fault
from starloom_protocol.records.entities import Goal, GoalRun, GoalTurn, Job
from starloom_protocol.records.goals import goal_answer
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import (
    FINAL_GROUP_STATES,
    FINAL_TASK_STATES,
    Code,
    ConstellationState,
    GroupState,
    Reason,
    TaskState,
)

KIND: Final = "goal"
OVER: Final = "goal_over"
STEPPING, ASKING, ANSWERED, ENDING = "stepping", "asking", "answered", "ending"
UNCLAIMABLE: Final = frozenset({STEPPING, ASKING, ANSWERED, ENDING, "done"})
ANSWERS_MOST: Final = 2
"""An answer that its judge refused twice does not become right by a third one."""
_REASONS: Final = {GroupState.SKIPPED: Reason.SKIPPED_BY_PERSON}


def goal_of(constellation: Constellation, group: str) -> Goal | None:
    """Return the goal that a group is, or None."""
    spec = constellation.specs.get(group)
    return spec.goal if spec is not None else None


def run_of(job: Job) -> GoalRun:
    """Return the conversation of the job of a goal."""
    return job.goal or GoalRun(due_ms=0)


def jobs_of(constellation: Constellation) -> Iterator[Job]:
    """Yield the jobs of goals that have not ended, in order."""
    return (job for job in constellation.jobs.values() if job.kind == KIND and job.state != "done")


def job_of(constellation: Constellation, group: str) -> Job | None:
    """Return the job of the present round of a goal."""
    named = f"{group}/{constellation.groups[group].round}"
    return next((job for job in constellation.jobs.values() if job.kind == KIND and job.tasks == [named]), None)


def group_of(job: Job) -> str:
    """Return the goal of a job."""
    return job.tasks[0].rpartition("/")[0]


def steps_most(goal: Goal, run: GoalRun) -> int:
    """Return the steps that a goal may make, with what a person allowed since."""
    return goal.steps * (1 + run.more)


def answers_made(constellation: Constellation, group: str) -> int:
    """Return how many answers a goal has given in all of its rounds."""
    record = constellation.tasks.get(goal_answer(group))
    return record.round if record is not None else 0


def is_open(constellation: Constellation, task: str) -> bool:
    """Tell whether a call of a step has not ended."""
    return task in constellation.tasks and not _is_final(constellation, task)


def open_calls(constellation: Constellation, group: str) -> list[str]:
    """Return the calls of a goal that have not ended."""
    found = [name for name in constellation.children.get(group, {}) if is_open(constellation, name)]
    # The answer of an earlier round waits for no device.
    unmade = (goal_answer(group), TaskState.WAITING)
    return [name for name in found if (name, constellation.tasks[name].state) != unmade]


def _is_final(constellation: Constellation, task: str) -> bool:
    return constellation.tasks[task].state in FINAL_TASK_STATES


# -- what a stranger may have written


def read_of_a_stranger(fleet: Fleet, constellation: Constellation, group: str, run: GoalRun) -> str:
    """Return the task by which a goal has read what a stranger may have written.

    All of its calls are looked at: the last one may end while a person is asked, and no step ends by it then. The
    findings of others stand in each of its turns.
    """
    calls = (name for name in constellation.children.get(group, {}) if name != goal_answer(group))
    return run.stranger or stranger_in(fleet, constellation, calls) or in_findings(constellation, group)


# -- turns


def wake(work: Work, constellation: Constellation, job: Job) -> None:
    """Have a worker ask the model for the next turn."""
    work.order(StartJob(after=COMMIT, constellation=constellation.name, job=job.id, kind=KIND))


def back_to_work(work: Work, constellation: Constellation, job: Job, kind: EventKind, note: str, *, by: str) -> None:
    """Reopen the job of a goal for the next turn, or let it wait for the calls that still run."""
    group = group_of(job)
    steps = monitors.steps_of(run_of(job))
    runs = bool(steps) and any(is_open(constellation, task) for task in steps[-1].tasks)
    job = replace(job, state=STEPPING if runs else "open", claimed_by=None, expires_ms=0, resumed_ms=work.at_ms)
    work.emit(constellation, kind, group, [("job", job.id, job)], note=note, by=by)
    work.order(timer(constellation, job))
    if not runs:
        wake(work, constellation, job)


def with_turn(job: Job, turn: GoalTurn) -> Job:
    """Return the job of a goal with one more turn."""
    run = run_of(job)
    return replace(job, goal=replace(run, turns=[*run.turns, turn]))


# -- the end


def end(work: Work, constellation: Constellation, job: Job, code: Code, why: str, *, by: str) -> None:
    """End a goal without an answer; the calls that still run are asked to stop and end first."""
    group = group_of(job)
    close_question(work, constellation, group)
    ended = replace(job, state=ENDING, claimed_by=None, expires_ms=0, fault=fault(code, why))
    work.emit(constellation, EventKind.GOAL_ENDS, group, [("job", job.id, ended)], note=why, by=by)
    for task in open_calls(constellation, group):
        ask_to_stop(work, constellation, task, why)
    if not open_calls(constellation, group):
        finish(work, constellation, group, constellation.jobs[job.id])


def finish(work: Work, constellation: Constellation, group: str, job: Job) -> None:
    """End the group of a goal whose last calls have ended."""
    code = job.fault.code if job.fault is not None else Code.GOAL_UNMET
    why = job.fault.reason if job.fault is not None else ""
    close(work, constellation, job, why)
    if run_of(job).ends:
        ends = GroupState(run_of(job).ends)
        end_group(work, constellation, group, ends, reason=_REASONS.get(ends), cause="not_chosen", note=why)
    else:
        end_group(work, constellation, group, GroupState.FAILED, code=code, cause=group, note=why)


def close(work: Work, constellation: Constellation, job: Job, note: str) -> None:
    """Close the job of a goal that has ended."""
    close_question(work, constellation, group_of(job))
    done = replace(job, state="done", claimed_by=None, expires_ms=0)
    work.emit(constellation, EventKind.JOB_DONE, job.id, [("job", job.id, done)], note=note, by=ENGINE)
    if not run_of(job).ends and constellation.head.state is not ConstellationState.CANCELLING:
        spending.learn_goal(work, constellation, group_of(job), job)


def stop(work: Work, constellation: Constellation, group: str, state: GroupState, note: str) -> bool:
    """End a goal that a person skips or cancels; True if it was open."""
    if constellation.groups[group].state in FINAL_GROUP_STATES:
        return False
    job = job_of(constellation, group)
    if job is None or job.state == "done":
        end_group(work, constellation, group, state, cause="not_chosen", note=note)
        return True
    why = note or f"a person {'skipped' if state is GroupState.SKIPPED else 'cancelled'} it"
    ends = replace(job, goal=replace(run_of(job), ends=state))
    end(work, constellation, ends, Code.GOAL_UNMET, why, by=work.by)
    return True


def look_again(work: Work, constellation: Constellation) -> None:
    """Have each goal that is carried out decided again, since its constellation is stopped or goes on."""
    for group, record in constellation.groups.items():
        if record.state not in FINAL_GROUP_STATES and goal_of(constellation, group) is not None:
            work.shard.touched[(constellation.name, group)] = None


# -- time


def timer(constellation: Constellation, job: Job) -> ArmTimer:
    return ArmTimer(constellation=constellation.name, due_ms=run_of(job).due_ms, entity=job.id, kind=OVER)


def due_moments(constellation: Constellation) -> Iterator[ArmTimer]:
    """Yield the timer of each goal that is carried out, computed from state."""
    for job in jobs_of(constellation):
        yield timer(constellation, job)
