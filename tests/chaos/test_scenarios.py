"""Every scenario of `recipes/scenarios/` from the command line, as a person runs it; and one that must fail, fails."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from starloom.lab.installation import left_over
from tests.arch.checkout import ROOT
from tests.programs import ran
from tests.tiers import first_in_test
from tests.waiting import PATIENCE_S, SLOWER, until

pytestmark = pytest.mark.chaos

SCENARIOS = sorted((ROOT / "recipes" / "scenarios").glob("*.yaml"))
MOST_S = 240.0 * SLOWER


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "starloom.cli", "chaos", "run", *words]


def run(*words: str, place: Path) -> subprocess.CompletedProcess[str]:
    """Run the command with its folders below a place, so that what it leaves can be seen."""
    return ran(command(*words), timeout=MOST_S, env={**os.environ, "TMPDIR": str(place)})


def begun_by_ledgers(lab: Path, task: str) -> int:
    """Count the attempts of a task that the devices of a lab have begun, by their own ledgers."""
    begun = 0
    for ledger in lab.glob("agents/*/ledger.sqlite"):
        with closing(sqlite3.connect(ledger)) as database:
            counted = database.execute("SELECT count(began_s) FROM attempts WHERE task = ?", (task,))
            begun += int(counted.fetchone()[0])
    return begun


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder whose path is short enough for a Unix socket below it."""
    with tempfile.TemporaryDirectory(prefix="sl-t-", ignore_cleanup_errors=True) as made:
        yield Path(made)


@pytest.mark.parametrize("path", first_in_test(SCENARIOS), ids=lambda path: path.stem)
def test_a_scenario_is_met_and_leaves_nothing(path: Path, place: Path) -> None:
    done = run(str(path), "--json", place=place)
    assert done.returncode == 0, done.stdout + done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["met"] is True
    faults = yaml.safe_load(path.read_text())["faults"]
    assert [line["kind"] for line in told["story"]].count("fault") == len(faults)
    assert any(line["kind"] == "engine" for line in told["story"])
    assert list(place.glob("sl-lab-*")) == []
    assert list(left_over(place)) == []


def test_a_scenario_that_must_fail_does_fail_and_says_why(place: Path) -> None:
    wrong = yaml.safe_load((ROOT / "recipes" / "scenarios" / "killed-agent.yaml").read_text())
    wrong["expect"]["at_most_once"] = ["work"]
    wrong["faults"].append({"at": {"event": "task_failed"}, "target": "redis", "kind": "kill"})
    file = place / "wrong.yaml"
    file.write_text(json.dumps(wrong))
    done = run(str(file), place=place)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Not met:" in done.stdout
    # A lease that runs out on a starved machine adds a beginning: the ledgers that were kept are asked how many.
    begun = begun_by_ledgers(next(place.glob("sl-lab-*")), "work")
    assert begun >= 2
    assert f"task work was begun {begun} times by the devices' ledgers, expected was once" in done.stdout
    assert "a fault did not happen: the redis is killed" in done.stdout
    assert "logs and ledgers are kept in" in done.stderr
    assert list(left_over(place)) == []


def test_a_wrong_file_is_told_with_every_place_and_starts_nothing(place: Path) -> None:
    file = place / "wrong.yaml"
    file.write_text("starloom_scenario: 1\nname: x\nsed: 1\nplan: {starloom: 1}\nexpect: {state: done}\n")
    done = run(str(file), place=place)
    assert done.returncode == 2
    places = ("Sed: ", "[unknown_field, sed]", "Tasks: ", "[plan_invalid, plan.tasks]")
    assert [word for word in places if word not in done.stderr] == []
    assert "Did you mean `seed`?" in done.stderr
    assert list(place.iterdir()) == [file]


def test_ctrl_c_ends_every_process_and_leaves_nothing(place: Path) -> None:
    path = str(ROOT / "recipes" / "scenarios" / "never-repeat.yaml")
    environment = {**os.environ, "TMPDIR": str(place)}
    process = subprocess.Popen(
        command(path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        # Whoever started these tests in the background had the signal ignored, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    until(lambda: any(place.glob("sl-lab-*/agents/*/policy.toml")), "a device has joined")
    for number in (signal.SIGINT, signal.SIGTERM):  # as of somebody who presses Ctrl-C and then closes the terminal
        process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "submitted" not in said
    assert "interrupted: nothing of the scenario goes on" in said
    assert list(place.glob("sl-lab-*")) == []
    assert list(left_over(place)) == []
