"""T297: a trash is where the way back lies, and neither an assistant nor a schedule empties it without a person."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.planner.recipes.catalogue import load_catalogue
from starloom_agent.policy.policy import Policy, decide
from starloom_agent.work.registry import all_tools
from starloom_protocol.plan import check_edit, check_plan
from starloom_protocol.records.entities import ToolOffer
from starloom_protocol.vocabulary import Code, Effect, Profile, Repeatability
from tests.builders import TOOLS, Driver

EMPTY = next(tool for tool in all_tools() if tool.name == "trash.empty")
OFFER = ToolOffer(name=EMPTY.name, repeatability=EMPTY.repeatability, effects=[*EMPTY.effects], grant=EMPTY.grant)
LOOK = ToolOffer(name="fs.find", repeatability=Repeatability.PURE, effects=[Effect.READ])
TASK = {"id": "gone", "tool": "trash.empty", "device": {"name": "web"}, "args": {"older_than_days": 30}}
ASSISTANT = "assistant:helper"


def submitted(task: dict[str, Any], by: str) -> Driver:
    check = check_plan({"starloom": 1, "name": "Tidy", "tasks": [task]})
    assert check.plan is not None, check.faults
    driver = Driver()
    driver.add_device("web", tools=[*TOOLS, OFFER, LOOK])
    driver.submit(check.plan, by=by, approves=by != ASSISTANT)
    return driver


@pytest.mark.parametrize("by", [ASSISTANT, "person:ann"])
def test_t297_whoever_asks_a_person_is_asked_first(by: str) -> None:
    driver = submitted(TASK, by)
    assert driver.state() == "awaiting_approval"
    (question,) = driver.shard.constellations["c1"].questions.values()
    assert "destroy" in question.text


@pytest.mark.parametrize("hidden", ["undo", "any_of"])
def test_t297_behind_a_look_it_is_found_as_well(hidden: str) -> None:
    call = {"tool": "trash.empty", "args": {"older_than_days": 0}}
    look = {"id": "look", "tool": "fs.find", "device": {"name": "web"}, "args": {"root": "."}}
    assert submitted({**look, hidden: call if hidden == "undo" else [call]}, ASSISTANT).state() == "awaiting_approval"


def test_t297_no_edit_of_an_assistant_adds_it() -> None:
    driver = submitted({"id": "look", "tool": "fs.find", "device": {"name": "web"}, "args": {"root": "."}}, ASSISTANT)
    faults, operations = check_edit([{"add_task": TASK}])
    assert not faults
    refused = driver.edit(*operations, approves=False, by=ASSISTANT, reason="tidy").faults
    assert {one.code for one in refused} == {Code.FORBIDDEN}


def test_t297_the_device_asks_its_owner_for_each_other_age() -> None:
    policy = Policy(profile=Profile.OPERATE, write=("/srv/data",))
    asked = {decide(policy, EMPTY, {"older_than_days": days}, task="c1/gone").line for days in (0, 30)}
    assert len(asked) == 2
    assert all(line.startswith("starloom-agent approve ") for line in asked)


def test_t297_the_recipe_sets_no_approval_aside() -> None:
    recipe = next(one for one in load_catalogue().all() if one.name == "empty-trash")
    assert recipe.plan["policy"] == {"approval": "risky"}
