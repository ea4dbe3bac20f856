"""T209, T320: somebody who may run work, and not approve, takes back what another person asked for and relies on."""

from __future__ import annotations

import pytest

from starloom.core.state import inputs as i
from starloom.core.state.orders import Answer
from starloom_protocol.vocabulary import Code, Outcome
from tests.builders import Driver
from tests.core.people.test_compensation import CHAIN, moved
from tests.core.people.test_forks import fork

pytestmark = pytest.mark.short


def asked(driver: Driver, by: str, *, approves: bool, tasks: tuple[str, ...] = ()) -> i.UndoRequested:
    return i.UndoRequested(id=driver.ident(), approves=approves, by=by, constellation="c1", tasks=list(tasks))


@pytest.mark.parametrize("tasks", [(), ("b",)], ids=["all", "one"])
@pytest.mark.parametrize("by", ["person:lo#t7", "program:ci", "assistant:ann", "person:ANN"])
def test_t209_the_work_of_others_stays(by: str, tasks: tuple[str, ...]) -> None:
    driver = moved(*CHAIN)
    asker = driver.shard.constellations["c1"].head.author
    (refused,) = driver.do(asked(driver, by, approves=False, tasks=tasks)).faults
    assert refused.code is Code.FORBIDDEN
    assert "may undo own work only" in refused.reason
    assert "starloom undo c1" in refused.hint
    assert driver.take() == []
    assert driver.shard.constellations["c1"].head.author == asker
    driver.folded_equals_state()


@pytest.mark.parametrize("approves", [True, False])
def test_t209_own_work_is_taken_back_on_any_sign_in(approves: bool) -> None:
    driver = moved(*CHAIN)
    asker = driver.shard.constellations["c1"].head.author
    assert driver.do(asked(driver, f"{asker}#other", approves=approves)).value["undoing"] == ["b", "a"]


def test_t209_somebody_who_approves_takes_back_any_work() -> None:
    driver = moved(*CHAIN)
    assert driver.do(asked(driver, "person:lo", approves=True)).value["undoing"] == ["b", "a"]


def test_t209_a_look_at_what_would_be_undone_changes_nothing() -> None:
    driver = moved(*CHAIN)
    version = driver.shard.constellations["c1"].head.version
    looked = driver.do(i.UndoRequested(id=driver.ident(), by="person:lo", constellation="c1", preview=True))
    says = [f"t.idem runs for {name} on one, which cannot be undone itself" for name in ("b", "a")]
    assert looked.value == {"version": version, "undoing": ["b", "a"], "cannot_be_undone": [], "says": says}
    assert driver.shard.constellations["c1"].head.version == version
    assert driver.take() == []
    driver.folded_equals_state()


LOW = "person:lo#t7"


def undo_of_fork(driver: Driver, by: str, *tasks: str, approves: bool = False) -> Answer:
    return driver.do(
        i.UndoRequested(id=driver.ident(), approves=approves, by=by, constellation="c2", tasks=list(tasks))
    )


@pytest.mark.parametrize("tasks", [(), ("b",)], ids=["all", "one"])
def test_t320_a_fork_takes_back_no_work_of_its_origin(tasks: tuple[str, ...]) -> None:
    driver = moved(*CHAIN)
    assert not fork(driver, task="look", by=LOW, approves=False).faults
    driver.run("c2")
    (refused,) = undo_of_fork(driver, LOW, *tasks).faults
    assert (refused.code, driver.take()) == (Code.ILLEGAL_CONTROL, [])
    assert "was done by c1, and is taken back there: `starloom undo c1 --task" in refused.reason
    (refused,) = undo_of_fork(driver, LOW, *tasks, approves=True).faults
    assert "was done by c1" in refused.reason, "its origin would not say that its files are gone"


@pytest.mark.parametrize("outcome", [Outcome.OK, Outcome.ERROR])
def test_t320_an_undo_of_the_origin_is_not_carried_out_in_a_fork(outcome: Outcome) -> None:
    driver = moved(*CHAIN)
    assert not driver.do(asked(driver, "person:ann", approves=True, tasks=("b",))).faults
    driver.result(driver.take()[0], outcome=outcome, code=None if outcome is Outcome.OK else Code.CONFLICT)
    assert not fork(driver, task="look", by=LOW, approves=False).faults
    driver.run("c2")
    undo_of_fork(driver, LOW)
    again = i.ControlRequested(
        id=driver.ident(), action="retry_from", approves=False, by=LOW, constellation="c2", task="undo-b"
    )
    reasons = [one.reason for one in driver.do(again).faults]
    is_kept = outcome is Outcome.OK
    assert reasons == [
        "undo-b takes back work of c1, which is taken back there alone" if is_kept else "there is no task undo-b"
    ]
    assert driver.take() == []


def test_t320_an_undo_is_asked_for_again_by_those_who_may() -> None:
    driver = moved(*CHAIN)
    assert not driver.do(asked(driver, "person:ann", approves=True, tasks=("b",))).faults
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.CONFLICT)

    def retry(by: str, *, approves: bool) -> list[str]:
        again = i.ControlRequested(
            id=driver.ident(), action="retry", approves=approves, by=by, constellation="c1", task="undo-b"
        )
        return [one.reason for one in driver.do(again).faults]

    asker = driver.shard.constellations["c1"].head.author
    assert "lo may undo own work only" in retry(LOW, approves=False)[0]
    assert driver.take() == []
    assert retry(asker, approves=False) == []
    assert [dispatch.at.task for dispatch in driver.take()] == ["undo-b"]


def test_a_fork_takes_back_what_it_did_itself() -> None:
    driver = moved(*CHAIN)
    assert not fork(driver, task="b", confirm=["b"]).faults
    while taken := driver.take():
        for dispatch in taken:
            driver.result(dispatch, {"moved": dispatch.at.task})
    looked = driver.do(i.UndoRequested(id=driver.ident(), by="person:ann", constellation="c2", preview=True))
    assert (looked.value["undoing"], looked.value["cannot_be_undone"]) == (["b"], [])
    assert looked.value["says"][-1] == "the work of c1 stays as it is: `starloom undo c1`"
    assert undo_of_fork(driver, "person:ann").value["undoing"] == ["b"]
    assert driver.run("c2") == "succeeded"
    told = driver.shard.constellations["c2"].tables["answer"][""].sentence
    assert "Taken back afterwards: b." in told
    assert "Left as it is, as the work of an earlier run: a." in told
    assert driver.do(asked(driver, "person:ann", approves=True)).value["undoing"] == ["b", "a"]
