"""Runs of saved recipes: clean and failed ones counted by version, the end of a trial, and the way back."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.people.recipes import runs
from starloom.core.people.recipes.runs import owner_of, saved_versions
from starloom.core.state import inputs as i
from starloom_protocol.records.edits import Reassign
from starloom_protocol.records.entities import ForEach, RecipeRuns, Selector
from starloom_protocol.vocabulary import Code, Outcome
from tests.builders import plan, task
from tests.core.watched import WatchedDriver

TEXT = "starloom_recipe: 1\nversion: {}\n# {}\n"


class Kept(WatchedDriver):
    """A driver with the recipe `look`."""

    def __init__(self, versions: int = 1) -> None:
        super().__init__("one")
        self.ran = 0
        for number in range(1, versions + 1):
            self.save(number)

    def save(self, number: int, text: str = "", by: str = "person:ann", **fields: Any) -> None:
        saved = i.RecipeSaved(
            id=self.ident(),
            base_version=number - 1,
            by=by,
            name="look",
            text=text or TEXT.format(number, f"text {number}"),
            title="Look",
            **fields,
        )
        assert not self.do(saved).faults

    def end(self, code: Code | None = None, recipe: str = "look", **fields: Any) -> str:
        """Run the recipe once; return the state at the end."""
        self.ran += 1
        name = f"r{self.ran}"
        self.now_ms += 1000
        request = {"by": "person:ann", "constellation": name, "plan": plan(task("a"), recipe=recipe, name="Look")}
        assert not self.do(i.RequestReceived(id=self.ident(), **{**request, **fields})).faults
        (sent,) = self.take()
        if code is None:
            self.result(sent, {})
        else:
            self.result(sent, outcome=Outcome.ERROR, code=code)
            while self.state(name) == "active":
                timer = next(one for one in self.timers if one.constellation == name and one.kind == "backoff")
                self.timers.remove(timer)
                self.fire(timer)
                (sent,) = self.take()
                self.result(sent, outcome=Outcome.ERROR, code=code)
        return self.state(name)

    @property
    def held(self) -> RecipeRuns:
        return self.shard.fleet.recipe_runs["look"]

    def counted(self, number: int = 1) -> tuple[int, int, str]:
        found = runs.runs_of(self.held, number)
        return found.clean, found.failed, found.ends

    @property
    def newest(self) -> int:
        return runs.version_now(self.shard, "look")


def test_runs_are_counted_for_the_version_that_ran() -> None:
    driver = Kept()
    driver.end()
    driver.save(2)
    driver.end()
    driver.end(Code.BAD_ARGUMENTS)
    assert (driver.counted(1), driver.counted(2)) == ((1, 0, "c"), (1, 1, "cf"))
    assert runs.runs_of(driver.held, 2).failed_id == "r3"
    driver.folded_equals_state()


def test_other_plans_and_built_in_recipes_are_not_counted() -> None:
    driver = Kept()
    driver.end(recipe="site-check")
    assert driver.shard.fleet.recipe_runs == {}


@pytest.mark.parametrize("code", sorted(set(Code) - runs.OF_THE_RECIPE))
def test_a_failure_by_a_device_alone_says_nothing_of_the_recipe(code: Code) -> None:
    driver = Kept()
    assert driver.end(code) == "failed"
    assert driver.shard.fleet.recipe_runs == {}


def test_a_run_that_a_person_cancelled_says_nothing() -> None:
    driver = Kept()
    driver.submit(plan(task("a"), recipe="look"), "r1")
    driver.control("cancel", name="r1")
    for sent in driver.take():
        driver.result(sent, outcome=Outcome.INTERRUPTED)
    assert driver.state("r1") == "cancelled"
    assert driver.shard.fleet.recipe_runs == {}


@pytest.mark.parametrize("code", sorted(runs.OF_THE_RECIPE))
def test_a_failure_of_a_call_or_condition_is_counted(code: Code) -> None:
    driver = Kept()
    assert driver.end(code) == "failed"
    assert driver.counted() == (0, 1, "f")


def test_a_run_that_its_person_changed_says_nothing() -> None:
    driver = Kept()
    new_plan = plan(task("a", device="one"), task("b", "x=a", device="one", optional=True), recipe="look")
    driver.submit(new_plan, "r1")
    driver.control("skip", "b", name="r1")
    (sent,) = driver.take()
    driver.result(sent, {})
    driver.add_device("two")
    driver.submit(new_plan, "r2")
    change = i.EditProposed(
        id=driver.ident(),
        by="person:ann",
        constellation="r2",
        base_version=1,
        operations=[Reassign(id="b", device=Selector(name="two"))],
        reason="r",
    )
    assert not driver.do(change).faults
    assert driver.run("r2") == "succeeded"
    assert driver.shard.fleet.recipe_runs == {}


def everywhere(driver: Kept, bad: set[str]) -> str:
    """Run a list over all devices, of which these fail; return the state at the end."""
    driver.ran += 1
    name = f"r{driver.ran}"
    driver.submit(plan(task("all", for_each=ForEach(devices=Selector())), recipe="look"), name)
    while sent := driver.take():
        for one in sent:
            wrong: Any = {"outcome": Outcome.ERROR, "code": Code.TOOL_FAILED} if one.device in bad else {"value": {}}
            driver.result(one, **wrong)
    return driver.state(name)


def test_one_device_of_a_list_that_fails_says_nothing_of_the_recipe() -> None:
    driver = Kept()
    driver.add_device("two")
    assert everywhere(driver, {"d-two"}) in ("partial", "failed")
    assert driver.shard.fleet.recipe_runs == {}
    assert everywhere(driver, {"d-one", "d-two"}) == "failed"
    assert driver.counted() == (0, 1, "f")


def test_runs_of_others_are_counted_and_decide_nothing() -> None:
    driver = Kept()
    driver.end()
    driver.save(2)
    for _ in range(3):
        driver.end(Code.BAD_ARGUMENTS, by="person:mallory")
    assert driver.counted(2) == (0, 3, "")
    assert driver.newest == 2
    driver.folded_equals_state()


def test_clean_runs_of_others_end_no_trial() -> None:
    driver = on_trial()
    for by in ("person:bea", "assistant:ann", "program:ann"):
        driver.end(by=by)
    assert (driver.held.trial, driver.held.in_a_row, driver.counted()) == (True, 0, (3, 0, ""))


def test_it_goes_back_to_no_text_of_another_person() -> None:
    driver = Kept(0)
    driver.save(1, by="person:mallory")
    driver.end(by="person:mallory")
    driver.save(2)
    for _ in range(3):
        driver.end(Code.BAD_ARGUMENTS)
    assert driver.newest == 2


def test_a_version_that_the_hub_took_back_is_of_its_first_writer() -> None:
    driver = Kept()
    driver.end()
    driver.save(2)
    for _ in range(2):
        driver.end(Code.BAD_ARGUMENTS)
    versions = saved_versions(driver.shard, "look")
    assert [owner_of(versions, number) for number in (1, 2, 3, 4)] == ["person:ann"] * 3 + [""]
    driver.end()
    assert driver.counted(3) == (1, 0, "c")


def on_trial() -> Kept:
    driver = Kept(0)
    driver.submit(plan(task("a", args='{"path":"Pictures"}', device="one"), name="Look at it"))
    driver.run()
    (proposal,) = driver.shard.access.proposals
    driver.save(1, proposal=proposal)
    return driver


def test_a_trial_ends_after_three_clean_runs_in_a_row() -> None:
    driver = on_trial()
    driver.end()
    driver.end()
    driver.end(Code.BAD_ARGUMENTS)
    driver.end()
    driver.end()
    assert (driver.held.trial, driver.held.in_a_row) == (True, 2)
    driver.end()
    assert (driver.held.trial, driver.held.in_a_row) == (False, 3)
    driver.end(Code.BAD_ARGUMENTS)
    assert driver.held.trial is False


def test_a_version_that_fails_goes_back_to_the_one_that_worked() -> None:
    driver = Kept()
    driver.end()
    driver.save(2)
    driver.end(Code.BAD_ARGUMENTS)
    assert driver.newest == 2
    driver.end(Code.BAD_ARGUMENTS)
    assert driver.newest == 3
    made = driver.shard.fleet.recipes["look/3"]
    assert (made.text, made.author, made.back_from) == (TEXT.format(3, "text 1"), "engine", 2)
    assert made.because == "version 2 failed in 2 of its last 2 runs; version 1 had 1 clean run"
    assert runs.runs_of(driver.held, 2).failed_id == "r3"
    assert driver.held.told == 3
    assert not driver.do(i.RecipeSeen(id="seen", by="person:ann", name="look")).faults
    assert (driver.held.told, driver.held.seen) == (3, ["person:ann"]), "others are shown it as before"
    assert not driver.do(i.RecipeSeen(id="seen1", by="person:bea#t1", name="look")).faults
    again = driver.do(i.RecipeSeen(id="seen2", by="person:ann", name="look"))
    assert [fault.code for fault in again.faults] == [Code.NOT_FOUND]
    driver.folded_equals_state()


def test_one_failure_between_clean_runs_is_no_reason() -> None:
    driver = Kept()
    driver.end()
    driver.save(2)
    for code in (None, Code.BAD_ARGUMENTS, None, None, Code.BAD_ARGUMENTS, None):
        driver.end(code)
    assert driver.newest == 2


def test_nothing_goes_back_to_what_never_worked() -> None:
    driver = Kept(2)
    for _ in range(4):
        driver.end(Code.BAD_ARGUMENTS)
    assert driver.newest == 2


def test_a_person_who_takes_it_back_is_not_overruled() -> None:
    driver = Kept()
    driver.end()
    driver.save(2)
    driver.end(Code.BAD_ARGUMENTS)
    driver.end(Code.BAD_ARGUMENTS)
    driver.end()
    driver.save(4, text=TEXT.format(4, "text 2"))
    assert driver.held.told == 0
    for _ in range(3):
        driver.end(Code.BAD_ARGUMENTS)
    assert driver.newest == 4


def test_a_version_that_left_takes_its_counts_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "VERSIONS_KEPT", 2)
    driver = Kept()
    for number in (2, 3):
        driver.end()
        driver.save(number)
    assert [one.number for one in driver.held.versions] == [2]
    assert sorted(driver.shard.fleet.recipes) == ["look/2", "look/3"]


def test_the_last_ends_are_bounded_and_counts_are_not() -> None:
    driver = Kept()
    for _ in range(runs.ENDS_KEPT + 3):
        driver.end()
    assert driver.counted() == (runs.ENDS_KEPT + 3, 0, "c" * runs.ENDS_KEPT)


def test_a_recipe_is_removed_with_its_runs() -> None:
    driver = Kept()
    driver.end()
    assert not driver.do(i.RecipeRemoved(id="rm", by="person:ann", name="look")).faults
    assert driver.shard.fleet.recipe_runs == {}


def test_a_hub_without_the_setting_counts_nothing() -> None:
    driver = Kept()
    driver.shard.settings.trial_runs = 0
    driver.end()
    assert driver.shard.fleet.recipe_runs == {}
    assert driver.shard.constellations["r1"].head.recipe_version == 0
