"""T166, T246: a plan that puts a folder or many files into the trash asks a person, whatever its author wrote."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.core.people.approvals.need import needs_approval
from starloom.core.state import inputs as i
from starloom.core.state.apply import put
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.preview.plan import preview
from starloom_protocol.plan import check_edit, check_plan
from starloom_protocol.records.entities import RecipeVersion, ToolOffer
from starloom_protocol.vocabulary import Code, Effect, Repeatability
from tests.builders import TOOLS, Driver
from tests.core.plan.goals.pursued import Pursued
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


def test_a_question_says_that_the_list_is_not_known_and_how_it_is() -> None:
    driver = _submitted(LOOK, {**CLEAR, "inputs": NAMES_A_RESULT})
    (question,) = driver.shard.constellations["c1"].questions.values()
    assert "may move files that are not known yet to the trash on nas." in question.text
    assert "put a question that shows it before the trash" in question.text
    (plain,) = _submitted({**CLEAR, "args": {"paths": ["Clients"]}}).shard.constellations["c1"].questions.values()
    assert "not known" not in plain.text
    asked: dict[str, Any] = {"id": "sure", "person": "These?", "shows": {"from": "look", "output": "/files"}}
    asked["choices"] = [{"value": "go", "label": "Go"}, {"value": "keep", "label": "Keep", "fails": True}]
    shown = _submitted(LOOK, asked, {**CLEAR, "inputs": NAMES_A_RESULT}, dependencies=[{"from": "sure", "to": "clear"}])
    assert shown.state() == "active"
    check = check_plan(
        {
            "starloom": 1,
            "tasks": [LOOK, asked, {**CLEAR, "inputs": NAMES_A_RESULT}],
            "dependencies": [{"from": "sure", "to": "clear"}],
        }
    )
    assert check.plan is not None, check.faults
    held = Driver()
    held.add_device("nas", tools=[*TOOLS, TRASH, FIND])
    held.do(i.RequestReceived(id=held.ident(), by="person:ann", constellation="c1", request="clear the doubles"))
    who: dict[str, Any] = {"by": "worker:w", "constellation": "c1", "job": "plan-1", "worker": "w"}
    held.do(i.JobClaimed(id=held.ident(), ttl_ms=60_000, **who))
    assert not held.do(i.PlanProposed(id=held.ident(), plan=check.plan, **who)).faults
    (first,) = held.shard.constellations["c1"].questions.values()
    assert "Before they go, a question shows the list of them." in first.text
    assert "deny this" not in first.text


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


FILES = [f"{number}.jpg" for number in range(12)]
ROTATE = ToolOffer(name="archive.rotate", repeatability=Repeatability.IDEMPOTENT, effects=[Effect.WRITE])
BACKUP = [
    LOOK,
    {"id": "rotate", "tool": "archive.rotate", "args": {"keep": 1}, "inputs": {"files": {"from": "look"}}},
]
MANY = [{**CLEAR, "id": f"clear-{part}", "args": {"paths": [f"{part}/{file}" for file in FILES]}} for part in range(2)]
NO = {"value": "no", "label": "No", "fails": True}
SHOWS = {"from": "look", "output": "/files"}
GO = {"value": "go", "label": "Go"}
FOUND = {**CLEAR, "inputs": NAMES_A_RESULT}
UNDONE = {"id": "look", "tool": "fs.find", "args": {"root": "."}}


def _asks(**question: Any) -> dict[str, Any]:
    return {"id": "ask", "person": "Is all well?", **question}


OTHER = {**LOOK, "id": "other"}
LINES = {"id": "lines", "tool": "t.pure", "inputs": {"rows": SHOWS}}
SECOND = {"paths": {"from": "other", "output": "/files"}}
AFTER = [{"add_dependency": {"from": "ask", "to": "more"}}]
BEHIND = {"dependencies": [{"from": "ask", "to": "clear"}]}


@pytest.mark.parametrize(
    "tasks",
    [
        [LOOK, _asks(), FOUND],
        [LOOK, OTHER, _asks(shows={"from": "other", "output": "/files"}), FOUND],
        [LOOK, OTHER, _asks(shows=SHOWS), {**FOUND, "inputs": SECOND}],
    ],
    ids=["nothing", "other", "another call"],
)
def test_t246_a_question_about_something_else_lets_no_list_go(tasks: list[dict[str, Any]]) -> None:
    driver = _submitted(*tasks, **BEHIND)
    assert driver.state() == "awaiting_approval"
    assert not driver.dispatched


def test_t246_no_question_covers_a_rotation_which_it_cannot_show() -> None:
    driver = Driver()
    driver.add_device("nas", tools=[*TOOLS, TRASH, FIND, ROTATE])
    dependencies = [{"from": "ask", "to": "rotate"}]
    check = check_plan(
        {"starloom": 1, "name": "Tidy", "tasks": [*BACKUP, _asks(shows=SHOWS)], "dependencies": dependencies}
    )
    assert check.plan is not None, check.faults
    driver.submit(check.plan)
    assert driver.state() == "awaiting_approval"


@pytest.mark.parametrize(
    "change",
    [
        {"update_task": {"id": "clear", "inputs": {"paths": {"from": "other", "output": "/files"}}}},
        {"reassign": {"id": "clear", "device": {"name": "desk"}}},
        {"add_task": {**FOUND, "id": "more", "device": {"name": "desk"}}},
    ],
    ids=["list", "device", "another"],
)
@pytest.mark.parametrize("approves", [True, False])
def test_t246_a_yes_to_one_list_counts_for_no_later_change(change: dict[str, Any], *, approves: bool) -> None:
    driver = _submitted(LOOK, OTHER, _asks(shows=SHOWS), FOUND, **BEHIND)
    driver.add_device("desk", tools=[*TOOLS, TRASH, FIND])
    for look in driver.take():
        driver.result(look, {"files": [{"path": f"{look.at.task}.txt"}]})
    (question,) = driver.shard.constellations["c1"].open_questions
    driver.control("pause")
    assert not driver.answer_question(question, "done").faults
    faults, operations = check_edit([change, *AFTER[: "add_task" in change]])
    assert not faults
    refused = driver.edit(*operations, approves=approves, by="person:lo", reason="tidy").faults
    assert [one.code for one in refused] == ([] if approves else [Code.FORBIDDEN])
    driver.folded_equals_state()


def _rule(**changes: Any) -> dict[str, Any]:
    return {
        "name": "less",
        "when": {"task": "look", "event": "failed"},
        "edit": [{"update_task": {"id": "clear", **changes}}],
        "reason": "less",
    }


@pytest.mark.parametrize(
    ("tasks", "more"),
    [
        (MANY, {}),
        ([{**CLEAR, "args": {"paths": [file]}, "id": f"clear-{at}"} for at, file in enumerate([*FILES, *FILES])], {}),
        ([LOOK, {**CLEAR, "args": {"paths": ["Clients"]}}], {"rules": [_rule(args={"paths": ["a.txt"]})]}),
        ([LOOK, _asks(), FOUND], {"dependencies": [{"from": "ask", "to": "clear", "when": "failure"}]}),
        ([LOOK, _asks(), FOUND], {"dependencies": [{"from": "ask", "to": "clear", "when": "finish"}]}),
        ([LOOK, _asks(choices=[GO]), FOUND], {"dependencies": [{"from": "ask", "to": "clear"}]}),
        (
            [LOOK, _asks(), {**LOOK, "id": "then"}, FOUND],
            {"dependencies": [{"from": "ask", "to": "then"}, {"from": "then", "to": "clear", "when": "finish"}]},
        ),
        (
            [LOOK, _asks(), {**CLEAR, "inputs": {**NAMES_A_RESULT, "under": {"from": "ask", "optional": True}}}],
            {},
        ),
        ([{**UNDONE, "undo": {"tool": "fs.trash", "args": {"paths": ["Clients"]}}}], {}),
        ([{**UNDONE, "undo": {"tool": "fs.trash", "outputs": {"paths": "/files"}}}], {}),
    ],
    ids=["twenties", "ones", "rule", "no", "any answer", "no choice", "skipped", "optional", "undo", "undo of a look"],
)
def test_t175_a_plan_in_pieces_or_beside_its_question_waits_as_well(
    tasks: list[dict[str, Any]], more: dict[str, Any]
) -> None:
    driver = _submitted(*tasks, **more)
    assert driver.state() == "awaiting_approval"
    assert not driver.dispatched


@pytest.mark.parametrize(
    ("tasks", "more"),
    [
        (MANY[:1], {}),
        ([LOOK, _asks(shows=SHOWS), FOUND], {"dependencies": [{"from": "ask", "to": "clear"}]}),
        ([LOOK, _asks(choices=[GO, NO], shows=SHOWS), FOUND], {"dependencies": [{"from": "ask", "to": "clear"}]}),
        (
            [LOOK, _asks(shows=SHOWS), {**LOOK, "id": "then"}, FOUND],
            {"dependencies": [{"from": "ask", "to": "then"}, {"from": "then", "to": "clear"}]},
        ),
        (
            [LOOK, LINES, _asks(shows={"from": "lines", "output": "/rows"}), FOUND],
            {"dependencies": [{"from": "ask", "to": "clear"}]},
        ),
        ([{**UNDONE, "undo": {"tool": "fs.trash", "outputs": {"paths": "/added"}}}], {}),
        ([{**UNDONE, "undo": {"tool": "fs.trash", "args": {"paths": ["a.txt"]}}}], {}),
    ],
    ids=["twelve", "asked", "choices", "on the way", "a part", "what was added", "undo of one"],
)
def test_t175_a_plan_that_asks_or_trashes_little_goes_on(tasks: list[dict[str, Any]], more: dict[str, Any]) -> None:
    assert _submitted(*tasks, **more).state() == "active"


@pytest.mark.parametrize(
    ("by", "approves", "waits"),
    [
        ("person:ann", True, False),
        ("person:ann", False, True),
        ("program:backup", False, True),
        ("assistant:helper", True, True),
    ],
)
def test_t190_a_recipe_asks_unless_who_starts_it_may_answer(by: str, *, approves: bool, waits: bool) -> None:
    """An assistant chose `keep: 1`, so all older backups went into the trash; the same in words waits."""
    check = check_plan({"starloom": 1, "name": "Folder backup", "tasks": BACKUP})
    assert check.plan is not None, check.faults
    driver = Driver()
    driver.add_device("nas", tools=[*TOOLS, TRASH, FIND, ROTATE])
    made = replace(check.plan, recipe="backup-folder")
    assert needs_approval(driver.shard.fleet, made, strict=False, by=by, approves=approves) is waits
    asked = i.RequestReceived(approves=approves, by=by, constellation="c1", id=driver.ident(), plan=made)
    assert not driver.do(asked).faults
    assert driver.state() == ("awaiting_approval" if waits else "active")
    if waits:
        (question,) = driver.shard.constellations["c1"].questions.values()
        assert "move all backups but the last 1 to the trash on nas." in question.text
        assert not driver.dispatched


def test_t190_a_plan_of_a_person_that_rotates_asks_too() -> None:
    driver = Driver()
    driver.add_device("nas", tools=[*TOOLS, TRASH, FIND, ROTATE])
    check = check_plan({"starloom": 1, "name": "Tidy", "tasks": BACKUP})
    assert check.plan is not None, check.faults
    driver.submit(check.plan)
    assert driver.state() == "awaiting_approval"


WIPES = {**CLEAR, "args": {"paths": ["Clients"]}}
SWEEP = RecipeVersion(at_ms=1, author="assistant:claude", name="sweep", number=1, text="", title="Sweep")


@pytest.mark.parametrize("author", ["assistant:claude", "model", "person:ann"])
def test_t175_a_recipe_that_a_model_kept_was_read_by_nobody(author: str) -> None:
    check = check_plan({"starloom": 1, "name": "Sweep", "tasks": [WIPES]}, recipe="sweep")
    assert check.plan is not None, check.faults
    driver = Driver()
    driver.add_device("nas", tools=[*TOOLS, TRASH, FIND])
    put(driver.shard, driver.shard.fleet, "recipe", "sweep/1", replace(SWEEP, author=author))
    fleet = driver.shard.fleet
    seen = FleetSnapshot.of(fleet.devices, fleet.offers, recipes=fleet.recipes)
    driver.submit(check.plan, recipe="sweep")
    assert driver.state() == ("active" if author == "person:ann" else "awaiting_approval")
    assert preview(check.plan, seen, words=False, by="person:bea").asks_approval == (author != "person:ann")


def test_t175_a_plan_that_is_changed_while_it_waits_asks_about_the_trash_too() -> None:
    driver = _submitted(
        LOOK, {"id": "write", "tool": "t.never", "device": {"name": "nas"}}, policy={"approval": "always"}
    )
    (before,) = driver.shard.constellations["c1"].open_questions
    faults, operations = check_edit([{"add_task": WIPES}])
    assert not faults
    edit = i.EditProposed(
        approves=False,
        base_version=1,
        by="token:operator",
        constellation="c1",
        id=driver.ident(),
        operations=operations,
        reason="tidy",
    )
    assert not driver.do(edit).faults
    (after,) = driver.shard.constellations["c1"].open_questions
    assert after != before
    assert "move 'Clients' to the trash on nas." in driver.shard.constellations["c1"].questions[after].text


def test_t175_a_goal_that_may_trash_waits_for_its_envelope() -> None:
    one = Pursued(goal={"may": {"tools": ["fs.read", "fs.trash"], "paths": ["notes"]}})
    assert one.state() == "awaiting_approval"
    assert not one.made.jobs
    reads = Pursued(goal={"may": {"tools": ["fs.read"], "paths": ["notes"]}})
    assert reads.state() == "active"
