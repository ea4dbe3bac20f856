"""Worlds that change while a gold plan runs: its programs on the calls of the devices' own tools, step by step."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from starloom.lab.nebula.scoring.score import score
from starloom.lab.nebula.task import Task, chosen
from starloom.lab.nebula.world.checked_world import AnswerSeen, CheckedWorld, Meanwhile, take_snapshot
from starloom.lab.nebula.world.files.ground import WORLD, Facts, Ground
from starloom.lab.nebula.world.world_program import Refused, call
from starloom_protocol.plan.checks.check import check_plan
from starloom_protocol.plan.language.document import read_document
from starloom_protocol.records.entities import TaskSpec
from starloom_protocol.vocabulary import Need
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.quick


def specs_of(task: Task, facts: Facts) -> dict[str, TaskSpec]:
    found = check_plan(read_document(task.plan(facts.words())))
    assert found.plan is not None
    return {spec.id: spec for spec in found.plan.specs}


def program(spec: TaskSpec, rows: Any, folder: Path) -> dict[str, Any]:
    """Run the program of a task of a plan over its input and return its result."""
    folder.mkdir()
    (folder / "input.json").write_text(json.dumps(rows))
    args = json.loads(spec.args)
    argv = [sys.executable, "-I", "-c", args["code"], *args["argv"]]
    subprocess.run(argv, cwd=folder, check=True, timeout=PATIENCE_S)
    return dict(json.loads((folder / "result.json").read_text()))


@pytest.mark.parametrize("changes_before", ["friday", "monday", "move", "tell"])
def test_a_meeting_that_others_move_stays_there_and_each_person_is_told_where_it_is(
    ground: Ground, facts: Facts, tmp_path: Path, changes_before: str
) -> None:
    (task,) = chosen(["37"])
    assert task.fixture is not None
    assert task.change is not None
    task.fixture(ground)
    before, words, desk = take_snapshot(ground.root), facts.words(), ground.root / "desk" / WORLD
    specs, changed = specs_of(task, facts), Meanwhile("")

    def tool(area: str, name: str, **args: Any) -> dict[str, Any]:
        return call(area, desk, name, args, sleep=lambda _s: None)

    def listed(day: str) -> list[Any]:
        return list(tool("cal", "list", day=words[day])["rows"])

    def come_to(step: str) -> None:
        nonlocal changed
        if step == changes_before and task.change is not None:
            changed = task.change(ground)

    come_to("friday")
    friday = listed("friday")
    come_to("monday")
    moves = program(specs["plan"], friday + listed("monday"), tmp_path / "plan")["moves"]
    come_to("move")
    for one in moves:
        # The list goes on where a call fails, as `need` says.
        with suppress(Refused):
            tool("cal", "move", **one, day=words["monday"])
    shown = program(specs["proof"], listed("monday") + moves, tmp_path / "proof")
    come_to("tell")
    for mail in shown["mails"]:
        tool("mail", "send", to=mail["to"], subject="Moved", text=mail["text"])

    assert specs["move"].for_each is not None
    assert specs["move"].for_each.need is Need.BEST_EFFORT
    seen = CheckedWorld(before, take_snapshot(ground.root), AnswerSeen("succeeded", "Done."), {}, words)
    scored = score(task, changed.known_to(seen))
    assert scored.missed == []
    now = {one["title"]: one["start"] for one in listed("monday")}
    assert all(one["start"] == now[one["title"]] for one in shown["moved"])
