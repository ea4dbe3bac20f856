"""The conversation of a goal: its job with its turns, its states, and its end. Decides no step and asks nobody.

Everything is state of the job: a worker that goes on after a killed one finds the same turns. While a step, a question
or an answer is open, no worker can claim the job, so no step is made twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from starloom.core.plan.goals import monitors
from starloom.core.plan.groups import end_group
from starloom.core.rights import spending
from starloom.core.rights.strangers import in_findings, stranger_in
from starloom.core.run.attempts import ask_to_stop
from starloom.core.state.model import Constellation
from starloom.core.state.orders import COMMIT, ArmTimer, StartJob
from starloom.core.state.tasks.roles import is_over
from starloom.core.state.work import Put, Work, close_question, fault
from starloom_protocol.records.entities import Goal, GoalRun, GoalTurn, Job
from starloom_protocol.records.goals import goal_answer
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import (
    FINAL_GROUP_STATES,
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
    name = f"{group}/{constellation.groups[group].round}"
    return next((job for job in constellation.jobs.values() if job.kind == KIND and job.tasks == [name]), None)


def group_of(job: Job) -> str:
    """Return the goal of a job."""
    return job.tasks[0].rpartition("/")[0]


class GoalCase(msgspec.Struct, frozen=True):
    """The present round of a goal, with the step that decides about it.

    A case is of one moment: a handler that changes the job passes on a case with the change, and the shard has it once
    an event was emitted.
    """

    work: Work
    constellation: Constellation
    job: Job

    @property
    def group(self) -> str:
        return group_of(self.job)

    @property
    def goal(self) -> Goal:
        return goal_of(self.constellation, self.group) or Goal(aim="")

    @property
    def run(self) -> GoalRun:
        return run_of(self.job)

    @property
    def put(self) -> Put:
        """The job as an event writes it."""
        return ("job", self.job.id, self.job)

    def with_job(self, **changes: Any) -> GoalCase:
        return replace(self, job=replace(self.job, **changes))

    def unclaimed(self, state: str, **changes: Any) -> GoalCase:
        """Return the case with its job in another state, and with no worker."""
        return self.with_job(state=state, claimed_by=None, expires_ms=0, **changes)

    def with_run(self, **changes: Any) -> GoalCase:
        return self.with_job(goal=replace(self.run, **changes))

    def with_turn(self, kind: str, note: str, **fields: Any) -> GoalCase:
        """Return the case with one more turn, which is the model's unless `by` names another author."""
        turn = GoalTurn(at_ms=self.work.at_ms, kind=kind, note=note, **fields)
        return self.with_run(turns=[*self.run.turns, turn])

    def emit(self, kind: EventKind, *also: Put, note: str = "", by: str | None = None) -> None:
        """Emit one event of the goal: the job as the case has it, and the further puts."""
        self.work.emit(self.constellation, kind, self.group, [self.put, *also], note=note, by=by)

    def wake(self) -> None:
        """Have a worker ask the model for the next turn."""
        self.work.order(StartJob(after=COMMIT, constellation=self.constellation.name, job=self.job.id, kind=KIND))

    def arm(self) -> None:
        """Have the timer of the goal fire when its time is over."""
        self.work.order(timer(self.constellation, self.job))


def steps_most(goal: Goal, run: GoalRun) -> int:
    """Return the steps that a goal may make, with what a person allowed since."""
    return goal.steps * (1 + run.more)


def answers_made(constellation: Constellation, group: str) -> int:
    """Return how many answers a goal has given in all of its rounds."""
    record = constellation.tasks.get(goal_answer(group))
    return record.round if record is not None else 0


def is_open(constellation: Constellation, task: str) -> bool:
    """Tell whether a call of a step has not ended."""
    return task in constellation.tasks and not is_over(constellation, task)


def open_calls(constellation: Constellation, group: str) -> list[str]:
    """Return the calls of a goal that have not ended."""
    names = [name for name in constellation.children.get(group, {}) if is_open(constellation, name)]
    # The answer of an earlier round waits for no device.
    unmade = (goal_answer(group), TaskState.WAITING)
    return [name for name in names if (name, constellation.tasks[name].state) != unmade]


def read_of_a_stranger(case: GoalCase) -> str:
    """Return the task by which a goal has read what a stranger may have written.

    All of its calls are looked at: the last one may end while a person is asked, and no step ends by it then. The
    findings of others stand in each of its turns.
    """
    constellation, group, fleet = case.constellation, case.group, case.work.shard.fleet
    calls = (name for name in constellation.children.get(group, {}) if name != goal_answer(group))
    return case.run.stranger or stranger_in(fleet, constellation, calls) or in_findings(constellation, group)


def back_to_work(case: GoalCase, kind: EventKind, note: str, *, by: str) -> None:
    """Reopen the job of a goal for the next turn, or let it wait for the calls that still run."""
    steps = monitors.steps_of(case.run)
    runs = bool(steps) and any(is_open(case.constellation, task) for task in steps[-1].tasks)
    case = case.unclaimed(STEPPING if runs else "open", resumed_ms=case.work.at_ms)
    case.emit(kind, note=note, by=by)
    case.arm()
    if not runs:
        case.wake()


def end(case: GoalCase, code: Code, why: str, *, by: str) -> None:
    """End a goal without an answer; the calls that still run are asked to stop and end first."""
    work, constellation, group = case.work, case.constellation, case.group
    close_question(work, constellation, group)
    ending = case.unclaimed(ENDING, fault=fault(code, why))
    ending.emit(EventKind.GOAL_ENDS, note=why, by=by)
    for task in open_calls(constellation, group):
        ask_to_stop(work, constellation, task, why)
    if not open_calls(constellation, group):
        finish(ending)


def finish(case: GoalCase) -> None:
    """End the group of a goal whose last calls have ended."""
    failure, run = case.job.fault, case.run
    code = failure.code if failure is not None else Code.GOAL_UNMET
    why = failure.reason if failure is not None else ""
    close(case, why)
    if run.ends:
        ends = GroupState(run.ends)
        reason = _REASONS.get(ends)
        end_group(case.work, case.constellation, case.group, ends, reason=reason, cause="not_chosen", note=why)
    else:
        failed = GroupState.FAILED
        end_group(case.work, case.constellation, case.group, failed, code=code, cause=case.group, note=why)


def close(case: GoalCase, note: str) -> None:
    """Close the job of a goal that has ended."""
    work, constellation, job = case.work, case.constellation, case.job
    close_question(work, constellation, case.group)
    work.emit(constellation, EventKind.JOB_DONE, job.id, [case.unclaimed("done").put], note=note, by=ENGINE)
    if not case.run.ends and constellation.head.state is not ConstellationState.CANCELLING:
        spending.learn_goal(work, constellation, case.group, job)


def stop(work: Work, constellation: Constellation, group: str, state: GroupState, note: str) -> bool:
    """End a goal that a person skips or cancels; True if it was open."""
    if constellation.groups[group].state in FINAL_GROUP_STATES:
        return False
    job = job_of(constellation, group)
    if job is None or job.state == "done":
        end_group(work, constellation, group, state, cause="not_chosen", note=note)
        return True
    why = note or f"a person {'skipped' if state is GroupState.SKIPPED else 'cancelled'} it"
    end(GoalCase(work, constellation, job).with_run(ends=state), Code.GOAL_UNMET, why, by=work.by)
    return True


def look_again(work: Work, constellation: Constellation) -> None:
    """Have each goal that is carried out decided again, since its constellation is stopped or continues."""
    for group, record in constellation.groups.items():
        if record.state not in FINAL_GROUP_STATES and goal_of(constellation, group) is not None:
            work.shard.touched[(constellation.name, group)] = None


def timer(constellation: Constellation, job: Job) -> ArmTimer:
    return ArmTimer(constellation=constellation.name, due_ms=run_of(job).due_ms, entity=job.id, kind=OVER)


def due_moments(constellation: Constellation) -> Iterator[ArmTimer]:
    """Yield the timer of each goal that is carried out, computed from state."""
    for job in jobs_of(constellation):
        yield timer(constellation, job)
