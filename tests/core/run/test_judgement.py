"""Judgements: nothing that has a judge succeeds without its yes; the driver checks I17 after every step."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from starloom.core.clock.timers import due_moments
from starloom.core.run import judgement
from starloom.core.state import inputs as i
from starloom.core.state.orders import Answer, StartJob
from starloom_protocol.records.edits import AddTask, RemoveTask, SetPolicy, Supersede, UpdateTask
from starloom_protocol.records.entities import Cite, Judge, Policy, Retry
from starloom_protocol.records.specs import Check
from starloom_protocol.vocabulary import Attention, Code, ConstellationState, Op, Outcome, Reason, TaskState
from tests.builders import Driver, edge, plan, task

SHOWN = Judge(question="Does the evidence show the cause?")
STRICT = Judge(question="Does the evidence show the cause?", unclear="fail")
PERSON_READS = [Check(op=Op.NOT_EMPTY, output="/cause")]


class Judged(Driver):
    """A plan whose task `a` has a judge, and a worker that gives verdicts."""

    def __init__(self, judge: Judge | None = SHOWN, whole: Judge | None = None, **fields: Any) -> None:
        super().__init__("one", "two")
        policy = Policy(judge=whole, partial=fields.pop("partial", False), review=fields.pop("review", "never"))
        asked: dict[str, Any] = {"judge": judge} if judge is not None else {}
        self.made: Any = self.submit(
            plan(task("a", **asked, **fields), task("b"), edge("a>b"), policy=policy, name="Cause")
        )

    def end(self, value: Any = None) -> None:
        (work,) = self.take()
        self.result(work, value or {"cause": "the disk is full"})

    @property
    def job(self) -> Any:
        return [job for job in self.made.jobs.values() if job.kind == judgement.KIND][-1]

    def verdict(self, holds: str, because: str = "the log says it", job: str = "", cites: Any = None) -> Answer:
        name = job or self.job.id
        self.claim_job(name)
        found = [Cite(task="a")] if holds == "yes" and cites is None else cites or []
        return self.do(
            i.VerdictGiven(
                because=because,
                by="worker:w",
                cites=found,
                constellation="c1",
                holds=holds,
                id=self.ident(),
                job=name,
                worker="w",
            )
        )

    def say(self, value: str, reason: str = "") -> Answer:
        (question,) = self.made.open_questions
        return self.answer_question(question, value, reason=reason)

    def over(self) -> Any:
        return next(timer for timer in due_moments(self.shard) if timer.kind == judgement.TIMER)

    @property
    def a(self) -> Any:
        return self.made.tasks["a"]


def test_a_judged_task_is_not_done_before_its_yes() -> None:
    driver = Judged()
    driver.end()
    assert (driver.a.state, driver.a.reason) == (TaskState.READY, Reason.JUDGE)
    assert driver.made.tasks["b"].state is TaskState.WAITING
    assert not driver.take(), "its device has no more to do"
    assert [effect.kind for effect in driver.sent if isinstance(effect, StartJob)] == ["judge"]
    assert not driver.verdict("yes").faults
    assert (driver.a.state, driver.a.judged) == (TaskState.SUCCEEDED, 1)
    assert driver.run() == ConstellationState.SUCCEEDED
    driver.folded_equals_state()


def test_no_is_a_failed_check_with_the_words_of_the_judge() -> None:
    driver = Judged(partial=True)
    driver.end()
    driver.verdict("no", "the disk has 40 GB left")
    assert (driver.a.state, driver.a.code) == (TaskState.FAILED, Code.CHECK_FAILED)
    attempt = driver.made.attempts["a/1"]
    assert "The judge says no" in attempt.detail
    assert "40 GB left" in attempt.detail
    assert attempt.value is not None
    assert driver.made.tasks["b"].state is TaskState.SKIPPED
    assert driver.made.head.state is ConstellationState.FAILED


def test_the_checks_by_code_come_first() -> None:
    driver = Judged(checks=PERSON_READS)
    driver.end({"cause": ""})
    assert driver.a.code is Code.CHECK_FAILED
    assert not driver.made.jobs, "no judge is asked about what code has refused"


def test_a_retry_on_check_is_judged_again_and_twice_at_most() -> None:
    driver = Judged(retry=Retry(max_attempts=5, on_check=True))
    for _ in range(judgement.ROUNDS_MOST):
        assert driver.a.state is TaskState.READY or driver.dispatched
        driver.end()
        driver.verdict("no")
        for timer in [timer for timer in driver.timers if timer.kind == "backoff"]:
            driver.fire(timer)
    assert driver.a.state is TaskState.FAILED
    assert driver.a.attempt == judgement.ROUNDS_MOST


def test_a_no_opens_a_review_and_a_successor_needs_the_same_judge() -> None:
    driver = Judged(review="on_failure")
    driver.end()
    driver.verdict("no")
    assert driver.made.tasks["b"].review == "review-1"
    new = task("a-2")
    refused = propose(driver, AddTask(spec=new), Supersede(by="a-2", task="a"))
    assert "is not judged by" in refused.faults[0].reason
    judged = task("a-2", judge=SHOWN)
    assert not propose(driver, AddTask(spec=judged), Supersede(by="a-2", task="a")).faults
    driver.end()
    assert driver.made.tasks["a-2"].reason is Reason.JUDGE
    driver.verdict("yes", cites=[Cite(task="a-2")])
    assert driver.run() == ConstellationState.SUCCEEDED


def propose(driver: Judged, *operations: Any) -> Answer:
    claimed = i.JobClaimed(
        by="worker:w", constellation="c1", id=driver.ident(), job="review-1", ttl_ms=15_000, worker="w"
    )
    driver.do(claimed)
    version = driver.made.head.version
    return driver.do(
        i.ReviewProposed(
            base_version=version,
            by="worker:w",
            constellation="c1",
            id=driver.ident(),
            job="review-1",
            operations=list(operations),
            worker="w",
        )
    )


@pytest.mark.parametrize(("said", "state"), [("yes", "succeeded"), ("no", "failed")])
def test_an_unclear_verdict_is_put_to_a_person(said: str, state: str) -> None:
    driver = Judged()
    driver.end()
    driver.verdict("unclear", "the log is cut off")
    (question,) = driver.made.open_questions
    assert "the log is cut off" in driver.made.questions[question].text
    assert driver.a.reason is Reason.PERSON
    assert Attention.QUESTION_OPEN in driver.made.head.attention
    assert driver.say("perhaps").faults
    assert not driver.say(said, "I have looked").faults
    assert str(driver.a.state) == state
    assert Attention.QUESTION_OPEN not in driver.made.head.attention
    assert driver.job.verdict.by == "person:ann"


def test_an_unclear_verdict_counts_as_no_where_the_plan_says_so() -> None:
    driver = Judged(STRICT)
    driver.end()
    driver.verdict("unclear")
    assert driver.a.code is Code.CHECK_FAILED
    assert "no clear verdict" in driver.made.attempts["a/1"].detail


@pytest.mark.parametrize("how", ["late", "no model"])
def test_no_verdict_is_never_a_yes(how: str) -> None:
    driver = Judged(STRICT)
    driver.end()
    if how == "late":
        driver.fire(driver.over())
    else:
        driver.verdict("", "no model is set")
    assert driver.a.state is TaskState.FAILED
    assert driver.verdict("yes", job="judge-1").value == {"accepted": False}
    assert driver.a.state is TaskState.FAILED


@pytest.mark.parametrize(
    ("holds", "because", "cites", "code"),
    [
        ("yes", "x", [], Code.MODEL_ANSWER),
        ("certainly", "x", None, Code.BAD_REQUEST),
        ("no", "x" * 501, None, Code.TOO_LARGE),
        ("yes", "x", [Cite(task="z")], Code.NOT_FOUND),
    ],
)
def test_a_verdict_without_its_form_is_refused_whole(holds: str, because: str, cites: Any, code: Code) -> None:
    driver = Judged()
    driver.end()
    assert [fault.code for fault in driver.verdict(holds, because, cites=cites or []).faults] == [code]
    assert driver.a.reason is Reason.JUDGE


def test_a_verdict_on_an_older_attempt_has_no_consequence() -> None:
    driver = Judged()
    driver.end()
    driver.control("skip", "a")
    assert driver.verdict("yes").value == {"accepted": False}
    assert driver.a.state is TaskState.SKIPPED


def test_a_verdict_on_an_older_round_does_not_decide_on_a_newer_one() -> None:
    driver = Judged()
    assert not driver.edit(AddTask(spec=task("other"))).faults
    first = next(work for work in driver.take() if work.at.task == "a")
    driver.result(first, {"cause": "a guess"})
    older = driver.job.id
    assert not driver.control("skip", "a").faults
    assert not driver.control("retry", "a").faults
    driver.end()
    assert driver.job.id != older
    assert driver.verdict("yes", job=older).value == {"accepted": True}
    assert (driver.a.state, driver.a.reason) == (TaskState.READY, Reason.JUDGE)
    driver.verdict("no")
    assert driver.a.state is TaskState.FAILED


def test_a_person_may_cancel_while_a_judge_is_asked() -> None:
    driver = Judged()
    driver.end()
    driver.control("cancel")
    assert driver.made.head.state is ConstellationState.CANCELLED
    assert driver.job.state == "done"


def test_a_result_that_comes_after_a_cancel_is_not_done() -> None:
    driver = Judged()
    (work,) = driver.take()
    driver.started(work)
    driver.control("cancel", "a")
    driver.result(work, {"cause": "x"})
    assert driver.a.state is TaskState.CANCELLED


def test_the_whole_answer_waits_for_its_judge() -> None:
    driver = Judged(None, whole=SHOWN)
    driver.run()
    assert driver.state() == "active"
    assert driver.job.tasks[0].startswith("whole ")
    driver.verdict("yes", "both results say it")
    assert driver.state() == "succeeded"
    answer = driver.made.tables["answer"][""]
    assert (answer.verdict.holds, answer.verdict.by) == ("yes", "model")
    assert "The judge says yes to" in answer.sentence


@pytest.mark.parametrize(("partial", "state"), [(False, "failed"), (True, "partial")])
def test_a_whole_that_its_judge_refuses_has_not_succeeded(partial: bool, state: str) -> None:
    driver = Judged(None, whole=SHOWN, partial=partial)
    driver.run()
    driver.verdict("no", "nothing names a cause")
    assert driver.state() == state
    assert "The judge says no to" in driver.made.tables["answer"][""].sentence


def test_a_person_decides_on_a_whole_that_is_unclear() -> None:
    driver = Judged(None, whole=SHOWN)
    driver.run()
    driver.verdict("unclear", "half is missing")
    assert driver.state() == "active"
    driver.say("yes", "the rest is not needed")
    assert driver.state() == "succeeded"
    assert "A person says yes to" in driver.made.tables["answer"][""].sentence


def test_a_whole_is_judged_again_when_a_task_ran_again() -> None:
    driver = Judged(None, whole=STRICT)
    driver.run()
    driver.verdict("no")
    driver.control("retry_from", "b")
    driver.run()
    driver.verdict("no")
    assert driver.state() == "failed"
    driver.control("retry_from", "b")
    driver.run()
    assert driver.state() == "failed", "a third judgement is not asked for"
    assert driver.job.verdict.by == "engine"


def test_a_failed_whole_asks_no_judge() -> None:
    driver = Judged(None, whole=SHOWN)
    (work,) = driver.take()
    driver.result(work, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    assert driver.state() == "failed"
    assert not driver.made.jobs


def test_nobody_sets_a_judge_aside_by_an_edit() -> None:
    driver = Judged(whole=SHOWN)
    version = driver.made.head.version
    edits: list[list[Any]] = [
        [SetPolicy(policy=Policy())],
        [UpdateTask(id="a", changes={"judge": msgspec.Raw(b"null")})],
    ]
    results = [driver.edit(*operations, base=version) for operations in edits]
    assert not results[0].faults
    assert results[1].faults
    assert driver.made.head.policy.judge == SHOWN
    assert driver.made.specs["a"].judge == SHOWN


def test_a_model_does_not_take_a_judged_task_away() -> None:
    driver = Driver("one")
    made: Any = driver.submit(
        plan(task("z"), task("a", judge=SHOWN), edge("z>a"), policy=Policy(review="on_failure")), plan_hash="h"
    )
    (work,) = driver.take()
    driver.result(work, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    claimed = i.JobClaimed(by="worker:w", constellation="c1", id="j", job="review-1", ttl_ms=15_000, worker="w")
    driver.do(claimed)
    refused = driver.do(
        i.ReviewProposed(
            base_version=1,
            by="worker:w",
            constellation="c1",
            id="p",
            job="review-1",
            operations=[RemoveTask(id="a"), AddTask(spec=task("a-free"))],
            worker="w",
        )
    )
    assert {fault.code for fault in refused.faults} == {Code.NEEDS_APPROVAL}
    assert "a" in made.specs


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_whatever_is_said_nothing_is_done_without_a_yes(data: st.DataObject) -> None:
    """Results, verdicts, answers, times, retries and controls in any order; I17 is checked after each step."""
    driver = Judged(
        data.draw(st.sampled_from([SHOWN, STRICT])),
        whole=data.draw(st.sampled_from([None, SHOWN, STRICT])),
        retry=Retry(max_attempts=3, on_check=data.draw(st.booleans())),
        review=data.draw(st.sampled_from(["never", "on_failure"])),
    )
    for _ in range(data.draw(st.integers(4, 25))):
        action = data.draw(
            st.sampled_from(
                ["end", "verdict", "answer", "late", "retry_from", "cancel", "skip", "hold", "release", "mark"]
            )
        )
        jobs = judgement.open_jobs(driver.made)
        if action == "end":
            for work in driver.take():
                driver.result(work, {"cause": "x"})
        elif action == "verdict" and jobs:
            holds = data.draw(st.sampled_from(["yes", "no", "unclear", ""]))
            driver.verdict(holds, job=data.draw(st.sampled_from(jobs)).id)
        elif action == "answer" and driver.made.open_questions:
            key = next(iter(driver.made.open_questions))
            driver.answer_question(key, data.draw(st.sampled_from(["yes", "no"])))
        elif action == "late":
            for timer in [*due_moments(driver.shard)]:
                driver.fire(timer)
        elif action == "mark":
            driver.control("mark", "a", state="failed")
        elif action in ("retry_from", "cancel", "skip", "hold", "release"):
            driver.control(action, "a")
        if driver.a.state is TaskState.SUCCEEDED:
            said = [job.verdict for job in driver.made.jobs.values() if job.tasks[0].startswith("a/")]
            assert any(verdict is not None and verdict.holds == "yes" for verdict in said)
    driver.folded_equals_state()


def test_a_judgement_of_the_whole_that_an_end_dropped_is_asked_again_after_a_retry() -> None:
    driver = Judged(SHOWN, whole=SHOWN, retry=Retry(max_attempts=3))
    for work in driver.take():
        driver.result(work, {"cause": "x"})
    driver.control("hold", "a")
    driver.control("skip", "a")
    driver.control("mark", "a", state="failed")
    assert driver.state() == "failed", "its judgement had no verdict yet"
    driver.control("retry_from", "a")
    driver.control("skip", "a")
    (again,) = judgement.open_jobs(driver.made)
    assert (driver.state(), again.id) == ("active", "judge-3")
    driver.folded_equals_state()


def review_of(driver: Judged) -> Any:
    return next(job for job in driver.made.jobs.values() if job.kind == "review")


def test_a_no_to_the_whole_is_reviewed_and_judged_again_after_a_change() -> None:
    driver = Judged(None, whole=SHOWN, review="on_failure")
    driver.run()
    driver.verdict("no", "the second disk is missing")
    assert driver.state() == "active"
    assert review_of(driver).tasks[1:] == ["b/1"], "the tasks of the answer are looked at"
    assert not propose(driver, AddTask(spec=task("more"))).faults
    assert driver.run() == "active"
    assert driver.job.id == "judge-2"
    driver.verdict("yes", cites=[Cite(task="more")])
    assert driver.state() == "succeeded"
    driver.folded_equals_state()


def test_a_second_no_to_the_whole_stands() -> None:
    driver = Judged(None, whole=SHOWN, review="on_failure")
    driver.run()
    driver.verdict("no")
    propose(driver, AddTask(spec=task("more")))
    driver.run()
    driver.verdict("no")
    assert driver.state() == "failed"
    assert [job.kind for job in driver.made.jobs.values()] == ["judge", "review", "judge"]


def test_a_review_of_the_whole_that_changes_nothing_ends_it() -> None:
    driver = Judged(None, whole=SHOWN, review="on_failure")
    driver.run()
    driver.verdict("no", "half is missing")
    propose(driver)
    assert driver.state() == "failed"
    assert "half is missing" in driver.made.tables["answer"][""].sentence


def test_a_look_of_the_review_has_nothing_judged_again() -> None:
    driver = Judged(None, whole=SHOWN, review="on_failure")
    driver.run()
    driver.verdict("no")
    claimed = i.JobClaimed(by="w", constellation="c1", id="c", job="review-1", ttl_ms=15_000, worker="w")
    assert not driver.do(claimed).faults
    look = i.LooksProposed(
        by="worker:w",
        calls=[i.LookCall(device="one", tool="t.pure")],
        constellation="c1",
        id=driver.ident(),
        job="review-1",
        worker="w",
    )
    assert not driver.do(look).faults
    driver.run()
    propose(driver)
    assert driver.state() == "failed"
    assert driver.job.id == "judge-1"


def test_a_review_of_the_whole_that_nobody_takes_ends_it() -> None:
    driver = Judged(None, whole=SHOWN, review="on_failure")
    driver.run()
    driver.verdict("no")
    driver.fire(next(timer for timer in due_moments(driver.shard) if timer.kind == "review_unclaimed"))
    assert driver.state() == "failed"


@pytest.mark.parametrize("holds", ["no", "unclear"])
def test_the_no_of_a_person_is_not_reviewed(holds: str) -> None:
    driver = Judged(None, whole=STRICT if holds == "unclear" else SHOWN, review="on_failure")
    driver.run()
    driver.verdict("unclear")
    if holds == "no":
        driver.say("no")
    assert driver.state() == "failed"
    assert not [job for job in driver.made.jobs.values() if job.kind == "review"]
