"""Looks of a reviewer: tasks of the same constellation that only read, within the bounded hold of the review."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.clock.timers import due_moments
from starloom.core.people.inquiries import ROUND_S, ROUNDS_MOST, TIMER
from starloom.core.plan import review
from starloom.core.state import inputs as i
from starloom.core.state.orders import Answer, StartJob
from starloom_protocol.records.edits import AddTask, Supersede
from starloom_protocol.records.entities import Input, Policy, Read
from starloom_protocol.vocabulary import Code, ConstellationState, Outcome, Sharing, TaskState
from tests.builders import Driver, edge, plan, task

LOOK = "review-1-look-1-1"
POLICY = Policy(review="on_failure")


class Reviewed(Driver):
    """A plan whose first task has failed, and a reviewer that looks."""

    def __init__(self, *more: Any, **fields: Any) -> None:
        super().__init__("one", "two")
        self.made: Any = self.submit(plan(task("a"), task("b"), edge("a>b"), *more, policy=POLICY), **fields)
        failed = next(dispatch for dispatch in self.take() if dispatch.at.task == "a")
        self.result(failed, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)

    def claim(self, worker: str = "w") -> Answer:
        return self.claim_job("review-1", worker=worker)

    def look(self, *calls: tuple[str, str], reads: list[Read] | None = None) -> Answer:
        self.claim()
        return self.do(
            i.LooksProposed(
                by="worker:w",
                calls=[i.LookCall(device=device, tool=tool) for device, tool in calls],
                constellation="c1",
                id=self.ident(),
                job="review-1",
                reads=reads or [],
                why="the file may say it",
                worker="w",
            )
        )

    def propose(self, *operations: Any) -> Answer:
        self.claim()
        return self.do(
            i.ReviewProposed(
                base_version=self.made.head.version,
                by="worker:w",
                constellation="c1",
                id=self.ident(),
                job="review-1",
                operations=list(operations),
                worker="w",
            )
        )

    @property
    def job(self) -> Any:
        return self.made.jobs["review-1"]

    def due(self, kind: str) -> Any:
        return next(timer for timer in due_moments(self.shard) if timer.kind == kind)


def test_a_review_looks_goes_on_and_mends() -> None:
    driver = Reviewed()
    assert not driver.look(("one", "t.pure")).faults
    (work,) = driver.take()
    assert work.at.task == LOOK
    assert driver.job.state == review.LOOKING
    assert driver.made.tasks["b"].review == "review-1"
    assert driver.claim("other").faults, "no worker takes a review whose looks run"
    driver.result(work, {"text": "it is in the archive"})
    assert [effect.job for effect in driver.sent if isinstance(effect, StartJob)] == ["review-1"]
    assert not driver.claim("other").faults
    driver.do(i.JobClaimed(by="w", constellation="c1", id="x", job="review-1", ttl_ms=1, worker="other"))
    driver.now_ms += 20_000
    assert not driver.propose(AddTask(spec=task("a-2")), Supersede(by="a-2", task="a")).faults
    assert driver.run() == ConstellationState.SUCCEEDED
    assert "2 tasks" in driver.made.tables["answer"][""].sentence


def test_a_failed_look_opens_no_review_and_counts_in_no_outcome() -> None:
    driver = Reviewed()
    driver.look(("one", "t.pure"))
    (work,) = driver.take()
    driver.result(work, outcome=Outcome.ERROR, code=Code.NOT_FOUND, detail="no such file")
    assert [job.id for job in driver.made.jobs.values()] == ["review-1"]
    assert driver.job.state == "open"
    driver.propose()
    assert driver.made.head.state is ConstellationState.FAILED
    assert list(driver.made.progress.failed) == ["a"]


@pytest.mark.parametrize(("tool", "code"), [("t.never", Code.FORBIDDEN), ("t.idem", Code.FORBIDDEN)])
def test_a_look_of_a_reviewer_only_reads(tool: str, code: Code) -> None:
    driver = Reviewed()
    refused = driver.look(("one", "t.pure"), ("one", tool))
    assert [fault.code for fault in refused.faults] == [code]
    assert driver.job.state == "claimed"
    assert LOOK not in driver.made.specs


def test_the_rounds_of_a_review_are_limited_and_its_hold_with_them() -> None:
    driver = Reviewed()
    began = driver.now_ms
    for _ in range(ROUNDS_MOST):
        driver.now_ms = driver.due(review.OVER).due_ms - 1
        assert not driver.look(("one", "t.pure")).faults
        (work,) = driver.take()
        driver.now_ms = driver.due(TIMER).due_ms - 1
        driver.result(work, 1)
    assert [fault.place for fault in driver.look(("one", "t.pure")).faults] == ["kind"]
    assert driver.due(review.OVER).due_ms - began <= review.HOLD_MS * 7
    driver.fire(driver.due(review.OVER))
    assert driver.made.tasks["b"].state is TaskState.SKIPPED


def test_a_device_that_does_not_answer_holds_a_review_for_one_round() -> None:
    driver = Reviewed()
    driver.do(i.DeviceDisconnected(id="x", by="device:d-two", device="d-two", reason="gone", session=1))
    driver.look(("two", "t.pure"))
    first = next(timer for timer in driver.timers if timer.kind == review.OVER)
    over = driver.due(TIMER)
    assert over.due_ms == driver.job.looks[-1].at_ms + ROUND_S * 1000
    driver.now_ms = first.due_ms
    driver.fire(first)
    assert driver.job.state == review.LOOKING, "the first hold is prolonged"
    driver.fire(over)
    assert driver.made.tasks[LOOK].state is TaskState.CANCELLED
    assert driver.job.state == "open"


def test_a_resumed_review_that_no_worker_takes_ends() -> None:
    driver = Reviewed()
    driver.look(("one", "t.pure"))
    (work,) = driver.take()
    driver.result(work, 1)
    assert driver.due(review.UNCLAIMED).due_ms == driver.now_ms + review.UNCLAIMED_MS
    driver.fire(driver.due(review.UNCLAIMED))
    assert driver.made.head.state is ConstellationState.FAILED


def test_reading_alone_resumes_at_once() -> None:
    driver = Reviewed()
    driver.look(("one", "t.pure"))
    (work,) = driver.take()
    driver.result(work, {"text": "long"})
    assert not driver.look(reads=[Read(task=LOOK, pointer="/text", offset=1)]).faults
    assert driver.job.state == "open"
    assert len(driver.job.looks) == 2
    refused = driver.look(reads=[Read(task="a", pointer="")])
    assert [fault.place for fault in refused.faults] == ["calls[0].read.task"]


def test_the_same_round_is_not_opened_twice() -> None:
    driver = Reviewed()
    driver.look(("one", "t.pure"))
    again = driver.look(("one", "t.pure"))
    assert again.value == {"accepted": False}
    assert len(driver.job.looks) == 1


def test_a_plan_may_have_a_task_with_the_name_of_a_look() -> None:
    driver = Reviewed(task(LOOK))
    assert not driver.look(("one", "t.pure")).faults
    assert driver.job.looks[0].tasks == ["review-1-look-1x-1"]


def test_nobody_looks_where_the_person_shares_no_values() -> None:
    driver = Reviewed(sharing=Sharing.NAMES)
    assert [fault.code for fault in driver.look(("one", "t.pure")).faults] == [Code.FORBIDDEN]


def test_a_cancel_ends_a_review_that_looks() -> None:
    driver = Reviewed()
    driver.look(("one", "t.pure"))
    (work,) = driver.take()
    driver.control("cancel")
    driver.receipt(work)
    assert driver.made.head.state is ConstellationState.CANCELLED
    assert driver.job.state == "done"


def test_values_of_a_look_reach_no_other_device_without_a_person() -> None:
    driver = Reviewed(task("on-one", device="one"))
    driver.look(("two", "t.pure"))
    looked = next(dispatch for dispatch in driver.take() if dispatch.at.task == LOOK)
    driver.result(looked, {"text": "secret of two"})
    taken = task("taken", device="one")
    taken.inputs.append(Input(name="x", source=LOOK))
    refused = driver.propose(AddTask(spec=taken))
    assert {fault.code for fault in refused.faults} <= {Code.NEEDS_APPROVAL, Code.FORBIDDEN, Code.UNKNOWN_TASK}
    assert refused.faults
