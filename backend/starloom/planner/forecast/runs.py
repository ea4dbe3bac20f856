"""The forecast of a running constellation: its expected end, the chance of its deadline, and the same after a change.

Owns when there is no forecast: the course depends on a result, a person or a model, or each tool that is left ran too
seldom. It is silent then, and says why. Where some of the tools ran too seldom, it tells the time of the rest and names
the tasks that are not in it. A change is a device that is off, another one like it, or an edit, which is judged like
any other and made on a copy only. Waiting work of other constellations is not played.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from starloom.core.placement.queue_position import Held
from starloom.core.rights.budgets import attempts_made, used_up
from starloom.core.state.apply import load
from starloom.core.state.inputs import EditProposed
from starloom.core.state.model import Constellation, Shard
from starloom.core.state.work import Work
from starloom.core.step import step
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.forecast import budgets
from starloom.planner.forecast.course import Course, Played
from starloom.planner.forecast.plans import (
    NAMED_MOST,
    PLAYS_LEAST,
    PLAYS_MOST,
    Change,
    Forecast,
    left_out_words,
    listed,
    no_work_of,
    unknown_among,
)
from starloom_protocol.api.previews import ExpectedTask, RunCourse, RunWhatIf
from starloom_protocol.records.entities import Fault, Record, decode_entity
from starloom_protocol.stream.feed import ACCESS, FLEET
from starloom_protocol.vocabulary import (
    FINAL_CONSTELLATION_STATES,
    FINAL_GROUP_STATES,
    FINAL_TASK_STATES,
    ConstellationState,
    GateState,
    GroupState,
    TaskState,
)

STEPS_MOST: Final = 6_000
"""Tasks that the plays of one course have in all, about half a second; a run with more open tasks is played once."""
OPEN_MOST: Final = 10_000
TASKS_SHOWN_MOST: Final = 5_000
ABOUT_AS_LONG: Final = 0.05
NO_CHANGE: Final = Change()
_STATES = {
    ConstellationState.PLANNING: "Its plan is not made yet",
    ConstellationState.LOOKING: "Its plan is not made yet",
    ConstellationState.AWAITING_APPROVAL: "It waits for an approval",
    ConstellationState.PAUSED: "It is paused",
    ConstellationState.CANCELLING: "It is being cancelled",
}


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A forecast of a run: the expected times, and what is left in each play; without plays the run is too long."""

    at_ms: int
    expected: Played
    left: Forecast | None

    @property
    def end_ms(self) -> int:
        """The expected end."""
        return self.at_ms + self.left.expected_ms if self.left is not None else self.expected.end_ms

    @property
    def left_out(self) -> list[str]:
        """The open tasks whose tools ran too seldom for a figure, a list by its own id; their time is in no play."""
        return list(dict.fromkeys(one.group or one.task for one in self.expected.tasks if not one.timed))

    def chance(self, deadline_ms: int) -> float | None:
        """Return the share of plays that end by a moment; None if there are too few, or if they lack tasks."""
        if self.left is None or self.left_out:
            return None
        return self.left.chance(deadline_ms - self.at_ms)


def silence(state: Shard, name: str) -> str:
    """Return why a constellation has no forecast; empty if it has one."""
    constellation = state.constellations[name]
    if constellation.head.state in FINAL_CONSTELLATION_STATES:
        return "It has ended."
    if constellation.head.state is not ConstellationState.ACTIVE:
        return f"{_STATES[constellation.head.state]}, so there is no expected end."
    why = next(_doubts(constellation), "")
    if why:
        return f"{why}, so there is no expected end."
    unknown = unknown_among(_open_tools(constellation), state.fleet.paces)
    if not unknown or len(unknown) < len(_open_tools(constellation)):
        return ""
    return f"{listed(unknown)} ran too seldom for an estimate: three calls are enough."


def _doubts(constellation: Constellation) -> Iterator[str]:
    """Yield what nobody can foresee of the rest of a run."""
    if constellation.open_questions or constellation.unknown:
        yield "A person has to answer first"
    if used_up(constellation):
        yield "Its budget is used up"
    if any(job.state != "done" for job in constellation.jobs.values()) or constellation.head.policy.review_at:
        yield "A model decides how it goes on"
    for key, record in constellation.tasks.items():
        if record.state in FINAL_TASK_STATES:
            continue
        if constellation.specs[key].person is not None:
            yield "It will ask a person"
        if record.held:
            yield "A task is held back by a person"
        if record.absent_since_ms or record.state is TaskState.CANCELLING:
            yield "A device does not answer about its task"
    for key, group in constellation.groups.items():
        spec = constellation.specs[key]
        if group.state in FINAL_GROUP_STATES:
            continue
        if spec.goal is not None:
            yield "A model decides how it goes on"
        of_result = spec.for_each is not None and (
            spec.for_each.repeat is not None or (spec.for_each.source is not None and group.state is GroupState.WAITING)
        )
        if of_result or group.until_ms or spec.stop_when is not None:
            yield "A result decides how many tasks it has"
    for key, dependency in constellation.deps.items():
        if dependency.condition is not None and constellation.gate.get(key) is GateState.UNDECIDED:
            yield "A result decides which tasks run"
    for rule in constellation.rules.values():
        # A rule on a failure changes nothing where each call succeeds.
        if rule.event != "failed" and _is_open(constellation, rule.task):
            yield "A result decides how it goes on"


def _is_open(constellation: Constellation, task: str) -> bool:
    record = constellation.tasks.get(task) or constellation.groups.get(task)
    return record is None or record.state not in (FINAL_TASK_STATES | FINAL_GROUP_STATES)


def _open_tools(constellation: Constellation) -> list[str]:
    """Return the tools that are still to be called."""
    open_tasks = (key for key, record in constellation.tasks.items() if record.state not in FINAL_TASK_STATES)
    waiting = (key for key, group in constellation.groups.items() if group.state is GroupState.WAITING)
    tools = dict.fromkeys(constellation.specs[key].tool for key in (*open_tasks, *waiting))
    return [tool for tool in tools if tool is not None]


def foresee(
    state: Shard,
    name: str,
    now_ms: int,
    *,
    change: Change = NO_CHANGE,
    occupied: Sequence[Held] = (),
    steps: int = STEPS_MOST,
    counted: Callable[[int], object] = lambda _steps: None,
) -> Foreseen | str:
    """Return the forecast of a run, or why there is none; `counted` hears of the inputs that were played."""
    why = silence(state, name)
    if why:
        return why
    without_figure = unknown_among(_open_tools(state.constellations[name]), state.fleet.paces)
    course = Course(state, name, now_ms, change, occupied, without_figure)
    if course.lost:
        return f"{listed(course.lost)} runs there and may not be repeated, so a person would have to decide."
    if course.open > OPEN_MOST:
        return f"{course.open:,} tasks are open, more than can be played, so there is no expected end."
    expected = course.play(None)
    plays = min(PLAYS_MOST, steps // max(1, course.open))
    times_ms: list[int] = []
    for number in range(plays if expected is not None and plays >= PLAYS_LEAST else 0):
        # The same numbers on both fleets, so that their difference is that of the change.
        played = course.play(random.Random(f"{name} {number}"))  # noqa: S311 - a play must be the same again
        if played is not None:
            times_ms.append(max(1, played.end_ms - now_ms))
    counted(course.steps)
    if expected is None or (plays >= PLAYS_LEAST and len(times_ms) < plays):
        return _none_takes_all(state, name)
    return Foreseen(now_ms, expected, Forecast(tuple(sorted(times_ms))) if times_ms else None)


def _none_takes_all(state: Shard, name: str) -> str:
    """Return why a run cannot end on this fleet, with the tasks that wait and the devices that take no new work."""
    constellation = state.constellations[name]
    ready = [key for key, record in constellation.tasks.items() if record.state is TaskState.READY]
    tasks = f": {listed(ready, 'task')}" if ready else ""
    why = f"No device that is there can take all of its open tasks{tasks}, so there is no expected end."
    return why + no_work_of(state.fleet.devices.values())


@dataclass(frozen=True, slots=True)
class RunAsked:
    """A question about the rest of a run: its records after event `seq`, the change, and the edit to be judged.

    `words` name the change and are empty without one; `by_ms` is the moment of the chance, in place of the
    deadline; `occupied` are the slots that others hold.
    """

    name: str
    seq: int
    now_ms: int
    entities: Mapping[str, bytes]
    occupied: Sequence[Held] = ()
    change: Change = NO_CHANGE
    edit: EditProposed | None = None
    words: str = ""
    by_ms: int | None = None
    steps: int = STEPS_MOST


class EditRefused(Exception):
    """The edit that was asked about would be refused, with these faults."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(fault.reason for fault in faults))
        self.faults = faults


def run_forecast(
    question: RunAsked, fleet: FleetSnapshot, counted: Callable[[int], object] = lambda _steps: None
) -> RunWhatIf:
    """Answer a question about the rest of a run, on states of its own.

    Raises:
        EditRefused: the edit would be.
    """
    state = _state_of(question, fleet)
    constellation = state.constellations[question.name]
    now = foresee(
        state, question.name, question.now_ms, occupied=question.occupied, steps=question.steps, counted=counted
    )
    then: Foreseen | str | None = None
    if question.words:
        changed = state
        if question.edit is not None:
            changed = _state_of(question, fleet)
            faults = edited(changed, question.edit)
            if faults:
                raise EditRefused(faults)
        then = foresee(
            changed,
            question.name,
            question.now_ms,
            change=question.change,
            occupied=question.occupied,
            steps=question.steps,
            counted=counted,
        )
    answer = answer_of(
        constellation, question.seq, question.now_ms, now, then, words=question.words, by_ms=question.by_ms
    )
    chance = budgets.of_run(constellation, fleet.spendings)
    if chance is not None and constellation.head.state not in FINAL_CONSTELLATION_STATES:
        answer["budget"] = chance
    return answer


def _state_of(question: RunAsked, fleet: FleetSnapshot) -> Shard:
    state = Shard()
    records: dict[str, Record] = {f"device/{key}": device for key, device in fleet.records.items()}
    records |= {f"offer/{key}": offer for key, offer in fleet.offers.items()}
    records |= {f"pace/{key}": row for key, row in fleet.paces.items()}
    load(state, FLEET, 0, records)
    load(state, ACCESS, 0, {f"secret/{key}": secret for key, secret in fleet.secrets.items()})
    load(state, question.name, question.seq, {key: decode_entity(key, raw) for key, raw in question.entities.items()})
    return state


def edited(state: Shard, edit: EditProposed) -> list[Fault]:
    """Make an edit on a copy of the state, with all that follows; return its faults."""
    work = Work(state)
    step(work, edit)
    state.journal.clear()
    return [fault for answer in work.answers for fault in answer.faults]


def deadline_ms(constellation: Constellation) -> int | None:
    """Return the moment of a constellation's deadline; None if it has none."""
    head = constellation.head
    return head.created_ms + head.deadline_s * 1000 if head.deadline_s else None


def answer_of(
    constellation: Constellation,
    seq: int,
    now_ms: int,
    now: Foreseen | str,
    then: Foreseen | str | None,
    *,
    words: str = "",
    by_ms: int | None = None,
) -> RunWhatIf:
    """Return forecasts as the API tells them; `words` name the change, `by_ms` is the moment of the chance."""
    if by_ms is None:
        by_ms = deadline_ms(constellation)
    return {
        "id": constellation.name,
        "seq": seq,
        "at_ms": now_ms,
        "change": words,
        "by_ms": by_ms,
        "now": _course(now, by_ms),
        "then": None if then is None else _course(then, by_ms),
        "said": _sentence(now, then, words) + _budget_words(constellation, now),
        "stands_ms": 0,
    }


def _course(outlook: Foreseen | str, by_ms: int | None) -> RunCourse | None:
    if isinstance(outlook, str):
        return None
    chance = outlook.chance(by_ms) if by_ms is not None else None
    timed = [one for one in outlook.expected.tasks if one.timed]
    placed = sorted(timed, key=lambda one: (one.begin_ms, one.task))
    tasks: list[ExpectedTask] = [
        {"task": one.task, "device": one.device, "begin_ms": one.begin_ms, "end_ms": one.end_ms}
        for one in placed[:TASKS_SHOWN_MOST]
    ]
    left = outlook.left
    course: RunCourse = {
        "end_ms": outlook.end_ms,
        "low_ms": outlook.at_ms + left.low_ms if left is not None else None,
        "high_ms": outlook.at_ms + left.high_ms if left is not None else None,
        "chance": None if chance is None else round(chance, 3),
        "plays": len(left.plays_ms) if left is not None else 0,
        "tasks": tasks,
        "more": max(0, len(placed) - TASKS_SHOWN_MOST),
    }
    if left_out := outlook.left_out:
        course["left_out"] = left_out[:NAMED_MOST]
    return course


def _sentence(now: Foreseen | str, then: Foreseen | str | None, words: str) -> str:
    if isinstance(now, str):
        return now
    if then is None:
        return f"It should end in {_time_words(max(0, now.end_ms - now.at_ms))}." + left_out_words(now.left_out)
    if isinstance(then, str):
        return f"{words}: {then}"
    more_ms, whole_ms = then.end_ms - now.end_ms, max(1, now.end_ms - now.at_ms)
    lacking = left_out_words(then.left_out)
    if abs(more_ms) < ABOUT_AS_LONG * whole_ms:
        return f"{words}, it should end at about the same time.{lacking}"
    return f"{words}, it should end about {_time_words(abs(more_ms))} {'later' if more_ms > 0 else 'earlier'}.{lacking}"


def _budget_words(constellation: Constellation, now: Foreseen | str) -> str:
    budget = constellation.head.budget
    if budget is None or not budget.attempts or isinstance(now, str):
        return ""
    rest = budget.attempts * budget.times - attempts_made(constellation)
    lack = len(now.expected.tasks) - len(constellation.open_attempts) - rest
    return f" Its budget of attempts is too small by {lack}." if lack > 0 else ""


def _time_words(milliseconds: int) -> str:
    minutes, rest = divmod(round(milliseconds / 1000), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if minutes else f"{rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
