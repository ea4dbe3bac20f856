"""Plans that put a folder or many files into the trash wait for a person, unless they ask one themselves."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.core.rights.call_effects import NAMED_FILES_MOST, wide_trash
from starloom.core.state import inputs as i
from starloom_protocol.plan.lowering.tasks import DEFAULT_CHOICES
from starloom_protocol.records.edits import AddTask, LoweredPlan
from starloom_protocol.records.entities import ForEach, OtherCall, Policy, Selector, TaskSpec, ToolOffer
from starloom_protocol.records.specs import Shows
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Approval, Code, Effect, Repeatability
from tests.builders import TOOLS, Driver, edge, plan, task

TRASH = ToolOffer(name="fs.trash", repeatability=Repeatability.IDEMPOTENT, effects=[Effect.WRITE])
OPERATOR = "token:operator"


def _trash(*paths: Any, inputs: tuple[str, ...] = (), **fields: Any) -> TaskSpec:
    args = canonical({"paths": list(paths)}) if paths else "{}"
    return task("clear", *inputs, tool="fs.trash", args=args, device="one", **fields)


def _driver(made: LoweredPlan, **more: Any) -> Driver:
    driver = Driver()
    driver.add_device("one", tools=[*TOOLS, TRASH])
    driver.submit(made, **more)
    return driver


def _question(driver: Driver) -> str:
    (question,) = driver.shard.constellations["c1"].questions.values()
    return question.text


@pytest.mark.parametrize(
    "path",
    [
        "Projects",
        "a/Projects/",
        "Photos.2024",
        "repo.git",
        "conf.d",
        ".config",
        ".",
        "x.jpeg-backup",
        {"path": "Projects.zip", "folder": True},
        {"path": "Projects"},
    ],
)
def test_a_path_that_may_be_a_folder_waits_for_a_person(path: Any) -> None:
    driver = _driver(plan(_trash("a.txt", path), name="Tidy up"))
    assert driver.state() == "awaiting_approval"
    shown = path["path"] if isinstance(path, dict) else path
    assert _question(driver) == f"Run Tidy up? It may move 'a.txt', '{shown}' to the trash on one."


@pytest.mark.parametrize("path", ["a.txt", "x/IMG_1 (copy).JPG", "notes.md", "a.tar.gz", "song.mp3", "x.7z"])
def test_some_named_files_go_unasked(path: str) -> None:
    paths = [f"{number}{path}" for number in range(NAMED_FILES_MOST - 1)]
    assert _driver(plan(_trash(path, *paths))).state() == "active"


def test_more_files_than_a_person_reads_wait_and_are_counted() -> None:
    driver = _driver(plan(_trash(*(f"{number}.txt" for number in range(NAMED_FILES_MOST + 1)))))
    assert driver.state() == "awaiting_approval"
    assert "move '0.txt', '1.txt', '2.txt' and 18 more to the trash on one." in _question(driver)
    (call,) = driver.shard.constellations["c1"].questions["approve-plan"].calls
    assert call.tool == "fs.trash"


@pytest.mark.parametrize(
    "clear",
    [
        _trash(inputs=("paths=look/files",)),
        _trash({"each": "/path"}, for_each=ForEach(source="look", output="/files")),
        _trash("a.txt", any_of=[OtherCall(args=canonical({"paths": ["Projects"]}), tool="fs.trash")]),
    ],
)
def test_files_that_a_result_names_wait_for_a_person(clear: TaskSpec) -> None:
    driver = _driver(plan(task("look"), clear, edge("look>clear")))
    assert driver.state() == "awaiting_approval"
    assert "to the trash on one." in _question(driver)


def test_a_plan_that_asks_on_the_way_is_not_asked_about() -> None:
    shown = Shows(output="/files", source="look")
    asked = task("agree", person="Into the trash?", choices=list(DEFAULT_CHOICES), shows=shown)
    clear = _trash(inputs=("paths=look/files",))
    assert _driver(plan(task("look"), asked, clear, edge("look>agree"), edge("agree>clear"))).state() == "active"
    beside = plan(task("look"), asked, clear, edge("look>agree"), edge("look>clear"))
    assert _driver(beside).state() == "awaiting_approval"


def test_the_owner_waives_it_by_policy_or_for_good_and_a_recipe_by_its_keeping() -> None:
    assert _driver(plan(_trash("Projects"), policy=Policy(approval=Approval.NEVER))).state() == "active"
    assert _driver(plan(_trash("Projects"), recipe="tidy")).state() == "active"
    driver = _driver(plan(_trash("Projects")))
    answer = i.QuestionAnswered(
        by="person:ann", constellation="c1", id=driver.ident(), question="approve-plan", value="always"
    )
    assert driver.do(answer).faults == []
    driver.submit(plan(_trash("Projects")), name="c2")
    driver.submit(plan(_trash("Others")), name="c3")
    assert [driver.state(name) for name in ("c1", "c2", "c3")] == ["active", "active", "awaiting_approval"]


def test_another_write_of_the_same_plan_is_still_named() -> None:
    driver = _driver(plan(_trash("Projects", files_out=[]), task("other", tool="t.never", device="one")))
    assert "move 'Projects' to the trash on one. Its other tasks may write." in _question(driver)


def test_an_undo_by_the_trash_is_no_call_of_it() -> None:
    assert wide_trash([task("copy", tool="t.idem")], []) == {}


def test_an_edit_by_who_may_not_approve_adds_no_such_call() -> None:
    driver = _driver(plan(task("look"), task("more", tool="t.never", device="one")))
    refused = driver.edit(AddTask(spec=_trash("Projects")), base=1, approves=False, by=OPERATOR, reason="tidy")
    assert [(one.code, one.reason) for one in refused.faults] == [
        (Code.FORBIDDEN, "clear may put the whole folder 'Projects' into the trash")
    ]


def test_the_question_names_what_another_call_puts_into_the_trash() -> None:
    other = OtherCall(args=canonical({"paths": ["Projects"]}), device=Selector(name="two"), tool="fs.trash")
    driver = Driver("one")
    driver.add_device("two", tools=[*TOOLS, TRASH])
    driver.submit(plan(task("note", tool="t.idem", device="one", any_of=[other]), name="Note"), by="assistant:helper")
    assert _question(driver).startswith("Run Note? It may write and move 'Projects' to the trash on one and two.")
    only = Driver("one")
    only.add_device("one", tools=[*TOOLS, TRASH])
    only.submit(plan(_trash("a.txt", any_of=[replace(other, device=None)]), name="Tidy up"))
    said = "Run Tidy up? It may move 'a.txt' to the trash and move 'Projects' to the trash on one."
    assert _question(only).startswith(said)
