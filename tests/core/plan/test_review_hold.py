"""How long a review holds: at least 30 s, as long as its endpoint may take, and never longer than the bound."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.answer.why import explain
from starloom.core.plan import review
from starloom.core.state import inputs as i
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import TaskState
from tests.builders import Driver
from tests.core.plan.test_review import due, failed, propose


def claim(driver: Driver, takes_s: int, worker: str = "w") -> None:
    driver.claim_job("review-1", takes_ms=takes_s * 1000, worker=worker)


def wait(driver: Driver, seconds: int, takes_s: int) -> None:
    """Let time pass while the worker renews its claim and each timer of the review fires when it is due."""
    for _ in range(seconds // 5):
        if driver.shard.constellations["c1"].jobs["review-1"].state == "done":
            return
        driver.now_ms += 5_000
        timer = due(driver, review.OVER)
        if timer.due_ms <= driver.now_ms:
            driver.fire(timer)
        else:
            claim(driver, takes_s)


def prolonged(driver: Driver) -> list[str]:
    return [event.note for event in driver.events if event.kind == EventKind.REVIEW_PROLONGED]


def test_a_review_holds_as_long_as_its_endpoint_may_take() -> None:
    driver, made = failed()
    first = due(driver, review.OVER)
    claim(driver, 240)
    driver.now_ms = first.due_ms
    claim(driver, 240)
    driver.fire(first)
    assert made.jobs["review-1"].state == "claimed", "the first timer finds a longer hold"
    wait(driver, 180, 240)
    assert made.tasks["b"].review == "review-1"
    claim(driver, 240)
    assert propose(driver).value == {"accepted": True}
    assert made.tasks["b"].state is TaskState.SKIPPED


def test_a_hold_ends_after_the_time_of_its_endpoint() -> None:
    driver, made = failed()
    began = driver.now_ms
    claim(driver, 60)
    wait(driver, 120, 60)
    assert made.jobs["review-1"].state == "done"
    assert driver.now_ms - began == 60_000


@pytest.mark.parametrize(("takes_s", "held_ms"), [(-5, 30_000), (0, 30_000), (29, 30_000), (86_400, 600_000)])
def test_a_hold_has_a_least_and_a_most(takes_s: int, held_ms: int) -> None:
    driver, made = failed()
    claim(driver, takes_s)
    assert review.latest_end_ms(made.jobs["review-1"]) == made.jobs["review-1"].opened_ms + held_ms


def test_a_worker_that_is_silent_does_not_hold_until_the_end() -> None:
    driver, made = failed()
    began = driver.now_ms
    claim(driver, 600)
    while made.jobs["review-1"].state != "done":
        timer = due(driver, review.OVER)
        driver.now_ms = timer.due_ms
        driver.fire(timer)
    assert driver.now_ms - began == 15_000 + review.HOLD_MS


def test_a_prolonged_hold_is_one_event_with_its_reason() -> None:
    driver, _ = failed()
    claim(driver, 120)
    claim(driver, 120)
    assert prolonged(driver) == ["the reviewer's model may take 120 s, so tasks are held for up to 120 s"]


def test_only_a_review_is_prolonged() -> None:
    driver = Driver("one")
    driver.do(i.RequestReceived(id="r", by="person:ann", constellation="c1", request="do it"))
    claimed = i.JobClaimed(
        id="x", by="worker:w", constellation="c1", job="plan-1", takes_ms=600_000, ttl_ms=15_000, worker="w"
    )
    driver.do(claimed)
    assert not prolonged(driver)


def test_why_names_the_review_and_its_end() -> None:
    driver, made = failed()
    claim(driver, 240)
    at_ms: Any = made.jobs["review-1"].opened_ms + 240_000
    sentence = explain(driver.shard, "c1", "b").sentence
    assert sentence.startswith("b waits for a review of a by the model until ")
    assert sentence.endswith(" UTC at the latest.")
    minutes = at_ms // 60_000 % 60
    assert f":{minutes:02}:" in sentence
