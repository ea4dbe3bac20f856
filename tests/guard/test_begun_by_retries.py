"""T292: no control begins a plan that waits for its approval, or that ended before anybody allowed it."""

from __future__ import annotations

import pytest

from starloom_protocol.vocabulary import Code
from tests.builders import Driver, plan, task
from tests.core.people.test_forks import fork
from tests.guard.test_repeated_controls import a_driver

OWN = "assistant:helper"
AUTHORS = pytest.mark.parametrize("by", [OWN, "person:eva#t1", "person:ann"])


def _waiting(by: str) -> Driver:
    driver = a_driver()
    driver.submit(plan(task("look"), task("write", tool="t.idem"), task("act", tool="t.reboot")), by=by)
    assert driver.state() == "awaiting_approval"
    return driver


@AUTHORS
@pytest.mark.parametrize("way", ["retry", "edit"])
def test_t292_a_retry_leaves_it_waiting(by: str, way: str) -> None:
    driver = _waiting(by)
    approves = by == "person:ann"
    assert not driver.control("cancel", "look", by=by, approves=approves).faults
    if way == "edit":
        again = driver.edit(by=by, approves=approves, retry=["look"])
    else:
        again = driver.control("retry", "look", by=by, approves=approves)
    assert not again.faults
    assert (driver.state(), driver.states()["look"], driver.take()) == ("awaiting_approval", "ready", [])
    (question,) = driver.shard.constellations["c1"].open_questions
    assert not driver.answer_question(question, "allow").faults
    assert sorted(sent.at.task for sent in driver.take()) == ["act", "look", "write"]
    driver.folded_equals_state()


@AUTHORS
def test_t292_it_ends_unapproved_and_stays_so(by: str) -> None:
    driver = _waiting(by)
    approves = by == "person:ann"
    for name in ("look", "write", "act"):
        assert not driver.control("cancel", name, by=by, approves=approves).faults
    assert driver.state() == "cancelled"
    for name in ("look", "write"):
        (refused,) = driver.control("retry", name, by=by, approves=approves).faults
        assert (refused.code, "nobody has approved its plan" in refused.reason) == (Code.ILLEGAL_CONTROL, True)
        assert refused.hint.endswith(f"starloom fork c1 --task {name}")
    assert (driver.state(), driver.take()) == ("cancelled", [])


@AUTHORS
def test_t292_a_fork_of_it_asks_again(by: str) -> None:
    driver = _waiting(by)
    for name in ("look", "write", "act"):
        driver.control("cancel", name, by=by)
    assert not fork(driver, approves=False, by=by).faults
    assert driver.shard.constellations["c2"].head.state == "awaiting_approval"
    assert driver.take() == []
