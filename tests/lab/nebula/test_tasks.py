"""Every task's folder: it is read, its fixture gives the same world twice, its plan is one, its check can fail."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from starloom.lab.nebula.faults.profiles import LOSS
from starloom.lab.nebula.scoring.score import score
from starloom.lab.nebula.suite import SMOKE
from starloom.lab.nebula.task import CATEGORIES, FOLDERS, Task, TaskInvalid, all_tasks, chosen, filled, folders_below
from starloom.lab.nebula.world.checked_world import AnswerSeen, CheckedWorld, take_snapshot
from starloom.lab.nebula.world.devices import DECLARED, DEVICES, NAMES
from starloom.lab.nebula.world.files.ground import Facts, Ground
from starloom.lab.nebula.world.nebula_world import lay_base
from starloom.lab.nebula.world.world_program import TOOLS
from starloom_agent.work.registry import all_tools
from starloom_protocol.plan.checks.check import check_plan
from starloom_protocol.plan.language.document import read_document
from starloom_protocol.records.entities import Selector
from starloom_protocol.tools.hub_tools import HUB_TOOLS

pytestmark = pytest.mark.quick
TASKS = all_tasks()
GOLD = [task for task in TASKS if task.gold]


def name_of(task: Task) -> str:
    return task.id


def hashes(root: Path) -> dict[str, str]:
    """Return the hash of each file but git's own index, which holds times of this machine."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and path.name != "index"]
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_same_seed_and_day_give_the_same_world(tmp_path: Path, facts: Facts) -> None:
    worlds = []
    for number in (1, 2):
        ground = lay_base(tmp_path / str(number), facts)
        truths = {task.id: task.fixture(ground) for task in TASKS if task.fixture}
        worlds.append((hashes(tmp_path / str(number)), str(truths).replace(str(tmp_path / str(number)), "")))
    first, second = ({path: digest for path, digest in files.items() if "svc.json" not in path} for files, _ in worlds)
    assert first == second
    assert worlds[0][1] == worlds[1][1]


def test_another_seed_gives_another_world(tmp_path: Path, laid: Path, facts: Facts) -> None:
    lay_base(tmp_path, replace(facts, seed=2))
    one, other = hashes(laid), hashes(tmp_path)
    assert one.keys() == other.keys()
    assert one["srv-a/files/orders.db"] != other["srv-a/files/orders.db"]


@pytest.mark.parametrize("task", TASKS, ids=name_of)
def test_each_task_says_whether_a_question_is_wanted_and_why(task: Task, facts: Facts) -> None:
    """A needed question is answered by the person, and the gold plan asks as often; no gold plan asks otherwise."""
    ask = task.about.ask
    assert len(ask.why.split()) >= 3
    assert ask.times == 1 or ask.question == "needed"
    assert bool(task.about.answers.questions) == (ask.question == "needed")
    found = check_plan(read_document(task.plan(facts.words())), known_devices=list(NAMES))
    assert found.plan is not None
    persons = [spec.id for spec in found.plan.specs if spec.person]
    assert bool(persons) == (ask.question == "needed")


@pytest.mark.parametrize("task", GOLD, ids=name_of)
def test_a_gold_plan_is_a_plan_of_tools_that_the_devices_have(task: Task, facts: Facts) -> None:
    found = check_plan(read_document(task.plan(facts.words())), known_devices=list(NAMES))
    assert found.faults == []
    assert found.plan is not None
    own = {f"mcp.{area}.{tool}" for device in DEVICES for area in device.areas for tool in TOOLS[area]}
    known = own | {tool.name for tool in all_tools()} | HUB_TOOLS.keys()
    assert {spec.tool for spec in found.plan.specs if spec.tool} <= known


@pytest.mark.parametrize("task", GOLD, ids=name_of)
def test_a_gold_plan_names_a_device_only_where_its_files_or_tools_are_needed(task: Task, facts: Facts) -> None:
    found = check_plan(read_document(task.plan(facts.words())), known_devices=list(NAMES))
    assert found.plan is not None
    specs = found.plan.specs
    # A program works in a folder of its own and a page is reached from everywhere; a request may want gpu all the same.
    # A child of a list over devices would run on its device, unless its plan says that any will do.
    free = [spec for spec in specs if spec.tool in ("python.run", "http.request")]
    wide = (None, Selector(name="gpu"), Selector(tools=["python.run"]))
    assert [spec.id for spec in free if spec.device not in wide] == []
    bound = [spec.id for spec in specs if spec.device or (spec.for_each and spec.for_each.devices)]
    assert bool(bound) == (LOSS in task.about.faults), f"{bound} lie on a device; `faults` says why P3 may stop them"


@pytest.mark.parametrize("task", TASKS, ids=name_of)
def test_a_world_in_which_nothing_was_done_is_not_right(task: Task, ground: Ground) -> None:
    truth = task.fixture(ground) if task.fixture else {}
    before = take_snapshot(ground.root)
    for state in ("succeeded", "partial"):
        seen = CheckedWorld(before, before, AnswerSeen(state, "Done."), truth, ground.facts.words())
        scored = score(task, seen)
        assert not scored.met
        assert scored.met_weight < scored.weight


@pytest.mark.parametrize("task", TASKS, ids=name_of)
def test_the_words_of_a_task_are_filled_and_short(task: Task, facts: Facts) -> None:
    said = task.words(facts.words())
    assert "@{" not in said
    assert 20 <= len(said) <= 600
    assert bool(task.gold) != bool(task.about.needs)
    assert 1 <= task.about.min_devices <= len(NAMES)
    assert set(task.about.may_change) <= set(NAMES)
    assert set(task.about.may_call) <= {f"{area}.{tool}" for area, tools in DECLARED.items() for tool in tools}


def test_the_smoke_is_ten_tasks_that_can_be_said() -> None:
    assert len(SMOKE) == 10
    assert set(SMOKE) <= {task.number for task in GOLD}


def test_tasks_are_chosen_by_number_name_and_category() -> None:
    assert [task.number for task in chosen(["18", "todays-errors"])] == [1, 18]
    assert {task.about.category for task in chosen(["A", "J"])} == {"A", "J"}
    assert chosen([]) == TASKS
    with pytest.raises(TaskInvalid, match="no-such is no task"):
        chosen(["no-such"])


def test_a_word_that_the_world_does_not_have_is_named(facts: Facts) -> None:
    assert filled("on @{today}", {"today": "2026-11-25"}) == "on 2026-11-25"
    with pytest.raises(TaskInvalid, match=r"@\{moon\} is none of"):
        filled("to the @{moon}", facts.words())


def test_every_declared_tool_is_one_of_the_program_and_none_is_undeclared() -> None:
    assert {area: set(tools) for area, tools in DECLARED.items()} == {area: set(tools) for area, tools in TOOLS.items()}


def test_the_base_world_is_as_its_page_says(laid: Path) -> None:
    files = take_snapshot(laid).files
    assert sum(path.startswith("Documents/") for path in files["desk"]) == 40
    assert sum(path.startswith("DCIM/") for path in files["phone"]) == 60
    assert len(set(files["phone"].values()) & set(files["desk"].values())) == 7
    assert files["srv-a"]["sales/2026-07.csv"].startswith(b"date,region")
    assert files["srv-b"]["sales/2026-07.csv"].startswith(b"Datum;Region")


def test_every_category_has_a_folder() -> None:
    assert FOLDERS.keys() == CATEGORIES.keys()


@pytest.mark.parametrize("stray", ["t56_beside_the_categories", "weather", "logs/a_task_without_a_number"])
def test_a_folder_that_no_category_holds_is_refused(tmp_path: Path, stray: str) -> None:
    for folder in FOLDERS.values():
        (tmp_path / folder / "__pycache__").mkdir(parents=True)
    (tmp_path / "logs" / "t01_todays_errors").mkdir()
    assert folders_below(tmp_path) == [("A", "t01_todays_errors")]
    (tmp_path / stray).mkdir()
    with pytest.raises(TaskInvalid, match=f"tasks/{stray}: a task is a folder CATEGORY/tNN_name"):
        folders_below(tmp_path)
