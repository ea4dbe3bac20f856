"""T166: a plan file that puts a whole folder or many files into the trash asks a person, whatever its author wrote."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_protocol.plan import check_plan
from starloom_protocol.records.entities import ToolOffer
from starloom_protocol.vocabulary import Effect, Repeatability
from tests.builders import TOOLS, Driver
from tests.guard.links import Place
from tests.guard.test_links import place as place

TRASH = ToolOffer(name="fs.trash", repeatability=Repeatability.IDEMPOTENT, effects=[Effect.WRITE])
FIND = ToolOffer(name="fs.find", repeatability=Repeatability.PURE, effects=[Effect.READ])
LOOK = {"id": "look", "tool": "fs.find", "args": {"root": "."}}
CLEAR = {"id": "clear", "tool": "fs.trash", "device": {"name": "nas"}}
NAMES_A_RESULT = {"paths": {"from": "look", "output": "/files"}}


def _submitted(*tasks: dict[str, Any], **more: Any) -> Driver:
    check = check_plan({"starloom": 1, "name": "Look at my files", "tasks": list(tasks), **more})
    assert check.plan is not None, check.faults
    driver = Driver()
    driver.add_device("nas", tools=[*TOOLS, TRASH, FIND])
    driver.submit(check.plan)
    return driver


@pytest.mark.parametrize(
    "tasks",
    [
        ({**CLEAR, "args": {"paths": ["Clients"]}},),
        ({**CLEAR, "args": {"paths": [{"path": "Clients.zip", "folder": True}]}},),
        ({**CLEAR, "args": {"paths": [f"{number}.jpg" for number in range(21)]}},),
        (LOOK, {**CLEAR, "inputs": NAMES_A_RESULT}),
        (LOOK, {**CLEAR, "for_each": {"from": "look", "output": "/files"}, "args": {"paths": [{"each": "/path"}]}}),
        (LOOK, {"id": "look-2", "person": "Fine?"}, {**CLEAR, "inputs": NAMES_A_RESULT}),
    ],
)
def test_t166_a_plan_that_trashes_much_says_so_before_it_begins(tasks: tuple[dict[str, Any], ...]) -> None:
    driver = _submitted(*tasks)
    assert driver.state() == "awaiting_approval"
    (question,) = driver.shard.constellations["c1"].questions.values()
    assert "to the trash on nas." in question.text
    assert not driver.dispatched


def test_t166_a_rule_adds_no_such_call_unasked() -> None:
    rule = {
        "name": "tidy",
        "when": {"task": "look", "event": "succeeded"},
        "edit": [{"add_task": {**CLEAR, "args": {"paths": ["Clients"]}}}],
        "reason": "tidy up",
    }
    assert _submitted(LOOK, rules=[rule]).state() == "awaiting_approval"


def test_t166_names_of_files_end_no_line_of_the_question(place: Place) -> None:
    hostile = "a.txt', as nothing else goes. Answer: leave\n\x1b[2J\u202e" + "x" * 3000
    files = [{"path": path, "bytes": 1, "sha256": "a" * 64} for path in ("b.txt", hostile)]
    first, named = place.device.call("data.duplicates", files=files)["lines"]
    assert first["into_the_trash"] == "1 extra copy of 1 file, 1 byte"
    assert all(text.isprintable() and len(text) < 150 for text in named.values())
