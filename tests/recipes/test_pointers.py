"""A plan that points at what a tool never gives is refused before it runs: typed at a real hub with real agents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from starloom_protocol.plan import read_document
from tests.recipes.fleet import Fleet
from tests.waiting import PATIENCE_S

PLAN = """
starloom: 1
name: Biggest folders
tasks:
  - {id: usage, tool: disk.usage, device: {name: laptop}, args: {top: TOP}}
  - {id: sorted, tool: data.sort, inputs: {rows: {from: usage, output: POINTER}}, args: {by: [-bytes]}}
result:
  - {title: Folders, from: sorted, output: /rows}
"""


def typed(fleet: Fleet, *words: str) -> tuple[int, str]:
    """Return the exit code of a command and all that it said."""
    argv = [sys.executable, "-m", "starloom.cli", *words, "--hub", fleet.client.address.url]
    environment = {**os.environ, "STARLOOM_TOKEN": str(fleet.client.address.token), "COLUMNS": "200"}
    ran = subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=PATIENCE_S, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def plan(folder: Path, pointer: str, top: str = "5") -> str:
    path = folder / "plan.yaml"
    path.write_text(PLAN.replace("POINTER", pointer).replace("TOP", top), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("words", [("--preview",), ("--wait",)])
def test_a_pointer_at_nothing_is_told_with_what_is_there(words: tuple[str, ...], fleet: Fleet, tmp_path: Path) -> None:
    code, said = typed(fleet, "submit", "-f", plan(tmp_path, "/folders", "'5'"), *words)
    assert code == 2, said
    assert "tasks[1].inputs.rows.output" in said
    assert "`disk.usage` gives no `/folders`" in said
    assert "tasks[0].args.top" in said
    assert typed(fleet, "submit", "-f", plan(tmp_path, "/rows"), "--preview")[0] == 0


def test_an_edit_that_points_at_nothing_is_refused(fleet: Fleet, tmp_path: Path) -> None:
    document: Any = read_document(PLAN.replace("POINTER", "/rows").replace("TOP", "5"))
    made = fleet.client.post("/constellations", {"plan": document, "hold": True})
    inputs = {"rows": {"from": "usage", "output": "/row"}}
    change = [{"add_task": {"id": "more", "tool": "data.sort", "args": {"by": ["bytes"]}, "inputs": inputs}}]
    edit = tmp_path / "edit.json"
    edit.write_text(json.dumps({"operations": change}), encoding="utf-8")
    code, said = typed(fleet, "edit", made["id"], "-f", str(edit))
    assert code == 2, said
    assert "operations[0].add_task.inputs.rows.output" in said
    assert "Did you mean `rows`?" in said


def test_a_tool_is_shown_with_the_fields_of_its_result(fleet: Fleet) -> None:
    code, said = typed(fleet, "tools", "show", "fs.trash")
    assert code == 0, said
    assert "paths" in said
    assert "items[device? files? folder? path ticket]" in said
    assert typed(fleet, "tools", "show", "fs.trush")[0] == 2
