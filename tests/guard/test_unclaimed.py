"""Proposals of workers that have not the job: of nobody's job, of another's, and of one that went on without them."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.state import inputs as i
from starloom_protocol.plan import check_plan
from starloom_protocol.records.entities import Cite
from starloom_protocol.vocabulary import Code, Outcome
from tests.builders import Driver

Json = dict[str, Any]
TASK: Json = {"id": "a", "tool": "t.pure", "device": {"name": "one"}}
JOBS = {"plan": "plan-1", "look": "plan-1", "review": "review-1", "verdict": "judge-1", "words": "answer-1"}


def plan_of(**fields: Any) -> Any:
    check = check_plan({"starloom": 1, "name": "x", "tasks": [{**TASK, **fields.pop("task", {})}], **fields})
    assert check.plan is not None, check.faults
    return check.plan


def proposal(driver: Driver, kind: str, worker: str) -> Any:
    who: Json = {"by": f"worker:{worker}", "constellation": "c1", "job": JOBS[kind], "worker": worker}
    match kind:
        case "plan":
            return i.PlanProposed(
                by_model=True, id=driver.ident(), plan=plan_of(result=[{"title": "Seen", "from": "a"}]), **who
            )
        case "look":
            return i.LooksProposed(calls=[i.LookCall(device="one", tool="t.pure")], id=driver.ident(), why="x", **who)
        case "review":
            return i.ReviewProposed(base_version=1, id=driver.ident(), reason="no change", **who)
        case "verdict":
            return i.VerdictGiven(because="x", cites=[Cite(task="a")], holds="yes", id=driver.ident(), **who)
        case _:
            return i.AnswerWorded(cites=[Cite(task="a")], id=driver.ident(), words="It is done [1].", **who)


def claim(driver: Driver, kind: str, worker: str) -> None:
    item = i.JobClaimed(
        by=f"worker:{worker}", constellation="c1", id=driver.ident(), job=JOBS[kind], ttl_ms=15_000, worker=worker
    )
    assert not driver.do(item).faults


def waiting(kind: str) -> Driver:
    """Return a hub whose job of this kind waits for a worker."""
    driver = Driver("one")
    if kind in ("plan", "look", "words"):
        asked = i.RequestReceived(by="person:ann", constellation="c1", id=driver.ident(), request="look")
        assert not driver.do(asked).faults
    if kind == "words":
        claim(driver, "plan", "w")
        used = i.ModelUsed(by="worker:w", calls=1, constellation="c1", id=driver.ident(), job="plan-1", worker="w")
        assert not driver.do(used).faults
        assert not driver.do(proposal(driver, "plan", "w")).faults
    elif kind == "review":
        driver.submit(plan_of(policy={"review": "on_failure"}))
    elif kind == "verdict":
        driver.submit(plan_of(task={"judge": "Does it hold?"}))
    for dispatch in driver.take():
        if kind == "review":
            driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
        else:
            driver.result(dispatch, {"done": 1})
    assert JOBS[kind] in driver.shard.constellations["c1"].jobs
    return driver


def refused(driver: Driver, kind: str, worker: str) -> None:
    before = driver.shard.constellations["c1"].seq
    answer = driver.do(proposal(driver, kind, worker))
    assert [fault.code for fault in answer.faults] == [Code.CONFLICT]
    assert driver.shard.constellations["c1"].seq == before, "a refused proposal leaves no event"
    assert not driver.take()


@pytest.mark.parametrize("kind", JOBS)
def test_t115_nothing_is_taken_for_a_job_that_nobody_has(kind: str) -> None:
    driver = waiting(kind)
    refused(driver, kind, "stranger")
    claim(driver, kind, "w")
    refused(driver, kind, "stranger")
    driver.now_ms += 16_000
    claim(driver, kind, "second")
    refused(driver, kind, "w")


@pytest.mark.parametrize("kind", JOBS)
def test_t115_the_worker_that_has_the_job_is_heard_also_late(kind: str) -> None:
    """A claim that ran out and that nobody else took is still its worker's."""
    driver = waiting(kind)
    claim(driver, kind, "w")
    driver.now_ms += 16_000
    assert driver.do(proposal(driver, kind, "w")).value == {"accepted": True}


def test_t115_after_a_look_the_planning_is_claimed_anew() -> None:
    driver = waiting("look")
    claim(driver, "look", "w")
    assert driver.do(proposal(driver, "look", "w")).value == {"accepted": True}
    for dispatch in driver.take():
        driver.result(dispatch, {"seen": 1})
    again = i.PlanProposed(
        by="worker:w", by_model=True, constellation="c1", id="late", job="plan-2", plan=plan_of(), worker="w"
    )
    assert [fault.code for fault in driver.do(again).faults] == [Code.CONFLICT]
    assert not driver.shard.constellations["c1"].versions
