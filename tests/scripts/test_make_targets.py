"""Every target of the Makefile runs here once in its smallest form, or a layer of `make test` runs the same command.

Starts what the targets start; each ends its own processes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.programs import ran
from tests.waiting import SLOWER

ROOT = Path(__file__).resolve().parents[2]
SMALLEST = {
    "sim": ("SCHEDULES=2", "PROCESSES=1", "KNOWN=0"),
    "fair-share": ("SEEDS=2",),
    "placement-bench": ("SEEDS=24",),
    "forecasts-bench": ("RUNS=10",),
    "explore": ("FAULTS=0", "STATES=2000"),
    "chaos": ("SEEDS=1", "ONLY=test_what_is_done_in_part"),
    "storm": ("FOR=10s", "SEED=1"),
    "guard": ("FRAMES=40", "CASES=1", "REAL=40", "ROWS=S3"),
    "seeded-bugs": ("PROCESSES=1", "BUG=a result of another incarnation counts"),
    "bench": ("SMOKE=1",),
    "bench-ui": ("SIZES=20", "JUDGE=0"),
    "bench-scale": ("FLEET=50",),
    "soak": ("TASKS=4000",),
    "demo-check": (),
    "words": (),
    "wheels": (),
    "shape": (),
}
"""Each ends with one line of JSON."""

RUN_ELSEWHERE = {
    "help": "tests below",
    "test": "this run",
    "quick": "as `test`, which holds it",
    "short": "as `test`, which holds it",
    "proof": "as `test`, and the targets that it names are here",
    "check": "tests/checks",
    "gen": "tests/checks and tests/device_agents/tools",
    "e2e": "tests/e2e",
    "walk": "tests/e2e/test_walk.py runs its short form",
    "run": "tests/chaos/test_scenarios.py and tests/arch/test_documents.py start `starloom up` as it does",
    "dev": "as `run`",
    "environment": "before anything else",
    "environment-dev": "before anything else",
}
IN_TEST = ("sim", "explore", "fair-share", "chaos")
SHOWN_BY = {
    "bench": "tests/bench/test_bench.py",
    "bench-scale": "tests/bench/test_bench.py",
    "bench-ui": "tests/e2e/test_large_plans.py",
    "demo-check": "tests/e2e/test_sample.py",
    "forecasts-bench": "tests/planner/test_forecast.py",
    "guard": "tests/guard/test_threats.py",
    "placement-bench": "tests/core/placement/test_pace.py",
    "seeded-bugs": "tests/seeded_bugs/test_verdicts.py",
    "shape": "tests/arch/test_shape.py",
    "soak": "tests/device_agents/work/test_ledger.py",
    "storm": "tests/chaos/test_storm.py",
    "wheels": "tests/host/test_installed_wheels.py",
    "words": "tests/planner/requests/test_words.py",
}
"""Targets whose smallest form takes long, with what shows their kind in `make test`."""
BOUND_S = 400 * SLOWER


def in_proof(target: str) -> Any:
    return pytest.param(target, marks=pytest.mark.proof(shown_by=SHOWN_BY[target]))


def targets() -> set[str]:
    return set(re.findall(r"^([a-z0-9-]+):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE))


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return ran(["make", "--no-print-directory", f"PYTHON={sys.executable}", *arguments], cwd=ROOT, timeout=BOUND_S)


def test_every_target_has_its_place_here() -> None:
    assert targets() == {*SMALLEST, *RUN_ELSEWHERE}


@pytest.mark.parametrize("target", [*IN_TEST, *(in_proof(target) for target in SMALLEST if target not in IN_TEST)])
def test_a_target_works_in_its_smallest_form(target: str) -> None:
    done = make(target, *SMALLEST[target])
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert isinstance(json.loads(done.stdout.splitlines()[-1]), dict)


def test_help_names_every_target_a_person_types() -> None:
    said = make("help").stdout
    named = set(re.findall(r"^([a-z0-9-]+)\s", said, re.MULTILINE))
    assert targets() - named == {"environment", "environment-dev"}
