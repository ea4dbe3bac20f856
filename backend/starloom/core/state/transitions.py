"""The table of every (state, trigger) pair of a task: acted on, ignored with a reason, or never with a reason.

The handlers look a pair up here before they act; a test walks the whole product. `never` from a person is a refusal
(409), from a peer it is counted and dropped, from the core itself it is a bug.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from starloom_protocol.vocabulary import TaskState


class Trigger(StrEnum):
    """An act on a task, or a report about it.

    A device reports the first four and RECEIPT; SILENT and HEARD are the begin and the end of its absence. MOVE asks a
    draining device to give work back and MOVED is its receipt; TIME_OVER asks it to end work that takes too long and
    ENDED_OVERDUE is that receipt. GIVEN_UP: the device is gone for good.
    """

    STARTED = "started"
    FINISHED = "finished"
    BROKE = "broke"
    NOT_BEGUN = "not_begun"
    SILENT = "silent"
    HEARD = "heard"
    CANCEL = "cancel"
    RECEIPT = "receipt"
    FENCE_PASSED = "fence_passed"
    GIVEN_UP = "given_up"
    MOVE = "move"
    MOVED = "moved"
    TIME_OVER = "time_over"
    ENDED_OVERDUE = "ended_overdue"
    SKIP = "skip"
    MARK = "mark"
    RETRY = "retry"
    HOLD = "hold"
    RELEASE = "release"


class Verdict(StrEnum):
    ACT = "act"
    IGNORE = "ignore"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Row:
    verdict: Verdict
    reason: str = ""


ACT = Row(Verdict.ACT)


def ignore(reason: str) -> Row:
    """Return the row of a pair that changes nothing, with the reason."""
    return Row(Verdict.IGNORE, reason)


def never(reason: str) -> Row:
    """Return the row of a pair that must not occur, with its meaning."""
    return Row(Verdict.NEVER, reason)


_S = TaskState
_FINAL = (_S.SUCCEEDED, _S.FAILED, _S.CANCELLED, _S.SKIPPED)


def _row(default: Row, **states: Row) -> dict[TaskState, Row]:
    return {state: states.get(state.value, default) for state in TaskState}


_NO_LEASE = "no lease is open"
_OVER = "the task is final in this round"
_STARTED = "the task has started; cancel it first"

_BY_TRIGGER: dict[Trigger, dict[TaskState, Row]] = {
    Trigger.STARTED: _row(
        ignore(_NO_LEASE),
        leased=ACT,
        running=ignore("it is known to run"),
        cancelling=ignore("it is being stopped"),
        unknown=ignore("it is known to have started"),
    ),
    Trigger.FINISHED: _row(ignore(_NO_LEASE), leased=ACT, running=ACT, cancelling=ACT, unknown=ACT),
    Trigger.BROKE: _row(ignore(_NO_LEASE), leased=ACT, running=ACT, cancelling=ACT, unknown=ACT),
    Trigger.NOT_BEGUN: _row(ignore(_NO_LEASE), leased=ACT, running=ACT, cancelling=ACT, unknown=ACT),
    Trigger.SILENT: _row(ignore(_NO_LEASE), leased=ACT, running=ACT, cancelling=ignore("its own fence decides")),
    Trigger.HEARD: _row(ignore("nothing was absent"), leased=ACT, running=ACT),
    Trigger.CANCEL: _row(
        never(_OVER),
        waiting=ACT,
        ready=ACT,
        leased=ACT,
        running=ACT,
        cancelling=ignore("it is being stopped"),
        unknown=never("it may have happened; mark or retry it"),
    ),
    Trigger.RECEIPT: _row(ignore(_NO_LEASE), leased=ACT, running=ACT, cancelling=ACT),
    Trigger.FENCE_PASSED: _row(ignore("nothing waits for its fence"), cancelling=ACT),
    Trigger.GIVEN_UP: _row(ignore(_NO_LEASE), leased=ACT, running=ACT, cancelling=ACT),
    Trigger.MOVE: _row(ignore("nothing can be moved from a device"), leased=ACT, running=ACT),
    Trigger.MOVED: _row(ignore("nothing was being moved"), leased=ACT, running=ACT),
    Trigger.TIME_OVER: _row(ignore("only what runs has a time to end by"), running=ACT),
    Trigger.ENDED_OVERDUE: _row(ignore("nothing was over its time"), running=ACT),
    Trigger.SKIP: _row(
        never(_STARTED),
        waiting=ACT,
        ready=ACT,
        succeeded=never(_OVER),
        failed=ACT,
        cancelled=never(_OVER),
        skipped=never(_OVER),
    ),
    Trigger.MARK: _row(
        never(_STARTED),
        unknown=ACT,
        succeeded=ACT,
        failed=ACT,
        cancelled=ACT,
        skipped=ACT,
        waiting=never("the task has not run; skip it instead"),
        ready=never("the task has not run; skip it instead"),
    ),
    Trigger.RETRY: _row(
        never("the task is under way"),
        failed=ACT,
        cancelled=ACT,
        skipped=ACT,
        unknown=ACT,
        succeeded=never("the task succeeded; use retry-from to run it and what follows again"),
        waiting=never("the task has not run yet"),
        ready=never("the task is about to run"),
    ),
    Trigger.HOLD: _row(never(_STARTED), waiting=ACT, ready=ACT, **{s.value: never(_OVER) for s in _FINAL}),
    Trigger.RELEASE: _row(
        never("the task has started"), waiting=ACT, ready=ACT, **{s.value: never(_OVER) for s in _FINAL}
    ),
}

TASK_TABLE: dict[tuple[TaskState, Trigger], Row] = {
    (state, trigger): _BY_TRIGGER[trigger][state] for trigger in Trigger for state in TaskState
}


def look_up(state: TaskState, trigger: Trigger) -> Row:
    """Return the row of a pair."""
    return TASK_TABLE[(state, trigger)]
