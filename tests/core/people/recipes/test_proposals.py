"""Proposals: a clean end of a person's request is proposed once, to its author alone, within bounds."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.people.recipes import proposals
from starloom.core.state import inputs as i
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import ForEach, RecipeProposal, Selector, UndoCall
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code, Outcome
from tests.builders import plan, task
from tests.core.watched import WatchedDriver


def wanted(folder: str = "Pictures", device: str = "one", name: str = "see", **fields: Any) -> LoweredPlan:
    return plan(task(name, args=canonical({"path": folder, **fields}), device=device), name=f"Look at {folder}")


@pytest.fixture
def driver() -> WatchedDriver:
    return WatchedDriver("one", "two")


def known(driver: WatchedDriver) -> list[RecipeProposal]:
    return sorted(driver.shard.access.proposals.values(), key=lambda one: one.at_ms)


def ended(driver: WatchedDriver, made: LoweredPlan, name: str = "c1", **fields: Any) -> str:
    driver.now_ms += 1
    driver.submit(made, name, **fields)
    return driver.run(name)


def in_words(driver: WatchedDriver, made: LoweredPlan, words: str = "look at Pictures on one", **more: Any) -> None:
    driver.do(i.RequestReceived(id=driver.ident(), by="person:ann#t1", constellation="c1", request=words))
    driver.claim_job("plan-1", ttl_ms=60_000, by="w")
    fields = {"by_model": True, "plan": made, **more}
    driver.do(i.PlanProposed(id=driver.ident(), by="w", constellation="c1", job="plan-1", worker="w", **fields))


def test_a_plan_of_a_model_that_ended_clean_is_proposed_to_its_author(driver: WatchedDriver) -> None:
    in_words(driver, wanted())
    assert known(driver) == []
    assert driver.run() == "succeeded"
    (made,) = known(driver)
    assert (made.owner, made.constellation, made.request, made.state) == (
        "person:ann",
        "c1",
        "look at Pictures on one",
        "open",
    )
    assert '"path\\":\\"Pictures' in made.plan
    driver.folded_equals_state()


def test_a_plan_of_rows_is_proposed_by_its_name(driver: WatchedDriver) -> None:
    ended(driver, wanted())
    assert [one.request for one in known(driver)] == ["Look at Pictures"]


def test_a_list_that_was_expanded_is_kept_as_it_was_written(driver: WatchedDriver) -> None:
    new_plan = plan(task("all", for_each=ForEach(devices=Selector())), name="Look everywhere around")
    assert ended(driver, new_plan) == "succeeded"
    (kept,) = known(driver)
    assert kept.plan.count('"id"') == 1


def test_one_shape_is_proposed_once_whatever_its_devices_and_folders(driver: WatchedDriver) -> None:
    ended(driver, wanted())
    ended(driver, wanted("Music", "two", name="other"), "c2")
    assert [one.constellation for one in known(driver)] == ["c1"]
    ended(driver, wanted(words="new"), "c3")
    assert [one.constellation for one in known(driver)] == ["c1", "c3"]


def test_a_shape_is_proposed_to_each_person_apart(driver: WatchedDriver) -> None:
    ended(driver, wanted())
    driver.do(i.RequestReceived(id="other", by="person:bea", constellation="c2", plan=wanted()))
    driver.run("c2")
    assert {one.owner for one in known(driver)} == {"person:ann", "person:bea"}


@pytest.mark.parametrize(
    "fields",
    [
        {"labels": {"try": "row"}},
        {"labels": {"test": "device"}},
        {"labels": {"notice": "schedule"}},
        {"recipe": "site-check"},
    ],
    ids=str,
)
def test_what_is_no_request_of_its_own_is_not_proposed(driver: WatchedDriver, fields: dict[str, Any]) -> None:
    ended(driver, wanted(), **fields)
    assert known(driver) == []


@pytest.mark.parametrize("by", ["program:cron", "assistant:claude", "schedule:s1"])
def test_only_a_person_is_asked_to_keep_something(driver: WatchedDriver, by: str) -> None:
    driver.do(i.RequestReceived(id="x", by=by, constellation="c1", plan=wanted()))
    driver.run()
    assert known(driver) == []


@pytest.mark.parametrize(
    "made",
    [
        wanted(password="hunter2"),
        wanted(header="Bearer abc.def"),
        wanted(key="A" * 44),
        wanted(options={"api_key": "x"}),
    ],
    ids=["name", "form", "long", "within"],
)
def test_a_plan_with_what_looks_secret_is_not_kept(driver: WatchedDriver, made: LoweredPlan) -> None:
    ended(driver, made)
    assert known(driver) == []


def test_words_with_what_looks_secret_are_not_kept(driver: WatchedDriver) -> None:
    in_words(driver, wanted(), words="look at Pictures on one with ghp_0123456789abcdef")
    driver.run()
    assert known(driver) == []


def test_a_failure_is_not_proposed_and_a_retry_is(driver: WatchedDriver) -> None:
    driver.submit(wanted())
    (sent,) = driver.take()
    driver.result(sent, outcome=Outcome.TIMEOUT, code=Code.TIMED_OUT)
    for timer in [one for one in driver.timers if one.kind == "backoff"]:
        driver.fire(timer)
    assert driver.run() == "succeeded"
    assert len(known(driver)) == 1
    driver.submit(wanted(words="x"), "c2")
    (sent,) = driver.take()
    driver.result(sent, outcome=Outcome.ERROR, code=Code.BAD_ARGUMENTS)
    assert driver.state("c2") == "failed"
    assert len(known(driver)) == 1


def test_an_edit_by_hand_ends_the_wish(driver: WatchedDriver) -> None:
    driver.submit(plan(task("a", device="one"), task("b", "x=a", device="one"), name="Look around here"))
    edit = i.EditProposed(
        id="e", by="person:ann", constellation="c1", base_version=1, operations=[i_reassign("b", "two")], reason="r"
    )
    assert not driver.do(edit).faults
    assert driver.run() == "succeeded"
    assert known(driver) == []


@pytest.mark.parametrize("taken_back", [True, False], ids=["undone", "failed"])
def test_a_run_that_was_undone_is_not_proposed(driver: WatchedDriver, taken_back: bool) -> None:
    new_plan = plan(task("put", device="one", tool="t.idem", undo=UndoCall(tool="t.idem")), name="Put a note there")
    assert ended(driver, new_plan) == "succeeded"
    assert len(known(driver)) == 1
    undo = i.UndoRequested(id=driver.ident(), by="person:ann", constellation="c1", reason="not wanted")
    assert not driver.do(undo).faults
    assert known(driver) == []
    (sent,) = driver.take()
    if taken_back:
        driver.result(sent)
    else:
        driver.result(sent, outcome=Outcome.ERROR, code=Code.BAD_ARGUMENTS)
    assert driver.state("c1") == ("succeeded" if taken_back else "failed")
    assert known(driver) == []
    driver.folded_equals_state()
    assert ended(driver, new_plan, "c2") == "succeeded"
    assert [one.constellation for one in known(driver)] == ["c2"]


def i_reassign(name: str, device: str) -> Any:
    from starloom_protocol.records.edits import Reassign

    return Reassign(id=name, device=Selector(name=device))


def test_a_skip_by_a_person_ends_the_wish(driver: WatchedDriver) -> None:
    driver.submit(plan(task("a", device="one"), task("b", "x=a", device="one", optional=True), name="Look around"))
    driver.control("skip", "b")
    driver.run()
    assert known(driver) == []


def test_a_dismissed_shape_stays_dismissed(driver: WatchedDriver) -> None:
    ended(driver, wanted())
    (made,) = known(driver)
    request = i.RecipeProposalDismissed(id="d", by="person:ann#t2", proposal=made.id)
    assert not driver.do(request).faults
    (mark,) = known(driver)
    assert (mark.state, mark.plan, mark.request) == ("dismissed", "", "")
    ended(driver, wanted("Music"), "c2")
    assert [one.state for one in known(driver)] == ["dismissed"]
    again = driver.do(i.RecipeProposalDismissed(id="d2", by="person:ann", proposal=made.id))
    assert [fault.code for fault in again.faults] == [Code.NOT_FOUND]


def save(proposal: str, by: str = "person:ann", **fields: Any) -> i.RecipeSaved:
    return i.RecipeSaved(id=f"s{by}{fields}", by=by, name="look", proposal=proposal, text="t", title="Look", **fields)


def test_a_kept_proposal_makes_a_recipe_on_trial(driver: WatchedDriver) -> None:
    ended(driver, wanted())
    (made,) = known(driver)
    assert not driver.do(save(made.id)).faults
    (mark,) = known(driver)
    assert (mark.state, mark.recipe, mark.plan) == ("kept", "look", "")
    runs = driver.shard.fleet.recipe_runs["look"]
    assert (runs.trial, runs.source, runs.versions) == (True, "c1", [])
    ended(driver, wanted("Music"), "c2")
    assert len(known(driver)) == 1


@pytest.mark.parametrize("by", ["person:bea", "program:ann", "assistant:ann", "model"])
def test_nobody_else_keeps_or_dismisses_it(driver: WatchedDriver, by: str) -> None:
    ended(driver, wanted())
    (made,) = known(driver)
    refused = [driver.do(save(made.id, by)), driver.do(i.RecipeProposalDismissed(id="d", by=by, proposal=made.id))]
    assert [[fault.code for fault in answer.faults] for answer in refused] == [[Code.NOT_FOUND]] * 2
    assert known(driver) == [made]
    assert driver.shard.fleet.recipes == {}


def test_proposals_of_a_person_are_bounded_and_the_newest_stay(
    driver: WatchedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.shard.settings.proposals_most = 2
    monkeypatch.setattr(proposals, "MARKS_MOST", 3)
    for number in range(5):
        ended(driver, wanted(words=f"w{number}"), f"c{number}")
    assert [(one.constellation, one.state) for one in known(driver)] == [
        ("c2", "passed"),
        ("c3", "open"),
        ("c4", "open"),
    ]


def test_marks_of_a_person_who_dismissed_all_end_the_proposals(
    driver: WatchedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "MARKS_MOST", 1)
    ended(driver, wanted())
    driver.do(i.RecipeProposalDismissed(id="d", by="person:ann", proposal=known(driver)[0].id))
    ended(driver, wanted(words="x"), "c2")
    assert [one.state for one in known(driver)] == ["dismissed"]


def test_all_persons_together_are_bounded(driver: WatchedDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "ALL_MOST", 1)
    ended(driver, wanted())
    driver.do(i.RequestReceived(id="other", by="person:bea", constellation="c2", plan=wanted()))
    driver.run("c2")
    assert len(known(driver)) == 1


def test_a_hub_without_the_setting_proposes_nothing(driver: WatchedDriver) -> None:
    driver.shard.settings.proposals_most = 0
    ended(driver, wanted())
    assert known(driver) == []
