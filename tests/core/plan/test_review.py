"""The review hold: it opens in the step that ends a task, holds only what has not started, and always closes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from starloom.core.clock.timers import due_moments
from starloom.core.plan import review
from starloom.core.state import inputs as i
from starloom.core.state.orders import Answer, StartJob
from starloom_protocol.records.edits import (
    AddDependency,
    AddTask,
    EditOperation,
    RemoveDependency,
    SetPolicy,
    Supersede,
)
from starloom_protocol.records.entities import ForEach, Policy, Selector
from starloom_protocol.vocabulary import Attention, Code, ConstellationState, Gate, Outcome, Reason, TaskState
from tests.builders import Driver, edge, plan, task

ON_FAILURE = Policy(review="on_failure")
ALWAYS = Policy(review="always")


def chain(policy: Policy = ON_FAILURE) -> Any:
    return plan(task("a"), task("b"), task("c"), edge("a>b"), edge("b>c"), policy=policy)


def fail(driver: Driver) -> None:
    (dispatch,) = driver.take()
    driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)


def claim(driver: Driver, job: str = "review-1", worker: str = "w") -> Answer:
    return driver.claim_job(job, worker=worker)


def propose(driver: Driver, *operations: EditOperation, job: str = "review-1", **fields: Any) -> Answer:
    version = driver.shard.constellations["c1"].head.version
    return driver.do(
        i.ReviewProposed(
            id=driver.ident(),
            base_version=version,
            by="worker:w",
            constellation="c1",
            job=job,
            operations=list(operations),
            worker="w",
            **fields,
        )
    )


def state_of(driver: Driver, task_id: str | None = None) -> tuple[Any, Any]:
    """Return state and reason of a task, or the state of the whole."""
    run = driver.shard.constellations["c1"]
    return (run.head.state, None) if task_id is None else (run.tasks[task_id].state, run.tasks[task_id].reason)


def due(driver: Driver, kind: str) -> Any:
    return next(timer for timer in due_moments(driver.shard) if timer.kind == kind)


def failed(policy: Policy = ON_FAILURE) -> tuple[Driver, Any]:
    driver = Driver("one")
    made: Any = driver.submit(chain(policy))
    fail(driver)
    return driver, made


def test_a_failure_opens_a_review_in_the_same_commit_and_holds_its_direct_dependents() -> None:
    driver, made = failed()
    assert made.tasks["a"].state is TaskState.FAILED
    assert made.tasks["b"].state is TaskState.WAITING
    assert made.tasks["b"].review == "review-1"
    assert made.tasks["c"].review is None
    assert made.head.state is ConstellationState.ACTIVE
    assert any(isinstance(effect, StartJob) and effect.kind == "review" for effect in driver.sent)


def test_no_change_lets_the_failure_take_its_course() -> None:
    driver, made = failed()
    claim(driver)
    assert propose(driver).value == {"accepted": True}
    assert made.tasks["b"].state is TaskState.SKIPPED
    assert made.tasks["b"].cause == "a"
    assert made.head.state is ConstellationState.FAILED


def test_an_edit_within_what_was_approved_gives_the_dependent_another_way() -> None:
    driver, made = failed()
    claim(driver)
    again = AddTask(spec=task("again"))
    answer = propose(
        driver,
        again,
        AddDependency(dependency=edge("again>b")),
        RemoveDependency(id="a>b:success"),
        reason="another way",
    )
    assert not answer.faults, answer.faults
    assert made.tasks["b"].state is TaskState.WAITING
    (dispatch,) = driver.take()
    assert dispatch.at.task == "again"
    driver.result(dispatch, 1)
    (dispatch,) = driver.take()
    assert dispatch.at.task == "b"
    assert made.versions["2"].author == "model"


@pytest.mark.parametrize(
    "operation",
    [
        AddTask(spec=task("more", tool="t.never")),
        AddTask(spec=task("more", device="two")),
        AddTask(spec=task("more", tool="t.nobody")),
        AddTask(spec=task("more", "x=a", device="two")),
        SetPolicy(policy=Policy(review="never")),
    ],
)
def test_a_wider_edit_is_refused_and_changes_nothing(operation: EditOperation) -> None:
    driver = Driver("one", "two")
    pinned = Selector(name="one")
    made: Any = driver.submit(plan(task("a", device=pinned), task("b", device=pinned), edge("a>b"), policy=ON_FAILURE))
    fail(driver)
    claim(driver)
    answer = propose(driver, operation)
    assert {fault.code for fault in answer.faults} == {Code.NEEDS_APPROVAL}
    assert "more" not in made.tasks
    assert made.head.version == 1
    assert made.tasks["b"].review == "review-1"


def test_a_review_does_the_work_anew_and_what_waits_reads_from_it() -> None:
    driver, made = failed()
    claim(driver)
    again = AddTask(spec=task("a-2"))
    assert not propose(driver, again, Supersede(by="a-2", task="a"), reason="other headers").faults
    assert driver.run() == "succeeded"
    assert made.tasks["a"].state is TaskState.FAILED
    assert made.versions["2"].author == "model"
    assert "a failed; a-2 did its work." in made.tables["answer"][""].sentence


LOCAL = Selector(name="one")


@pytest.mark.parametrize(
    ("operations", "why"),
    [
        ([Supersede(by="done", task="a")], "was there before"),
        ([AddTask(spec=task("n", tool="t.pure", device=LOCAL)), Supersede(by="n", task="w")], "is other work"),
        ([AddTask(spec=task("n", tool="t.idem")), Supersede(by="n", task="w")], "change another device"),
        ([AddTask(spec=task("n", device=LOCAL)), Supersede(by="n", task="stopped")], "stopped by a decision"),
        (
            [AddTask(spec=task("n", for_each=ForEach(devices=Selector(any=[LOCAL])))), Supersede(by="n", task="g")],
            "for other items",
        ),
    ],
)
def test_a_review_calls_nothing_done_that_might_not_be(operations: list[EditOperation], why: str) -> None:
    driver = Driver("one", "two", slots=9)
    both = Selector(any=[LOCAL, Selector(name="two")])
    made: Any = driver.submit(
        plan(
            task("done", device=LOCAL),
            task("a", device=LOCAL),
            task("w", tool="t.idem", device=LOCAL),
            task("other", tool="t.idem", device=Selector(name="two")),
            task("stopped", device=LOCAL),
            task("g", for_each=ForEach(devices=both)),
            task("last", person="Go on?"),
            policy=ON_FAILURE,
        ),
        plan_hash="h",
    )
    driver.control("cancel", "stopped")
    for dispatch in driver.take():
        if dispatch.at.task in ("done", "other"):
            driver.result(dispatch, 1)
        elif dispatch.at.task == "stopped":
            driver.receipt(dispatch)
        else:
            driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    claim(driver)
    answer = propose(driver, *operations)
    assert {fault.code for fault in answer.faults} == {Code.NEEDS_APPROVAL}
    assert any(why in fault.reason for fault in answer.faults), answer.faults
    assert made.head.version == 1 or "n" not in made.specs
    propose(driver, *operations, ask=True, reason="it was done")
    (question,) = (q for q in made.questions.values() if q.kind == "review")
    driver.answer_question(question.id, "allow")
    assert made.specs[operations[-1].task].superseded_by == operations[-1].by  # type: ignore[union-attr]


def test_what_the_model_may_not_do_is_told_to_a_person() -> None:
    driver, _made = failed()
    claim(driver)
    propose(driver, wish="use the server as well", reason="no change")
    assert any(event.kind == "attention_raised" and "server" in event.note for event in driver.events)


@pytest.mark.parametrize("claimed", [False, True])
def test_a_review_that_nobody_ends_lets_go_by_itself(claimed: bool) -> None:
    driver, made = failed()
    if claimed:
        claim(driver)
        driver.fire(next(timer for timer in driver.timers if timer.kind == review.UNCLAIMED))
        assert made.tasks["b"].review == "review-1"
    driver.fire(due(driver, review.OVER if claimed else review.UNCLAIMED))
    assert made.tasks["b"].state is TaskState.SKIPPED
    assert made.head.state is ConstellationState.FAILED
    assert not propose(driver).value["accepted"]


def test_a_success_is_reviewed_only_where_the_policy_says_always() -> None:
    driver = Driver("one")
    made: Any = driver.submit(chain(ALWAYS))
    (dispatch,) = driver.take()
    driver.result(dispatch, 1)
    assert not driver.take()
    assert made.tasks["b"].reason is Reason.REVIEW
    claim(driver)
    propose(driver)
    assert [dispatch.at.task for dispatch in driver.take()] == ["b"]


def test_the_outcome_waits_for_the_review_of_the_last_result() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), policy=ALWAYS))
    (dispatch,) = driver.take()
    driver.result(dispatch, 1)
    assert state_of(driver)[0] is ConstellationState.ACTIVE
    driver.fire(due(driver, review.UNCLAIMED))
    assert state_of(driver)[0] is ConstellationState.SUCCEEDED


def test_results_that_end_meanwhile_join_the_review_that_nobody_claimed_and_else_the_next() -> None:
    driver = Driver("one")
    made: Any = driver.submit(plan(task("a"), task("b"), task("x"), task("z"), edge("a>z"), edge("b>z"), policy=ALWAYS))
    first, second, third = driver.take()
    driver.result(first, 1)
    driver.result(second, 1)
    assert made.jobs["review-1"].tasks == ["a/1", "b/1"]
    claim(driver)
    driver.result(third, 1)
    assert made.jobs["review-2"].tasks == ["x/1"]


def test_a_persons_hold_and_a_review_do_not_undo_each_other() -> None:
    driver = Driver("one")
    driver.submit(chain(ALWAYS))
    driver.control("hold", "b")
    (dispatch,) = driver.take()
    driver.result(dispatch, 1)
    driver.control("release", "b")
    assert state_of(driver, "b")[1] is Reason.REVIEW
    driver.control("hold", "b")
    driver.fire(due(driver, review.UNCLAIMED))
    assert state_of(driver, "b")[1] is Reason.HELD
    driver.control("release", "b")
    assert [dispatch.at.task for dispatch in driver.take()] == ["b"]


def test_a_cancel_does_not_wait_for_a_review() -> None:
    driver, made = failed()
    driver.control("cancel")
    assert made.head.state is ConstellationState.CANCELLED
    assert not list(review.open_jobs(made))


def test_one_task_is_held_at_most_twice_in_a_row() -> None:
    driver = Driver("one")
    parts = [task(name) for name in ("a", "b", "c")]
    made: Any = driver.submit(
        plan(*parts, task("z"), *(edge(f"{name}>z", Gate.FINISH) for name in "abc"), policy=ALWAYS)
    )
    for number, dispatch in enumerate(driver.take(), 1):
        driver.result(dispatch, 1)
        if made.jobs.get(f"review-{number}") and made.jobs[f"review-{number}"].state != "done":
            driver.fire(due(driver, review.UNCLAIMED))
    assert made.tasks["z"].reviews == review.HOLDS_IN_A_ROW
    assert made.tasks["z"].state is TaskState.LEASED


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_happens_a_review_closes_and_the_constellation_ends(data: st.DataObject) -> None:
    """Results, claims, edits, holds and timers in any order; invariants are checked after each step by the driver."""
    driver = Driver("one")
    names = "abcd"
    edges = [
        edge(f"{first}>{second}", data.draw(st.sampled_from([Gate.SUCCESS, Gate.FINISH, Gate.FAILURE])))
        for first in names
        for second in names
        if first < second and data.draw(st.booleans())
    ]
    policy = data.draw(st.sampled_from([ALWAYS, ON_FAILURE]))
    made: Any = driver.submit(plan(*(task(name) for name in names), *edges, policy=policy))
    open_now: list[Any] = []
    for _ in range(data.draw(st.integers(5, 25))):
        open_now += driver.take()
        jobs = list(review.open_jobs(made))
        action = data.draw(st.sampled_from(["end", "claim", "close", "widen", "time", "hold", "release"]))
        if action == "end" and open_now:
            dispatch = open_now.pop(data.draw(st.integers(0, len(open_now) - 1)))
            if data.draw(st.booleans()):
                driver.result(dispatch, 1)
            else:
                driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
        elif action == "claim" and jobs:
            claim(driver, jobs[0].id)
        elif action == "close" and jobs:
            propose(driver, job=jobs[0].id)
        elif action == "widen" and jobs:
            before = made.head.version
            assert propose(driver, AddTask(spec=task("evil", tool="t.never")), job=jobs[0].id).faults
            assert made.head.version == before
        elif action == "time" and jobs:
            driver.fire(due(driver, review.OVER))
        elif action in ("hold", "release"):
            driver.control(action, data.draw(st.sampled_from(names)))
    for name in names:
        driver.control("release", name)
    for _ in range(60):
        open_now += driver.take()
        if open_now:
            driver.result(open_now.pop(), 1)
        elif any(review.open_jobs(made)):
            driver.fire(due(driver, review.OVER))
    assert made.head.state in (ConstellationState.SUCCEEDED, ConstellationState.FAILED)
    assert not list(review.open_jobs(made))
    assert all(record.review is None for record in made.tasks.values())
    assert Attention.REVIEW_WISHES not in made.head.attention


def items(count: int, **fields: Any) -> Any:
    """A group over a list of `count` items, and `table`, which reads from it."""
    return plan(
        task("list"),
        task("sum", "x=list", for_each=ForEach(source="list", output="/l")),
        task("table", "rows=sum"),
        policy=fields.pop("policy", ON_FAILURE),
        **fields,
    )


def in_group(count: int, messages: list[str], **fields: Any) -> tuple[Driver, Any, list[Any]]:
    driver = Driver("one", slots=9)
    made: Any = driver.submit(items(count, **fields))
    (dispatch,) = driver.take()
    driver.result(dispatch, {"l": list(range(count))})
    dispatches = driver.take()
    for dispatch, said in zip(dispatches, messages, strict=False):
        driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail=said)
    return driver, made, dispatches[len(messages) :]


def test_like_failures_of_a_group_are_one_review_that_names_group_items_and_cause() -> None:
    driver, made, rest = in_group(5, ["no column 3 in /a/b.csv"])
    claim(driver)
    for dispatch, said in zip(rest, ["no column 11 in /c.csv", "no column 4 in d.csv", "disk full"], strict=False):
        driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail=said)
    assert made.jobs["review-1"].tasks == ["sum.0/1", "sum.1/1", "sum.2/1"]
    assert made.jobs["review-1"].causes == ["sum/1 tool_failed: no column # in <file>"]
    assert made.jobs["review-2"].causes == ["sum/1 tool_failed: disk full"]


def test_a_group_is_reviewed_for_one_cause_once() -> None:
    driver, made, rest = in_group(3, ["KeyError: 'region'"])
    claim(driver)
    propose(driver)
    for dispatch in rest:
        driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="KeyError: 'region'")
    assert list(made.jobs) == ["review-1"]


def test_what_waits_for_a_group_is_held_while_one_of_its_items_is_reviewed() -> None:
    driver, made, rest = in_group(2, ["KeyError: 'region'"])
    driver.result(rest[0], 1)
    assert driver.states()["sum"] == "failed"
    assert (made.tasks["table"].state, made.tasks["table"].review) == (TaskState.WAITING, "review-1")
    driver.fire(due(driver, review.UNCLAIMED))
    assert made.tasks["table"].state is TaskState.SKIPPED


def test_thousands_of_like_failures_make_no_event_that_long() -> None:
    driver, made, _rest = in_group(review.ITEMS_NAMED_MOST + 9, ["x"] * 9)
    for _ in range(review.ITEMS_NAMED_MOST + 9):
        for dispatch in driver.take():
            driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="x")
    assert len(made.jobs["review-1"].tasks) == review.ITEMS_NAMED_MOST
    assert list(made.jobs) == ["review-1"]


AT_A = Policy(review_at=["a"])


@pytest.mark.parametrize("outcome", [Outcome.OK, Outcome.ERROR])
def test_a_point_is_reviewed_whatever_it_gave(outcome: Outcome) -> None:
    driver = Driver("one")
    made: Any = driver.submit(chain(AT_A))
    (dispatch,) = driver.take()
    driver.result(dispatch, 1, outcome=outcome, code=None if outcome is Outcome.OK else Code.TOOL_FAILED)
    assert made.jobs["review-1"].tasks == ["a/1"]
    assert made.tasks["b"].review == "review-1"
    driver.fire(due(driver, review.UNCLAIMED))
    assert driver.run() == ("succeeded" if outcome is Outcome.OK else "failed")
    assert list(made.jobs) == ["review-1"]


def test_a_point_that_was_skipped_or_cancelled_has_ended_too() -> None:
    driver = Driver("one")
    made: Any = driver.submit(chain(Policy(review_at=["b", "c"])))
    fail(driver)
    assert made.jobs["review-1"].tasks == ["b/1"]
    assert made.tasks["c"].review == "review-1"
    driver.fire(due(driver, review.UNCLAIMED))
    assert made.jobs["review-2"].tasks == ["c/1"]
    driver.fire(due(driver, review.UNCLAIMED))
    assert state_of(driver)[0] is ConstellationState.FAILED


def test_a_point_may_be_a_group_and_the_last_of_a_plan() -> None:
    driver, made, _rest = in_group(0, [], policy=Policy(review_at=["sum", "table"]))
    assert made.jobs["review-1"].tasks == ["sum/1"]
    driver.fire(due(driver, review.UNCLAIMED))
    driver.run()
    assert made.jobs["review-2"].tasks == ["table/1"]
    assert state_of(driver)[0] is ConstellationState.ACTIVE
    driver.fire(due(driver, review.UNCLAIMED))
    assert state_of(driver)[0] is ConstellationState.SUCCEEDED


def test_an_edit_of_the_policy_names_points_that_exist() -> None:
    driver = Driver("one")
    made: Any = driver.submit(chain(Policy()))
    answer = driver.edit(SetPolicy(policy=Policy(review_at=["b", "gone"])), base=1)
    assert [(fault.code, fault.place) for fault in answer.faults] == [
        (Code.UNKNOWN_TASK, "operations[0].set_policy.review_at[1]")
    ]
    assert made.head.version == 1


def by_model(*parts: Any, policy: Policy = ON_FAILURE) -> tuple[Driver, Any]:
    """A plan that a model wrote for words, and that was allowed."""
    driver = Driver("one", slots=9)
    driver.do(i.RequestReceived(id=driver.ident(), by="person:ann", constellation="c1", request="words"))
    claim(driver, "plan-1")
    run = driver.shard.constellations["c1"]
    answer = driver.do(
        i.PlanProposed(
            id=driver.ident(),
            by="worker:w",
            by_model=True,
            constellation="c1",
            job="plan-1",
            plan=plan(*parts, policy=policy),
            worker="w",
        )
    )
    assert not answer.faults
    return driver, run


@pytest.mark.parametrize("partial", [False, True])
def test_a_review_gives_up_what_a_model_planned(partial: bool) -> None:
    policy = Policy(review="on_failure", partial=partial)
    driver, made = by_model(task("a"), task("b", "x=a"), task("c"), task("d"), policy=policy)
    first, second, third = driver.take()
    driver.result(second, 1)
    driver.result(first, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    claim(driver)
    assert propose(driver, give_up=True, reason="the files hold no sales at all").value == {"accepted": True}
    driver.receipt(third)
    assert state_of(driver)[0] is (ConstellationState.PARTIAL if partial else ConstellationState.FAILED)
    sentence = made.tables["answer"][""].sentence
    assert "The model gave it up: the files hold no sales at all." in sentence
    assert not list(review.open_jobs(made))
    driver.control("retry", "a")
    assert driver.run() in ("failed", "succeeded", "partial")
    assert not made.head.given_up
    driver.folded_equals_state()


def test_a_review_makes_no_outcome_better_by_giving_up() -> None:
    driver, made = by_model(task("a"), policy=Policy(review_at=["a"]))
    (dispatch,) = driver.take()
    driver.result(dispatch, 1)
    claim(driver)
    propose(driver, give_up=True, reason="the table is empty")
    assert made.head.state is ConstellationState.FAILED


@pytest.mark.parametrize("edited", [False, True])
def test_a_review_stops_nothing_that_a_person_wrote(edited: bool) -> None:
    if edited:
        driver, made = by_model(task("a"), task("b", "x=a"))
        driver.edit(AddTask(spec=task("more")), base=1)
        dispatch = next(item for item in driver.take() if item.at.task == "a")
        driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    else:
        driver, made = failed()
    claim(driver)
    propose(driver, give_up=True, reason="no use")
    assert made.head.state is not ConstellationState.CANCELLING
    assert not made.head.given_up
    assert any(event.kind == "attention_raised" and "would give up: no use" in event.note for event in driver.events)
