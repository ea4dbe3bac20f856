"""The figures of starts: a real start of this tree, and the refusal of a tree without environment."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.beside import OWN


def starts(*options: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "tests.bench.starts", *options]
    return subprocess.run(argv, cwd=OWN, capture_output=True, text=True, check=False)


@pytest.mark.test
def test_each_process_of_a_start_has_a_figure() -> None:
    done = starts("--runs", "1")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["own"]
    assert set(found) == {"up", "hub", "worker", "agent", "whole", "help", "devices"}
    assert min(found.values()) > 0


def test_a_tree_without_environment_is_refused(tmp_path: Path) -> None:
    done = starts(str(tmp_path))
    assert done.returncode == 2
    assert f"{tmp_path} has no .venv" in done.stderr
