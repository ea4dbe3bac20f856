"""The sentences about a goal: how far it is, why it waits, and why it ended without an answer. Pure."""

from __future__ import annotations

from starloom.core.plan.goals import monitors
from starloom.core.plan.goals.conversation import (
    ANSWERED,
    ASKING,
    ENDING,
    STEPPING,
    goal_of,
    job_of,
    run_of,
    steps_most,
)
from starloom.core.state.model import Constellation
from starloom_protocol.records.entities import Goal, GoalRun, Job
from starloom_protocol.text.wording import counted
from starloom_protocol.vocabulary import FINAL_GROUP_STATES, ConstellationState, GroupState


def sentence(constellation: Constellation, group: str, waits: str) -> str:
    """Return the state of a goal in one or two sentences; `waits` names what it waits for."""
    record = constellation.groups[group]
    job = job_of(constellation, group)
    if job is None or record.state is GroupState.WAITING:
        if record.state in FINAL_GROUP_STATES:
            return f"{group} is a goal that was {record.state}; it made no step."
        return f"{group} is a goal that waits{waits}."
    goal = goal_of(constellation, group) or Goal(aim="")
    run = run_of(job)
    used = monitors.used(run)
    steps = counted(used, "step")
    if record.state is GroupState.SUCCEEDED:
        return f"{group} is a goal that was reached in {steps}.{_tiers(run)}"
    if record.state in FINAL_GROUP_STATES:
        return f"{group} is a goal that was not reached: {unmet(constellation, group)}. It made {steps}.{_tiers(run)}"
    so_far = f"{group} is a goal, with {used} of {steps_most(goal, run)} steps made"
    return f"{so_far}; {_present_state(constellation, job)}.{_tiers(run)}"


def _tiers(run: GoalRun) -> str:
    """Return the turns of each tier and the reason of the newest escalation; empty where there is one tier only."""
    turns = " and ".join(f"{count} of {tier}" for tier, count in run.turns_by.items())
    if not turns:
        return ""
    why = next((turn.note for turn in reversed(run.turns) if turn.kind == monitors.ESCALATED), "")
    because = f"; {run.tier} went on because: {why.rstrip('.')}" if why else ""
    return f" Turns of its models: {turns}{because}."


def _present_state(constellation: Constellation, job: Job) -> str:
    if constellation.head.state is ConstellationState.PAUSED:
        return "the constellation is paused"
    if job.state == STEPPING:
        note = monitors.steps_of(run_of(job))[-1].note
        return f"its newest runs{': ' + note.rstrip('.') if note else ''}"
    return {
        ANSWERED: "its answer is judged",
        ASKING: "a person is asked how it goes on",
        ENDING: "its last calls are stopped",
    }.get(job.state, "its model is asked for the next")


def unmet(constellation: Constellation, group: str) -> str:
    """Return why a goal has no answer, in words; empty where it has one or has not ended."""
    job = job_of(constellation, group)
    return job.fault.reason.rstrip(".") if job is not None and job.fault is not None else ""


def actions(constellation: Constellation, group: str) -> list[str]:
    """Return the controls of a goal that are possible now."""
    if constellation.groups[group].state in FINAL_GROUP_STATES:
        return ["retry"]
    return ["skip", "cancel"] if job_of(constellation, group) is None else ["hint", "skip", "cancel"]
