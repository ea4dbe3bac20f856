"""Every target of the Makefile runs here once in its smallest form, or a layer of `make test` runs the same command.

Starts what the targets start; each ends its own processes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import SLOWER

ROOT = Path(__file__).resolve().parents[2]
SMALLEST = {
    "sim": ("SCHEDULES=2", "PROCESSES=1"),
    "fair-share": ("SEEDS=2",),
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
}
"""Each ends with one line of JSON."""

RUN_ELSEWHERE = {
    "help": "tests below",
    "test": "this run",
    "check": "the first layers of `make test`",
    "gen": "the layers `fresh` and tests/device_agents/tools",
    "e2e": "the layer `e2e`",
    "walk": "the layer `e2e` runs its short form",
    "run": "tests/chaos/test_scenarios.py and tests/arch/test_documents.py start `starloom up` as it does",
    "dev": "as `run`",
    "environment": "before anything else",
    "environment-dev": "before anything else",
}
BOUND_S = 400 * SLOWER


def targets() -> set[str]:
    return set(re.findall(r"^([a-z0-9-]+):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE))


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", f"PYTHON={sys.executable}", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )


def test_every_target_has_its_place_here() -> None:
    assert targets() == {*SMALLEST, *RUN_ELSEWHERE}


@pytest.mark.long
@pytest.mark.parametrize("target", SMALLEST)
def test_a_target_works_in_its_smallest_form(target: str) -> None:
    done = make(target, *SMALLEST[target])
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert isinstance(json.loads(done.stdout.splitlines()[-1]), dict)


def test_help_names_every_target_a_person_types() -> None:
    said = make("help").stdout
    named = set(re.findall(r"^([a-z0-9-]+)\s", said, re.MULTILINE))
    assert targets() - named == {"environment", "environment-dev"}
