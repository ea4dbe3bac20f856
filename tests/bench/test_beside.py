"""The comparison of two trees: a short real run of each, its figures, and the refusal of a tree without environment."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.beside import OWN, figures


def compare(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "tests.bench.beside", str(folder), "--graph", "small", *options]
    return subprocess.run(argv, cwd=OWN, capture_output=True, text=True, check=False)


@pytest.mark.test
def test_both_trees_are_measured_by_their_own_hubs() -> None:
    done = compare(OWN, "--runs", "2")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == {"other_us", "own_us", "median_ratio", "best_quarter_ratio"}
    assert min(found.values()) > 0


def test_figures_compare_medians_and_best_quarters() -> None:
    other, own = [8.0, 2.0, 4.0, 4.0, 9.0, 9.0, 1.0, 3.0], [6.0, 3.0, 3.0, 8.0, 8.0, 9.0, 6.0, 6.0]
    assert figures(other, own) == {"other_us": 4.0, "own_us": 6.0, "median_ratio": 1.5, "best_quarter_ratio": 2.0}


def test_a_tree_without_environment_is_refused(tmp_path: Path) -> None:
    done = compare(tmp_path)
    assert done.returncode == 2
    assert f"{tmp_path} has no .venv" in done.stderr
    assert "scripts/environment.py --dev" in done.stderr
