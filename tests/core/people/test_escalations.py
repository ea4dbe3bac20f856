"""A reviewer's wish: nothing of it happens before a person allowed exactly it, and silence is a no."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.clock.timers import due_moments
from starloom.core.state import inputs as i
from starloom.core.state.orders import Answer
from starloom_protocol.records.edits import AddDependency, AddTask, EditOperation
from starloom_protocol.records.entities import Question, Selector
from starloom_protocol.vocabulary import Attention, Code, ConstellationState, Gate, Outcome, TaskState
from tests.builders import Driver, edge, plan, task
from tests.core.plan.test_review import ON_FAILURE, claim, fail, propose

OTHER = task("d", device=Selector(name="two"))
WIDER: list[EditOperation] = [
    AddTask(spec=OTHER),
    AddDependency(dependency=edge("d>b")),
]


@pytest.fixture
def driver() -> Driver:
    """Task a failed, the review of it is claimed; device two is no part of the plan."""
    made = Driver("one", "two")
    here = Selector(name="one")
    tasks = [task(name, device=here) for name in ("a", "b", "c")]
    made.submit(plan(*tasks, edge("a>b", gate=Gate.FINISH), edge("b>c"), policy=ON_FAILURE))
    fail(made)
    claim(made)
    return made


def wish(driver: Driver, **more: Any) -> Question:
    assert propose(driver, *WIDER, ask=True, reason="the other copy is whole", **more).value == {"accepted": False}
    found: Question = driver.shard.constellations["c1"].questions["wish-review-1"]
    return found


def answer(driver: Driver, value: str, by: str = "person:ann") -> Answer:
    return driver.answer_question("wish-review-1", value, by=by, reason="")


def test_a_wish_says_what_is_wider_and_changes_nothing(driver: Driver) -> None:
    run = driver.shard.constellations["c1"]
    version = run.head.version
    question = wish(driver)
    assert any("d would use two" in line for line in question.wider)
    assert (question.kind, question.version, question.answer) == ("review", version, None)
    assert "d" not in run.specs
    assert run.head.version == version
    assert run.tasks["b"].state is not TaskState.LEASED
    assert driver.take() == []
    assert {Attention.REVIEW_WISHES, Attention.QUESTION_OPEN} <= set(run.head.attention)
    driver.folded_equals_state()


def test_a_person_allows_it_and_it_is_applied_in_their_name(driver: Driver) -> None:
    wish(driver)
    assert not answer(driver, "allow").faults
    run = driver.shard.constellations["c1"]
    assert run.versions[str(run.head.version)].author == "person:ann"
    assert run.tasks["b"].review is None
    assert Attention.REVIEW_WISHES not in run.head.attention
    (dispatch,) = driver.take()
    assert (dispatch.at.task, dispatch.device) == ("d", "d-two")
    driver.result(dispatch)
    assert [item.at.task for item in driver.take()] == ["b"]
    driver.folded_equals_state()


def test_a_no_lets_the_plan_go_on_as_it_was(driver: Driver) -> None:
    wish(driver)
    assert not answer(driver, "deny").faults
    run = driver.shard.constellations["c1"]
    assert "d" not in run.specs
    assert Attention.REVIEW_WISHES not in run.head.attention
    assert [item.at.task for item in driver.take()] == ["b"]
    assert answer(driver, "allow").faults[0].code is Code.CONFLICT


@pytest.mark.parametrize("by", ["worker:w", "model", "device:d-one", "engine"])
def test_no_model_allows_it(driver: Driver, by: str) -> None:
    wish(driver)
    assert answer(driver, "allow", by=by).faults[0].code is Code.FORBIDDEN
    assert "d" not in driver.shard.constellations["c1"].specs


def test_silence_is_a_no(driver: Driver) -> None:
    question = wish(driver)
    timer = next(item for item in due_moments(driver.shard) if item.entity == question.id)
    driver.now_ms = timer.due_ms
    driver.fire(timer)
    run = driver.shard.constellations["c1"]
    assert run.questions[question.id].answered_by == "engine"
    assert run.head.state is ConstellationState.ACTIVE, "the plan is not denied with the wish"
    assert [item.at.task for item in driver.take()] == ["b"]


def test_what_it_would_do_is_judged_again_when_it_is_answered(driver: Driver) -> None:
    wish(driver)
    driver.do(i.DeviceControlled(id=driver.ident(), by="person:ann", device="d-two", action="revoke"))
    refused = answer(driver, "allow")
    assert refused.faults[0].code is Code.EDIT_CONFLICT
    assert "d" not in driver.shard.constellations["c1"].specs
    assert not answer(driver, "deny").faults


def test_a_plan_that_changed_meanwhile_refuses_it(driver: Driver) -> None:
    wish(driver)
    run = driver.shard.constellations["c1"]
    again = i.EditProposed(
        base_version=run.head.version,
        by="person:ann",
        constellation="c1",
        id=driver.ident(),
        operations=[AddTask(spec=task("d", device=Selector(name="one")))],
        reason="mine",
    )
    assert not driver.do(again).faults
    assert answer(driver, "allow").faults


def test_only_what_is_wider_asks(driver: Driver) -> None:
    same = AddTask(spec=task("e", device=Selector(name="one")))
    assert propose(driver, same, ask=True).value == {"accepted": True}
    assert "e" in driver.shard.constellations["c1"].specs
    assert not driver.shard.constellations["c1"].open_questions


def test_a_wish_that_nobody_may_allow_any_more_ends_with_its_constellation(driver: Driver) -> None:
    wish(driver)
    driver.control("cancel")
    run = driver.shard.constellations["c1"]
    assert run.questions["wish-review-1"].answer == ""
    assert run.head.state is ConstellationState.CANCELLED
    assert answer(driver, "allow").faults


def test_without_ask_it_is_refused_as_before(driver: Driver) -> None:
    assert propose(driver, *WIDER).faults[0].code is Code.NEEDS_APPROVAL


def test_the_last_task_of_a_plan_waits_for_the_answer() -> None:
    driver = Driver("one", "two")
    driver.submit(plan(task("a", device=Selector(name="one")), policy=ON_FAILURE))
    (dispatch,) = driver.take()
    driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    claim(driver)
    propose(driver, AddTask(spec=OTHER), ask=True)
    assert driver.state() == "active"
    answer(driver, "deny")
    assert driver.state() == "failed"
