"""T280: an assistant takes no file away by itself: not one into the trash, none to another place, none written over."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.people.approvals.need import changing_calls
from starloom_protocol.plan import check_edit, check_plan
from starloom_protocol.records.entities import ToolOffer
from starloom_protocol.vocabulary import Code, Effect, Repeatability
from tests.builders import TOOLS, Driver

WRITING = ("fs.copy", "fs.move", "fs.restore", "fs.trash", "fs.write", "mcp.notes.save", "python.run")
OFFERS = [
    *(ToolOffer(name=name, repeatability=Repeatability.IDEMPOTENT, effects=[Effect.WRITE]) for name in WRITING),
    ToolOffer(name="fs.find", repeatability=Repeatability.PURE, effects=[Effect.READ]),
]
ASSISTANT = "assistant:helper"


def _call(tool: str, **args: Any) -> dict[str, Any]:
    return {"id": "do", "tool": tool, "device": {"name": "web"}, "args": args}


TAKING = {
    "one file": _call("fs.trash", paths=["www/index.html"]),
    "on each device": {
        "id": "do",
        "tool": "fs.trash",
        "for_each": {"devices": {"tools": ["fs.trash"]}},
        "args": {"paths": ["a.txt"]},
    },
    "a move": _call("fs.move", path="www/a.css", to="www/gone.css"),
    "another way": {**_call("fs.find", root="."), "any_of": [{"tool": "fs.trash", "args": {"paths": ["a.txt"]}}]},
    "a write over": _call("fs.write", path="a.txt", text="x", on_clash="replace"),
    "a way back": _call("fs.restore", tickets=["t-1"]),
    "a tool of others": _call("mcp.notes.save", text="x"),
}
ADDING = {
    "a new file": _call("fs.write", path="a.txt", text="x"),
    "a copy": _call("fs.copy", path="a.txt", to="b.txt"),
    "a program": _call("python.run", code="print(1)"),
    "a look": _call("fs.find", root="."),
}


def _submitted(*tasks: dict[str, Any], by: str, **more: Any) -> Driver:
    check = check_plan({"starloom": 1, "name": "Tidy", "tasks": list(tasks), **more})
    assert check.plan is not None, check.faults
    driver = Driver()
    driver.add_device("web", tools=[*TOOLS, *OFFERS])
    driver.submit(check.plan, by=by, approves=True)
    return driver


@pytest.mark.parametrize("task", TAKING.values(), ids=TAKING)
def test_t280_what_may_take_a_file_away_waits_for_a_person(task: dict[str, Any]) -> None:
    assert _submitted(task, by=ASSISTANT).state() == "awaiting_approval"
    assert _submitted(task, by="person:ann").state() == "active"


@pytest.mark.parametrize("task", ADDING.values(), ids=ADDING)
def test_t280_what_reads_or_adds_goes_on(task: dict[str, Any]) -> None:
    assert _submitted(task, by=ASSISTANT).state() == "active"


def test_t280_a_list_that_a_person_is_shown_needs_no_second_question() -> None:
    named = {"paths": {"from": "look", "output": "/files"}}
    tasks = [
        {"id": "look", "tool": "fs.find", "args": {"root": "."}, "device": {"name": "web"}},
        {"id": "sure", "person": "These?", "shows": {"from": "look", "output": "/files"}},
        {"id": "clear", "tool": "fs.trash", "device": {"name": "web"}, "inputs": named},
    ]
    assert _submitted(*tasks, by=ASSISTANT, dependencies=[{"from": "sure", "to": "clear"}]).state() == "active"
    assert _submitted(*tasks, by=ASSISTANT).state() == "awaiting_approval"


@pytest.mark.parametrize("task", TAKING.values(), ids=TAKING)
def test_t280_an_edit_adds_no_such_call(task: dict[str, Any]) -> None:
    driver = _submitted({**_call("fs.find", root="."), "id": "look"}, by=ASSISTANT)
    faults, operations = check_edit([{"add_task": task}])
    assert not faults
    refused = driver.edit(*operations, approves=False, by=ASSISTANT, reason="tidy").faults
    assert {one.code for one in refused} == {Code.FORBIDDEN}
    driver.folded_equals_state()


def test_t280_the_question_names_the_files() -> None:
    for task, words in ((TAKING["one file"], "'www/index.html' to the trash"), (TAKING["a move"], "to 'www/gone.css'")):
        (question,) = _submitted(task, by=ASSISTANT).shard.constellations["c1"].questions.values()
        assert words in question.text


UNDONE = {**_call("fs.find", root="."), "undo": {"tool": "fs.trash", "args": {"paths": ["app.py"]}}}


@pytest.mark.parametrize("task", [TAKING["another way"], UNDONE], ids=["another way", "undo"])
def test_t280_the_calls_that_a_person_is_shown_have_each_way_and_a_written_undo(task: dict[str, Any]) -> None:
    driver = _submitted(task, by=ASSISTANT)
    assert driver.state() == "awaiting_approval"
    found = driver.shard.constellations["c1"]
    calls = changing_calls(driver.shard.fleet, [*found.specs.values()], [])
    assert ("fs.trash", '{"paths":["app.py"]}' if "undo" in task else '{"paths":["a.txt"]}') in [
        (one.tool, one.args) for one in calls
    ]


UNDOS = {
    "copy over": {"tool": "fs.copy", "args": {"path": "a.csv", "to": "old.txt", "on_clash": "replace"}},
    "move": {"tool": "fs.move", "args": {"path": "app.py", "to": "gone.py"}},
    "of others": {"tool": "mcp.notes.save", "args": {"text": "x"}},
}


@pytest.mark.parametrize("undo", UNDOS.values(), ids=UNDOS)
def test_t280_an_undo_of_a_look_is_a_call_as_well(undo: dict[str, Any]) -> None:
    task = {**_call("fs.find", root="."), "undo": undo}
    assert _submitted(task, by=ASSISTANT).state() == "awaiting_approval"
    way_back = {"tool": "fs.trash", "outputs": {"paths": "/added"}}
    assert _submitted({**ADDING["a copy"], "undo": way_back}, by=ASSISTANT).state() == "active"
