"""What a review of one branch costs an independent one, by the core's own timers; beside a hold of the whole graph.

The whole-graph hold is what stands in other systems: nothing new starts while the plan is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starloom.core.state import inputs as i
from starloom_protocol.records.entities import Policy
from starloom_protocol.vocabulary import Code, Gate, Outcome, TaskState
from tests.builders import Driver, edge, plan, task

TASK_S = 1
REVIEW_S = 10
LONG = 10


@dataclass(frozen=True)
class Cost:
    """Seconds until the independent branch had ended."""

    alone_s: float
    branch_s: float
    whole_s: float


def review_cost() -> Cost:
    """Measure in virtual time: a branch whose first task fails and is reviewed, and one of ten tasks beside it."""
    return Cost(
        alone_s=_ended_s(fails=False, whole=False),
        branch_s=_ended_s(fails=True, whole=False),
        whole_s=_ended_s(fails=True, whole=True),
    )


def _ended_s(*, fails: bool, whole: bool) -> float:
    """Return when the branch `b` ended. `whole`: what is ordered while a review is open waits for its end."""
    driver = Driver("one", "two")
    began_ms = driver.now_ms
    chain = [task(f"b{number}") for number in range(LONG)]
    order = [edge(f"b{number}>b{number + 1}") for number in range(LONG - 1)]
    driver.submit(
        plan(task("a0"), task("a1"), edge("a0>a1", Gate.FINISH), *chain, *order, policy=Policy(review="on_failure"))
    )
    found = driver.shard.constellations["c1"]
    due: list[tuple[int, Any]] = []
    waiting: list[Any] = []
    review_ends_ms = 0
    while found.tasks[f"b{LONG - 1}"].state is not TaskState.SUCCEEDED:
        waiting.extend(driver.take())
        is_open = any(job.kind == "review" and job.state != "done" for job in found.jobs.values())
        if not (whole and is_open):
            due.extend((driver.now_ms + TASK_S * 1000, dispatch) for dispatch in waiting)
            waiting.clear()
        if is_open and not review_ends_ms:
            review_ends_ms = driver.now_ms + REVIEW_S * 1000
            _claim(driver)
        due.sort(key=lambda one: one[0])
        if review_ends_ms and is_open and (not due or review_ends_ms <= due[0][0]):
            driver.now_ms = review_ends_ms
            _no_change(driver)
            continue
        driver.now_ms, dispatch = due.pop(0)
        if fails and dispatch.at.task == "a0":
            driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
        else:
            driver.result(dispatch)
    return (driver.now_ms - began_ms) / 1000


def _claim(driver: Driver) -> None:
    claim = i.JobClaimed(
        id=driver.ident(), by="worker:w", constellation="c1", job="review-1", ttl_ms=60_000, worker="w"
    )
    assert not driver.do(claim).faults


def _no_change(driver: Driver) -> None:
    done = i.ReviewProposed(
        id=driver.ident(),
        base_version=driver.shard.constellations["c1"].head.version,
        by="worker:w",
        constellation="c1",
        job="review-1",
        worker="w",
    )
    assert not driver.do(done).faults
