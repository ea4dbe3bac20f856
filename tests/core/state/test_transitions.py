"""The table of tasks is total, and says of every pair what the handlers do with it."""

from __future__ import annotations

import pytest

from starloom.core.state.transitions import TASK_TABLE, Trigger, Verdict, look_up
from starloom_protocol.vocabulary import FINAL_TASK_STATES, Code, Outcome, TaskState
from tests.builders import MAYBE, NONE, Driver, plan, task

_S = TaskState


def test_every_pair_is_decided_with_a_reason() -> None:
    assert set(TASK_TABLE) == {(state, trigger) for state in TaskState for trigger in Trigger}
    for (state, trigger), row in TASK_TABLE.items():
        assert look_up(state, trigger) is row
        assert (row.verdict is Verdict.ACT) == (row.reason == ""), f"{state}, {trigger}"


def test_nothing_of_an_attempt_moves_a_final_task() -> None:
    of_attempts = [
        Trigger.STARTED,
        Trigger.FINISHED,
        Trigger.BROKE,
        Trigger.NOT_BEGUN,
        Trigger.SILENT,
        Trigger.HEARD,
        Trigger.RECEIPT,
        Trigger.FENCE_PASSED,
        Trigger.GIVEN_UP,
    ]
    for state in FINAL_TASK_STATES:
        assert all(look_up(state, trigger).verdict is Verdict.IGNORE for trigger in of_attempts)


def put_into(state: TaskState) -> Driver:
    """A driver whose task `x` of constellation `c1` is in a state."""
    driver = Driver("one")
    tool = "t.never" if state is _S.UNKNOWN else "t.pure"
    before = [task("before")] if state is _S.WAITING else []
    inputs = ["b=before"] if state is _S.WAITING else []
    driver.submit(plan(*before, task("x", *inputs, tool=tool), task("other", device="nowhere")))
    dispatch = driver.dispatched[-1]
    match state:
        case _S.READY:
            driver.result(dispatch, outcome=Outcome.ERROR, code=Code.NETWORK, effect=NONE)
        case _S.RUNNING:
            driver.started(dispatch)
        case _S.CANCELLING:
            driver.control("cancel", "x")
        case _S.UNKNOWN:
            driver.result(dispatch, outcome=Outcome.INTERRUPTED, effect=MAYBE)
        case _S.SUCCEEDED:
            driver.result(dispatch, 1)
        case _S.FAILED:
            driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
        case _S.CANCELLED:
            driver.control("cancel", "x")
            driver.receipt(dispatch)
        case _S.SKIPPED:
            driver.result(dispatch, outcome=Outcome.ERROR, code=Code.NETWORK)
            driver.control("skip", "x")
        case _:
            assert state in (_S.WAITING, _S.LEASED)
    assert driver.states()["x"] == state
    return driver


CONTROLS = {
    "cancel": Trigger.CANCEL,
    "skip": Trigger.SKIP,
    "mark": Trigger.MARK,
    "retry": Trigger.RETRY,
    "hold": Trigger.HOLD,
    "release": Trigger.RELEASE,
}


@pytest.mark.parametrize("state", list(TaskState))
@pytest.mark.parametrize("action", list(CONTROLS))
def test_a_control_does_what_the_table_says(state: TaskState, action: str) -> None:
    driver = put_into(state)
    row = look_up(state, CONTROLS[action])
    seen, ignored = len(driver.events), sum(driver.ignored.values())
    answer = driver.control(action, "x", confirm=["x"] if action == "retry" else [])
    if row.verdict is Verdict.NEVER:
        assert answer.faults[0].code is Code.ILLEGAL_CONTROL
        assert row.reason in answer.faults[0].reason
    assert (len(driver.events) > seen) == (row.verdict is Verdict.ACT)
    assert (sum(driver.ignored.values()) > ignored) == (row.verdict is Verdict.IGNORE)


REPORTS = {
    Trigger.STARTED: lambda driver, dispatch: driver.started(dispatch),
    Trigger.FINISHED: lambda driver, dispatch: driver.result(dispatch, 1),
    Trigger.BROKE: lambda driver, dispatch: driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED),
    Trigger.NOT_BEGUN: lambda driver, dispatch: driver.result(dispatch, outcome=Outcome.NEVER_STARTED),
    Trigger.SILENT: lambda driver, dispatch: driver.expire(dispatch.at),
    Trigger.RECEIPT: lambda driver, dispatch: driver.receipt(dispatch),
}


@pytest.mark.parametrize("state", [state for state in TaskState if state is not _S.WAITING])
@pytest.mark.parametrize("trigger", list(REPORTS))
def test_a_report_does_what_the_table_says(state: TaskState, trigger: Trigger) -> None:
    driver = put_into(state)
    dispatch = next(item for item in driver.dispatched if item.at.task == "x")
    seen = len(driver.events)
    REPORTS[trigger](driver, dispatch)
    open_lease = state in (_S.LEASED, _S.RUNNING, _S.CANCELLING, _S.UNKNOWN)
    acts = look_up(state, trigger).verdict is Verdict.ACT
    decided = [event.kind for event in driver.events[seen:] if event.kind != "result_late"]
    assert bool(decided) == (acts and open_lease)
