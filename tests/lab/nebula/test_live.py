"""Runs of the suite on real processes: scripted models, faults, signals, and the words of its commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from starloom.lab.installation import left_over
from starloom.lab.nebula.suite import Wanted, run_suite
from starloom.lab.nebula.task import chosen
from tests.programs import command_line
from tests.waiting import SLOWER


@pytest.mark.chaos
@pytest.mark.parametrize(("kind", "number", "last"), [("naive", "12", "succeeded"), ("hostile", "8", "cancelled")])
def test_a_scripted_model_mends_its_plan_and_a_hostile_one_does_nothing(
    tmp_path: Path, kind: str, number: str, last: str
) -> None:
    said: list[str] = []
    report = run_suite(Wanted(chosen([number]), "script", ["P0"], [1], tmp_path, kind=kind), said.append)
    assert report.misses == [], said
    assert [run.state for run in report.runs] == [last]
    events = [json.loads(line) for line in (tmp_path / report.id / "log.jsonl").read_text().splitlines()]
    assert "model_used" in {event["kind"] for event in events}


@pytest.mark.chaos
def test_a_task_survives_a_killed_agent_and_a_killed_hub(tmp_path: Path) -> None:
    said: list[str] = []
    report = run_suite(Wanted(chosen(["1"]), "gold", ["P1", "P4"], [1], tmp_path), said.append)
    assert report.misses == [], said
    assert [(run.profile, run.end, len(run.struck)) for run in report.runs] == [("P1", "met", 1), ("P4", "met", 1)]
    assert all("not broken" not in run.struck[0] for run in report.runs)
    assert "The gate is met." in (tmp_path / report.id / "report.html").read_text()


@pytest.mark.chaos
@pytest.mark.parametrize(
    ("words", "at", "code", "never"),
    [
        (["up", "WORLD"], "starting", 130, "ready."),
        (["up", "WORLD"], "ready", 0, "interrupted"),
        (["run", "--smoke"], "starting", 130, "kept in"),
        (["run", "--smoke"], "ok  ", 130, "kept in"),
    ],
)
def test_a_signal_at_any_stage_leaves_nothing(tmp_path: Path, words: list[str], at: str, code: int, never: str) -> None:
    """Two signals come, as of somebody who presses Ctrl-C twice; `timeout` names the world in its own words."""
    places = {name: tmp_path / name for name in ("home", "temporary", "work")}
    for place in places.values():
        place.mkdir()
    world = tmp_path / "world"
    argv = [sys.executable, "-P", "-m", "starloom.cli", "bench", "nebula"]
    argv += [str(world) if word == "WORLD" else word for word in words]
    environment = {**os.environ, "HOME": str(places["home"]), "TMPDIR": str(places["temporary"])}
    environment |= {"XDG_DATA_HOME": "", "STARLOOM_HOME": ""}
    ran = ["timeout", "--foreground", str(120 * SLOWER), *argv]
    said: list[str] = []
    sent = False
    with subprocess.Popen(ran, stderr=subprocess.PIPE, cwd=places["work"], env=environment, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line)
            if at in line and not sent:
                (own,) = psutil.Process(process.pid).children()
                own.send_signal(signal.SIGINT)
                own.send_signal(signal.SIGTERM)
                sent = True
    text = "".join(said)
    assert process.returncode == code, text
    assert "outlived" not in text
    assert "submitted" not in text
    assert never not in text
    assert list(left_over(tmp_path)) == []
    ended = text.count("ok  ")
    left = {name: [path.name for path in place.iterdir()] for name, place in places.items()}
    assert left == {"home": [], "temporary": [], "work": ["nebula-runs"] if ended else []}
    reports = [json.loads(path.read_text()) for path in places["work"].glob("nebula-runs/*/report.json")]
    assert len(reports) == bool(ended)
    for report in reports:
        assert (report["interrupted"], report["met"], len(report["runs"])) == (True, False, ended)
        assert report["misses"][0] == f"interrupted: {ended} of 10 runs ended"


@pytest.mark.quick
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "99"], "99 is no task and no category"),
        (["run", "--planner", "magic"], "--planner magic is none of gold, none, script, model"),
        (["run", "--faults", "P9"], "--faults P9 is none of P0, P1, P2, P3, P4, P5"),
        (["run", "--faults", "P3..P1"], "--faults P3..P1 ends before it begins; write P1..P3"),
        (["run", "--baseline", "fast"], "--baseline fast is none of seq, static, norecover"),
        (["run", "--baseline", "seq", "--planner", "none"], "a recipe has its own"),
        (["run", "18", "--smoke"], "--smoke names its own tasks"),
        (["run", "18", "--hub", "http://127.0.0.1:9"], "never on a hub that is there"),
        (["run", "18", "--planner", "model", "--baseline", "seq"], "a live model has its own"),
        (["run", "18", "--planner", "script", "--kind", "rude"], "--kind rude is none of good, naive, hostile"),
        (["run", "18", "--kind", "naive"], "--kind naive needs --planner script"),
        (["run", "06", "--planner", "script", "--kind", "tiered-hostile"], "has a transcript tiered-hostile"),
        (["run", "18", "--record", "new"], "--record needs --planner model"),
        (["run", "18", "--planner", "script", "--replay", "."], "--replay needs --planner model"),
        (["run", "18", "--planner", "model", "--record", "new", "--replay", "."], "--record and --replay are two runs"),
        (["run", "18", "--planner", "model", "--record", "."], ". is not an empty folder"),
        (["run", "18", "--planner", "model", "--replay", "nowhere"], "there is no folder nowhere"),
        (["run", "18", "--planner", "model", "--accept-prompts"], "--accept-prompts needs --replay"),
        (["up", "."], "is not an empty folder"),
    ],
)
def test_wrong_words_start_nothing_and_say_the_way_out(words: list[str], said: str) -> None:
    ended = CliRunner().invoke(command_line(), ["bench", "nebula", *words])
    assert ended.exit_code == 2
    assert said in ended.output


@pytest.mark.quick
def test_the_list_names_every_task_and_what_it_needs() -> None:
    ended = CliRunner().invoke(command_line(), ["bench", "nebula", "ls", "--json"])
    items = json.loads(ended.output)["items"]
    assert len(items) == len(chosen([])) == 55
    assert {item["task"] for item in items if item["needs"]} == {task.id for task in chosen([]) if not task.gold}
