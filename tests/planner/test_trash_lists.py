"""A plan that puts found files into the trash shows its list to a person first."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.planner.trash_lists import QUESTION, trashes_unseen, with_lists, without_lists
from starloom_protocol.plan import check_plan, plan_hash
from starloom_protocol.records.edits import LoweredPlan
from tests.builders import TOOLS
from tests.core.watched import WatchedDriver
from tests.guard.test_wide_trash import CLEAR, FIND, FOUND, LOOK, TRASH

EACH = {**CLEAR, "for_each": {"from": "look", "output": "/files"}, "args": {"paths": [{"each": "/path"}]}}
FILES = [{"path": f"{number}.jpg", "bytes": 1_000} for number in range(3)]


def _plan(*tasks: dict[str, Any], **more: Any) -> LoweredPlan:
    check = check_plan({"starloom": 1, "name": "Tidy", "tasks": list(tasks), **more})
    assert check.plan is not None, check.faults
    return check.plan


def _begun(plan: LoweredPlan, files: list[dict[str, Any]]) -> WatchedDriver:
    driver = WatchedDriver("one")
    driver.add_device("nas", tools=[*TOOLS, TRASH, FIND])
    driver.submit(with_lists(plan))
    (lease,) = driver.take()
    driver.result(lease, {"files": files})
    return driver


@pytest.mark.parametrize("clear", [FOUND, EACH], ids=["one call", "a call for each"])
def test_found_files_are_shown_before_they_go(clear: dict[str, Any]) -> None:
    driver = _begun(_plan(LOOK, clear), FILES)
    (question,) = driver.shard.constellations["c1"].questions.values()
    assert question.text == f"{QUESTION} (3 files, 3.0 kB)"
    assert question.shown is not None
    assert "2.jpg" in question.shown.value
    assert not driver.dispatched
    driver.answer_question(question.id, "trash")
    assert driver.dispatched


@pytest.mark.parametrize("clear", [FOUND, EACH], ids=["one call", "a call for each"])
def test_files_that_are_to_stay_end_the_run_well(clear: dict[str, Any]) -> None:
    driver = _begun(_plan(LOOK, clear), FILES)
    (question,) = driver.shard.constellations["c1"].questions.values()
    driver.answer_question(question.id, "leave")
    assert driver.state() == "succeeded"
    assert not driver.dispatched


def test_an_empty_list_asks_nobody() -> None:
    driver = _begun(_plan(LOOK, FOUND), [])
    assert not driver.shard.constellations["c1"].questions
    assert driver.state() == "succeeded"


def test_the_question_is_part_of_what_is_hashed_and_comes_once() -> None:
    plain = _plan(LOOK, FOUND)
    asking = with_lists(plain)
    assert [spec.id for spec in asking.specs] == ["look", "clear-list", "clear"]
    assert asking.hash == plan_hash(asking) != plain.hash
    assert with_lists(asking) == asking


@pytest.mark.parametrize(
    ("clear", "more"),
    [({**CLEAR, "args": {"paths": ["a.txt"]}}, {}), (FOUND, {"policy": {"approval": "never"}})],
    ids=["named", "set aside"],
)
def test_a_plan_that_names_its_files_or_sets_asking_aside_stays(clear: dict[str, Any], more: dict[str, Any]) -> None:
    plan = _plan(LOOK, clear, **more)
    assert with_lists(plan) is plan


def test_what_the_plan_has_made_itself_is_taken_away_unasked() -> None:
    unpack = {"id": "made", "tool": "archive.unpack", "device": {"name": "nas"}, "args": {"path": "a.zip"}}
    plan = _plan(unpack, {**CLEAR, "inputs": {"paths": {"from": "made", "output": "/folders"}}})
    assert with_lists(plan) is plan


def test_a_plan_without_its_lists_is_the_plan_as_it_was_written() -> None:
    for plain in (_plan(LOOK, FOUND), _plan(LOOK, EACH), _plan(LOOK)):
        assert without_lists(with_lists(plain)) == plain
    assert [trashes_unseen(one) for one in (with_lists(_plan(LOOK, FOUND)), _plan(LOOK, FOUND), _plan(LOOK))] == [
        False,
        True,
        None,
    ]
