"""A task of the user's own: the one that the documentation has, and folders that are none."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from starloom.lab.nebula.scoring.score import score
from starloom.lab.nebula.suite import Wanted, run_suite
from starloom.lab.nebula.task import TaskInvalid, chosen, own_tasks
from starloom.lab.nebula.world.checked_world import AnswerSeen, CheckedWorld, take_snapshot
from starloom.lab.nebula.world.files.ground import Facts, Ground
from tests.programs import command_line

DOCUMENT = Path(__file__).parents[3] / "docs" / "nebula.md"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Return a folder with the task of the documentation, as a reader would write it."""
    part = DOCUMENT.read_text().partition("## A task of your own")[2].partition("\n## ")[0]
    place = tmp_path / "mine" / re.findall(r"`mine/(t\d\d_\w+)`", part)[0]
    place.mkdir(parents=True)
    found = re.findall(r"^`([a-z.]+)` .*?```\w+\n(.*?)```", part, re.MULTILINE | re.DOTALL)
    assert [name for name, _ in found] == ["task.yaml", "task.py", "gold.yaml"]
    for name, text in found:
        (place / name).write_text(text)
    return tmp_path / "mine"


@pytest.mark.quick
def test_the_task_of_the_documentation_is_one(mine: Path, laid: Path, facts: Facts, tmp_path: Path) -> None:
    (task,) = own_tasks(mine)
    assert (task.id, task.about.category) == ("56-large-orders", "C")
    shutil.copytree(laid, tmp_path / "world")
    assert task.fixture is not None
    truth = task.fixture(Ground(tmp_path / "world", facts))
    before = take_snapshot(tmp_path / "world")
    untouched = CheckedWorld(before, before, AnswerSeen(""), truth, facts.words())
    assert score(task, untouched).missed == ["the file has the number"]


@pytest.mark.quick
def test_a_name_chooses_among_both_and_none_the_users_own(mine: Path) -> None:
    own = own_tasks(mine)
    assert [task.id for task in chosen([], own)] == ["56-large-orders"]
    assert [task.number for task in chosen(["1", "56", "large-orders"], own)] == [1, 56]
    assert len(chosen(["C"], own)) == len(chosen(["C"])) + 1
    ended = CliRunner().invoke(command_line(), ["bench", "nebula", "ls", "--own", str(mine)])
    assert ended.output.startswith("56-large-orders ")


@pytest.mark.quick
@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("task.yaml", "ask:", "asks:", "task.yaml: Object contains unknown field `asks`"),
        ("task.yaml", "category: C", "category: Z", "task.yaml: category Z is none of A, B"),
        ("task.yaml", "{desk:", "{tablet:", "task.yaml: tablet is no device and no own tool of one"),
        ("task.py", "import sqlite3", "import sqlite4", "task.py: ModuleNotFoundError: No module named 'sqlite4'"),
        ("task.py", "def checks", "def check", "task.py: it has no function `checks(world)`"),
        ("task.py", "def lay(", "def lay((", "task.py: SyntaxError"),
        ("gold.yaml", "", "", "without gold.yaml, `needs` says what is missing"),
    ],
)
def test_a_folder_that_is_no_task_is_named(mine: Path, file: str, old: str, new: str, said: str) -> None:
    path = mine / "t56_large_orders" / file
    if old:
        path.write_text(path.read_text().replace(old, new, 1))
    else:
        path.unlink()
    ended = CliRunner().invoke(command_line(), ["bench", "nebula", "run", "--own", str(mine)])
    assert ended.exit_code == 2
    assert said in ended.output.replace("\n", " ")


@pytest.mark.quick
def test_a_number_of_the_suite_and_a_folder_without_tasks_are_refused(mine: Path, tmp_path: Path) -> None:
    (mine / "t56_large_orders").rename(mine / "t18_large_orders")
    with pytest.raises(TaskInvalid, match="the number 18 is taken; take one from 56 on"):
        own_tasks(mine)
    (mine / "t18_large_orders").rename(mine / "large")
    with pytest.raises(TaskInvalid, match="large: a task is a folder tNN_name, such as t56_my_task"):
        own_tasks(mine)
    with pytest.raises(TaskInvalid, match="there is no folder"):
        own_tasks(tmp_path / "nowhere")


@pytest.mark.chaos
def test_the_task_of_the_documentation_is_met_beside_three_of_the_suite(mine: Path, tmp_path: Path) -> None:
    """On one world, with their checks examined: files, own tools, an approval of a device's owner."""
    said: list[str] = []
    tasks = [*chosen(["1", "18", "51"]), *own_tasks(mine)]
    wanted = Wanted(tasks, "gold", ["P0"], [1], tmp_path, examine=True)
    report = run_suite(wanted, said.append)
    assert report.misses == [], said
    assert not [line for line in said if "outlived" in line or "kept in" in line]
    folder = tmp_path / report.id
    document = json.loads((folder / "report.json").read_text())
    assert document["met"] is True
    assert document["totals"]["success"] == 4
    assert (folder / "report.md").read_text().startswith("# Nebula suite")
    kinds = {json.loads(line)["kind"] for line in (folder / "log.jsonl").read_text().splitlines()}
    assert {"request_accepted", "plan_made"} <= kinds
